/** Two tiny models for the self-test: they ask ONNX Runtime what it computes here, before an engine is at stake. */
import { encodeModel, type AttributeValue, type Node } from '../builder/onnx';

/** Products per sum: more than a vector register holds, and a tail. */
export const SELF_TEST_DEPTH = 72;
const COLUMNS = 24;
/** Codes of int8 engines lie around this value, for activations and weights alike. */
export const SELF_TEST_ZERO = 128;
const FLOAT = 1n;

const node = (
  op: string,
  inputs: readonly string[],
  output: string,
  attributes: Readonly<Record<string, AttributeValue>> = {},
): Node => ({ op, domain: '', name: output, inputs, outputs: [output], attributes });

/** y [M,2] = x [M,3] · ones [3,2]. */
export const floatModel = (): Uint8Array =>
  encodeModel({
    name: 'self_test_float',
    producerVersion: '1',
    inputs: [{ name: 'x', elem: 'float', dims: ['M', 3] }],
    outputs: [{ name: 'y', elem: 'float', dims: ['M', 2] }],
    nodes: [node('MatMul', ['x', 'w'], 'y')],
    initializers: [
      { name: 'w', elem: 'float', dims: [3, 2], raw: new Uint8Array(new Float32Array(6).fill(1).buffer) },
    ],
  });

/**
 * y [M,24] = (a − 128) [M,72] · (code − 128), the product of int8 engines: unsigned codes, summed in 32 bits. Some kernels
 * add pairs in 16 bits and saturate; y then is too small.
 */
export const integerModel = (code: number): Uint8Array =>
  encodeModel({
    name: 'self_test_integer',
    producerVersion: '1',
    inputs: [{ name: 'a', elem: 'uint8', dims: ['M', SELF_TEST_DEPTH] }],
    outputs: [{ name: 'y', elem: 'float', dims: ['M', COLUMNS] }],
    nodes: [
      node('MatMulInteger', ['a', 'b', 'zero', 'zero'], 'sum'),
      node('Cast', ['sum'], 'y', { to: FLOAT }),
    ],
    initializers: [
      {
        name: 'b',
        elem: 'uint8',
        dims: [SELF_TEST_DEPTH, COLUMNS],
        raw: new Uint8Array(SELF_TEST_DEPTH * COLUMNS).fill(code),
      },
      { name: 'zero', elem: 'uint8', dims: [], raw: Uint8Array.of(SELF_TEST_ZERO) },
    ],
  });
