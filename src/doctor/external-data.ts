/** Reads out of an ONNX file where its external weights lie: just that much of the protobuf (see builder/onnx.ts). */
import { OxygenError } from '../core/errors';

export interface ExternalRange {
  readonly tensor: string;
  readonly location: string;
  readonly offset: number;
  /** Bytes; null: to the end of the file. */
  readonly length: number | null;
}

/** Field numbers of onnx.proto3. */
const MODEL_GRAPH = 7;
const GRAPH_INITIALIZER = 5;
const TENSOR_NAME = 8;
const TENSOR_EXTERNAL = 13;
const ENTRY_KEY = 1;
const ENTRY_VALUE = 2;

/** `source` names the file in errors. @throws OxygenError ENGINE_INVALID where it is no protobuf. */
export function externalRanges(model: Uint8Array, source: string): readonly ExternalRange[] {
  try {
    return rangesIn(model);
  } catch (cause) {
    throw new OxygenError('ENGINE_INVALID', `${source}: ${(cause as Error).message}`, { cause });
  }
}

function rangesIn(model: Uint8Array): readonly ExternalRange[] {
  const ranges: ExternalRange[] = [];
  for (const graph of fields(model, MODEL_GRAPH)) {
    for (const tensor of fields(graph, GRAPH_INITIALIZER)) {
      const entries = new Map<string, string>();
      for (const entry of fields(tensor, TENSOR_EXTERNAL)) {
        entries.set(text(fields(entry, ENTRY_KEY)[0]), text(fields(entry, ENTRY_VALUE)[0]));
      }
      const location = entries.get('location');
      if (location === undefined) continue;
      ranges.push({
        tensor: text(fields(tensor, TENSOR_NAME)[0]),
        location,
        offset: Number(entries.get('offset') ?? 0),
        length: entries.has('length') ? Number(entries.get('length')) : null,
      });
    }
  }
  return ranges;
}

const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('utf8');

/** The length-delimited values of one field; others are stepped over. */
function fields(message: Uint8Array, wanted: number): readonly Uint8Array[] {
  const found: Uint8Array[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = message[at++];
      if (byte === undefined || factor > 2 ** 63) throw new Error('the protobuf ends inside a number');
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const key = varint();
    const wire = key % 8;
    if (wire === 0) varint();
    else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else if (wire === 2) {
      const length = varint();
      if (at + length > message.length) throw new Error('the protobuf ends inside a field');
      if (Math.floor(key / 8) === wanted) found.push(message.subarray(at, at + length));
      at += length;
    } else throw new Error(`the protobuf has a field of wire type ${wire}`);
  }
  return found;
}
