/** Reads out of an ONNX model what it says of its external weights: just that much of the protobuf. */
import { fields, message } from './protobuf';

/** Field numbers of onnx.proto3. */
const MODEL_GRAPH = 7;
const GRAPH_INITIALIZER = 5;
const TENSOR_NAME = 8;
const TENSOR_EXTERNAL = 13;
const ENTRY_KEY = 1;
const ENTRY_VALUE = 2;

export interface ExternalWeight {
  readonly tensor: string;
  /** `location`, `offset`, `length`, and what ONNX Runtime adds; empty for a weight inside the model. */
  readonly entries: ReadonlyMap<string, string>;
}

/** Throws a plain Error where `model` is no protobuf. */
export function externalWeights(model: Uint8Array): ExternalWeight[] {
  const initializers = parts(model, MODEL_GRAPH).flatMap(graph => parts(graph, GRAPH_INITIALIZER));
  return initializers.map(tensor => ({
    tensor: text(parts(tensor, TENSOR_NAME)),
    entries: new Map(
      parts(tensor, TENSOR_EXTERNAL).map(entry => [
        text(parts(entry, ENTRY_KEY)),
        text(parts(entry, ENTRY_VALUE)),
      ]),
    ),
  }));
}

/** The values of one field of a message. */
const parts = (bytes: Uint8Array, wanted: number): Uint8Array[] =>
  Array.from(fields(bytes)).flatMap(({ number, value }) => (number === wanted ? [message(value)] : []));

const text = ([bytes]: readonly Uint8Array[]): string => Buffer.from(bytes ?? []).toString('utf8');
