/** Reads protocol buffers field by field. All functions throw a plain Error with the reason. */

/** A field of a message: an integer, or the bytes of anything else. */
export interface Field {
  readonly number: number;
  readonly value: number | Uint8Array;
}

/** Fields in the order of the file; their bytes are views, so nothing is allocated that the file does not hold. */
export function* fields(bytes: Uint8Array): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = bytes[at++];
      if (byte === undefined || shift >= 2 ** 70)
        throw new Error(`the protobuf ends or goes astray at byte ${at} of a message`);
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  };
  const take = (length: number): Uint8Array => {
    if (length > bytes.length - at) {
      throw new Error(`a protobuf field says ${length} bytes, but only ${bytes.length - at} follow`);
    }
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    switch (tag % 8) {
      case 0:
        yield { number, value: varint() };
        break;
      case 1:
        yield { number, value: take(8) };
        break;
      case 2:
        yield { number, value: take(varint()) };
        break;
      case 5:
        yield { number, value: take(4) };
        break;
      default:
        throw new Error(`a protobuf field has the unknown wire type ${tag % 8}`);
    }
  }
}

export function message(value: number | Uint8Array): Uint8Array {
  if (typeof value === 'number') throw new Error('an integer stands where a message is wanted');
  return value;
}

export function integer(value: number | Uint8Array): number {
  if (typeof value !== 'number') throw new Error('a message stands where an integer is wanted');
  return value;
}
