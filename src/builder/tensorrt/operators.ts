/**
 * What TensorRT's ONNX parser takes, and a check that a graph has nothing else: a graph that it refuses shows that on
 * the robot only, after a build of minutes.
 */
import { OxygenError } from '../../core/errors';
import { checkOperators, type Operator, type Types } from '../check-operators';
import type { Dialect, Model } from '../onnx';

/** The opset that every TensorRT 10 parses whole (10.0: 9 to 20), and the file format of its time. */
export const TENSORRT_DIALECT: Dialect = { ir: 8n, opset: 17n, contrib: false };

const FLOATS = ['float', 'float16'] as const;
const NUMBERS = ['float', 'float16', 'int32', 'int64'] as const;
const ANY = [...NUMBERS, 'bool'] as const;
const INDEX = ['int32', 'int64'] as const;
const PLACES = ['int64'] as const;

type Row = readonly [since: number, inputs: Operator['inputs'], outputs: Operator['outputs']];

/**
 * By the support matrix of TensorRT 10.0's parser (onnx-tensorrt, docs/operators.md), cut to what our graphs use: only
 * plain operators, no control flow, nothing whose output shape depends on values.
 */
const STANDARD: Readonly<Record<string, Row>> = {
  Add: [14, [NUMBERS], [0]],
  Cast: [13, [[...ANY, 'uint8']], []], // its type is its attribute; uint8 only as an input of the network
  Concat: [13, [ANY], [0]],
  Div: [14, [NUMBERS], [0]],
  Exp: [13, [FLOATS], [0]],
  Gather: [13, [ANY, INDEX], [0]],
  GatherElements: [13, [ANY, INDEX], [0]],
  Gemm: [13, [FLOATS], [0]],
  LayerNormalization: [17, [FLOATS], [0]],
  Less: [13, [NUMBERS], ['bool']],
  Log: [13, [FLOATS], [0]],
  MatMul: [13, [FLOATS], [0]],
  Max: [13, [NUMBERS], [0]],
  Mul: [14, [NUMBERS], [0]],
  ReduceMean: [13, [NUMBERS], [0]],
  ReduceSum: [13, [NUMBERS, PLACES], [0]],
  Reshape: [14, [ANY, PLACES], [0]],
  Shape: [15, [ANY], ['int64']],
  Slice: [13, [ANY, PLACES], [0]],
  Softmax: [13, [FLOATS], [0]],
  Split: [13, [ANY, PLACES], [0]],
  Sqrt: [13, [FLOATS], [0]],
  Squeeze: [13, [ANY, PLACES], [0]],
  Sub: [14, [NUMBERS], [0]],
  Tanh: [13, [FLOATS], [0]],
  TopK: [11, [NUMBERS, PLACES], [0, 'int64']],
  Transpose: [13, [ANY], [0]],
  Unsqueeze: [13, [ANY, PLACES], [0]],
  Where: [16, [['bool'], ANY], [1]],
};

export const TENSORRT_OPERATORS: ReadonlyMap<string, Operator> = new Map(
  Object.entries(STANDARD).map(([op, [since, inputs, outputs]]) => [
    op,
    { domain: '', since, inputs, outputs },
  ]),
);

/** Inputs that the parser must know when it parses, by their place. */
const KNOWN_INPUTS: Readonly<Record<string, readonly number[]>> = {
  ReduceSum: [1],
  Slice: [3],
  Split: [1],
  Squeeze: [1],
  TopK: [1],
  Unsqueeze: [1],
};

/** Throws MODEL_UNSUPPORTED naming the first node that TensorRT would refuse. */
export function checkTensorRt(model: Model): Types {
  const types = checkOperators(model, TENSORRT_OPERATORS, "TensorRT's parser", 'it would refuse the graph');
  const constants = new Set(model.initializers.map(t => t.name));
  for (const node of model.nodes) {
    const unknown = KNOWN_INPUTS[node.op]?.find(at => !constants.has(node.inputs[at] ?? ''));
    if (unknown === undefined) continue;
    throw new OxygenError(
      'MODEL_UNSUPPORTED',
      `${model.name}.onnx: ${node.op} ${node.name}: TensorRT's parser wants its input ${unknown} as a constant`,
    );
  }
  return types;
}
