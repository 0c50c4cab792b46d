/** Reads a sentencepiece `.model`: a protocol buffer of pieces and of how a text is prepared for them. */

/** Values of `SentencePiece.type`. */
export const PIECE_TYPES = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;
export const MODEL_TYPES = ['', 'UNIGRAM', 'BPE', 'WORD', 'CHAR'] as const;

export interface SentencePiece {
  readonly text: string;
  /** Pieces of a higher score are merged first. */
  readonly score: number;
  readonly type: number;
}

export interface SentencePieceModel {
  /** By id. */
  readonly pieces: readonly SentencePiece[];
  /** Index into MODEL_TYPES. */
  readonly modelType: number;
  readonly byteFallback: boolean;
  readonly normalizer: {
    /** A table of characters to replace; empty is none. */
    readonly charsMap: Uint8Array;
    readonly dummyPrefix: boolean;
    readonly removeExtraSpaces: boolean;
    readonly escapeSpaces: boolean;
  };
}

/** A field of a message: an integer, or the bytes of anything else. */
interface Field {
  readonly number: number;
  readonly value: number | Uint8Array;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Throws a plain Error with the reason. Fields that are not listed here do not change how a text is cut. */
export function readSentencePieceModel(bytes: Uint8Array): SentencePieceModel {
  const pieces: SentencePiece[] = [];
  // The defaults of the format.
  let modelType = 1;
  let byteFallback = false;
  let normalizer = {
    charsMap: new Uint8Array(),
    dummyPrefix: true,
    removeExtraSpaces: true,
    escapeSpaces: true,
  };
  for (const { number, value } of fields(bytes)) {
    if (number === 1) pieces.push(readPiece(message(value)));
    if (number === 2) {
      for (const field of fields(message(value))) {
        if (field.number === 3) modelType = integer(field.value);
        if (field.number === 35) byteFallback = integer(field.value) !== 0;
      }
    }
    if (number === 3) {
      for (const field of fields(message(value))) {
        if (field.number === 2)
          normalizer = { ...normalizer, charsMap: Uint8Array.from(message(field.value)) };
        if (field.number === 3) normalizer = { ...normalizer, dummyPrefix: integer(field.value) !== 0 };
        if (field.number === 4) normalizer = { ...normalizer, removeExtraSpaces: integer(field.value) !== 0 };
        if (field.number === 5) normalizer = { ...normalizer, escapeSpaces: integer(field.value) !== 0 };
      }
    }
  }
  return { pieces, modelType, byteFallback, normalizer };
}

function readPiece(bytes: Uint8Array): SentencePiece {
  let text = '';
  let score = 0;
  let type: number = PIECE_TYPES.normal;
  for (const { number, value } of fields(bytes)) {
    if (number === 1) text = utf8.decode(message(value));
    if (number === 2) score = float(message(value));
    if (number === 3) type = integer(value);
  }
  if (text === '' || text.includes(' ')) throw new Error(`the piece "${text}" is empty or holds a space`);
  return { text, score, type };
}

/** Fields in the order of the file; their bytes are views, so nothing is allocated that the file does not hold. */
function* fields(bytes: Uint8Array): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = bytes[at++];
      if (byte === undefined || shift >= 2 ** 70)
        throw new Error(`it ends or goes astray at byte ${at} of a message`);
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  };
  const take = (length: number): Uint8Array => {
    if (length > bytes.length - at) {
      throw new Error(`a field says ${length} bytes, but only ${bytes.length - at} follow`);
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
        throw new Error(`a field has the unknown wire type ${tag % 8}`);
    }
  }
}

function message(value: number | Uint8Array): Uint8Array {
  if (typeof value === 'number') throw new Error('an integer stands where a message is wanted');
  return value;
}

function integer(value: number | Uint8Array): number {
  if (typeof value !== 'number') throw new Error('a message stands where an integer is wanted');
  return value;
}

function float(bytes: Uint8Array): number {
  if (bytes.length !== 4) throw new Error(`a score has ${bytes.length} bytes`);
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getFloat32(0, true);
}
