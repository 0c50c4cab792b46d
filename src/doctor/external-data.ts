/** Where the external weights of an ONNX file lie. */
import { OxygenError } from '../core/errors';
import { externalWeights } from '../model/onnx-weights';

export interface ExternalRange {
  readonly tensor: string;
  readonly location: string;
  readonly offset: number;
  /** Bytes; null: to the end of the file. */
  readonly length: number | null;
}

/** `source` names the file in errors. @throws OxygenError ENGINE_INVALID where it is no protobuf. */
export function externalRanges(model: Uint8Array, source: string): readonly ExternalRange[] {
  try {
    return externalWeights(model).flatMap(({ tensor, entries }) => {
      const location = entries.get('location');
      if (location === undefined) return [];
      const length = entries.get('length');
      const offset = Number(entries.get('offset') ?? 0);
      return [{ tensor, location, offset, length: length === undefined ? null : Number(length) }];
    });
  } catch (cause) {
    throw new OxygenError('ENGINE_INVALID', `${source}: ${(cause as Error).message}`, { cause });
  }
}
