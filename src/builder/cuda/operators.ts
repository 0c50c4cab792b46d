/**
 * What ONNX Runtime's CUDA provider has: operators, the version of the operator set in which each last changed before 23
 * (a kernel is found only when that is the version it was registered for), and element types. From the kernel
 * registrations of ONNX Runtime 1.30 (cuda_execution_provider.cc, cuda_contrib_kernels.cc), cut to what our graphs may use.
 * A node outside of it would run on the CPU in the middle of a GPU graph, with a copy there and back.
 */
import type { Operator } from '../check-operators';
import type { Node } from '../onnx';

const ANY = ['float', 'float16', 'int64', 'bool', 'uint8', 'int32'] as const;
const FLOATS = ['float', 'float16'] as const;
const NUMBERS = ['float', 'float16', 'int32', 'int64'] as const;
const INDEX = ['int64'] as const;
const BOOL = ['bool'] as const;

type Row = readonly [since: number, inputs: Operator['inputs'], outputs: Operator['outputs']];

const STANDARD: Readonly<Record<string, Row>> = {
  Abs: [13, [NUMBERS], [0]],
  Add: [14, [NUMBERS], [0]],
  And: [7, [BOOL], ['bool']],
  Cast: [23, [ANY], []], // its type is its attribute
  Concat: [13, [ANY], [0]],
  CumSum: [14, [NUMBERS, INDEX], [0]],
  Div: [14, [NUMBERS], [0]],
  Exp: [13, [FLOATS], [0]],
  Gather: [13, [ANY, INDEX], [0]],
  GatherElements: [13, [ANY, INDEX], [0]],
  Gelu: [20, [FLOATS], [0]],
  Greater: [13, [NUMBERS], ['bool']],
  GreaterOrEqual: [16, [NUMBERS], ['bool']],
  Identity: [23, [ANY], [0]],
  LayerNormalization: [17, [FLOATS], [0]],
  Less: [13, [NUMBERS], ['bool']],
  LessOrEqual: [16, [NUMBERS], ['bool']],
  Log: [13, [FLOATS], [0]],
  Loop: [23, [INDEX, BOOL, ANY], []], // its types are those of its body
  MatMul: [13, [FLOATS], [0]],
  Mul: [14, [NUMBERS], [0]],
  Or: [7, [BOOL], ['bool']],
  RMSNormalization: [23, [FLOATS], [1]],
  Range: [11, [INDEX], [0]],
  ReduceSum: [13, [FLOATS, INDEX], [0]],
  Reshape: [23, [ANY, INDEX], [0]],
  RotaryEmbedding: [23, [FLOATS, FLOATS, FLOATS, INDEX], [0]],
  Shape: [23, [ANY], ['int64']],
  Slice: [13, [ANY, INDEX], [0]],
  Softmax: [13, [FLOATS], [0]],
  Split: [18, [ANY, INDEX], [0]],
  Squeeze: [23, [ANY, INDEX], [0]],
  Sub: [14, [NUMBERS], [0]],
  TopK: [11, [NUMBERS, INDEX], [0, 'int64']],
  Transpose: [23, [ANY], [0]],
  Unsqueeze: [23, [ANY, INDEX], [0]],
  Where: [16, [BOOL, ['float', 'float16', 'int32', 'int64', 'uint8']], [1]],
};

const CONTRIB: Readonly<Record<string, Row>> = {
  FusedMatMul: [1, [FLOATS], [0]],
};

const rows = (domain: Node['domain'], table: Readonly<Record<string, Row>>): [string, Operator][] =>
  Object.entries(table).map(([op, [since, inputs, outputs]]) => [op, { domain, since, inputs, outputs }]);

export const CUDA_OPERATORS: ReadonlyMap<string, Operator> = new Map([
  ...rows('', STANDARD),
  ...rows('com.microsoft', CONTRIB),
]);
