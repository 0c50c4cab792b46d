/**
 * What TensorRT's ONNX parser takes, and a check that a graph has nothing else: a graph that it refuses shows that on
 * the robot only, after a build of minutes.
 */
import { OxygenError } from '../../core/errors';
import type { Dialect, Elem, Model, Node } from '../onnx';

/** The opset that every TensorRT 10 parses whole (10.0: 9 to 20), and the file format of its time. */
export const TENSORRT_DIALECT: Dialect = { ir: 8n, opset: 17n, contrib: false };

const FLOATS = ['float', 'float16'] as const;
const NUMBERS = [...FLOATS, 'int32', 'int64'] as const;
const ANY = [...NUMBERS, 'bool'] as const;

/**
 * Operator → element types of its data inputs, by the support matrix of TensorRT 10.0's parser. Only plain ones: no
 * control flow, nothing whose output shape depends on values.
 */
export const TENSORRT_OPERATORS: Readonly<Record<string, readonly Elem[]>> = {
  Add: NUMBERS,
  // uint8 only as an input of the network
  Cast: [...ANY, 'uint8'],
  Concat: ANY,
  Div: NUMBERS,
  Exp: FLOATS,
  Gather: ANY,
  Gemm: FLOATS,
  LayerNormalization: FLOATS,
  Less: NUMBERS,
  Log: FLOATS,
  MatMul: FLOATS,
  Max: NUMBERS,
  Mul: NUMBERS,
  ReduceMean: NUMBERS,
  ReduceSum: NUMBERS,
  Reshape: ANY,
  Shape: ANY,
  Slice: ANY,
  Softmax: FLOATS,
  Split: ANY,
  Sqrt: FLOATS,
  Squeeze: ANY,
  Sub: NUMBERS,
  Tanh: FLOATS,
  TopK: NUMBERS,
  Transpose: ANY,
  Unsqueeze: ANY,
  Where: ANY,
};

/** Inputs that the parser must know when it parses, by their place. */
const KNOWN_INPUTS: Readonly<Record<string, readonly number[]>> = {
  ReduceSum: [1],
  Slice: [3],
  Split: [1],
  Squeeze: [1],
  TopK: [1],
  Unsqueeze: [1],
};

/** Attributes that came after the opset, and must not be there. */
const LATER_ATTRIBUTES: Readonly<Record<string, readonly string[]>> = { Split: ['num_outputs'] };

/** TensorRT's TopK takes fewer than this many. */
export const TOP_K_BELOW = 3840;

/** Throws BUILD_FAILED naming the first node that TensorRT would refuse. */
export function checkOperators(model: Pick<Model, 'name' | 'nodes' | 'initializers'>): void {
  const constants = new Set(model.initializers.map(t => t.name));
  for (const node of model.nodes) {
    const why = refusal(node, constants);
    if (why)
      throw new OxygenError('BUILD_FAILED', `${model.name}: TensorRT does not take ${node.name}: ${why}`);
  }
}

function refusal(node: Node, constants: ReadonlySet<string>): string | null {
  if (node.domain !== '') return `${node.op} of ${node.domain} is not standard ONNX`;
  if (!Object.hasOwn(TENSORRT_OPERATORS, node.op)) return `${node.op} is not in the list of operators`;
  const later = LATER_ATTRIBUTES[node.op]?.find(name => name in node.attributes);
  if (later) return `${later} is not in opset ${TENSORRT_DIALECT.opset}`;
  const unknown = KNOWN_INPUTS[node.op]?.find(at => !constants.has(node.inputs[at] ?? ''));
  return unknown === undefined ? null : `its input ${unknown} is not a constant`;
}
