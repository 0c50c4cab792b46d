/**
 * ONNX Runtime packs the weights of its products at load, into private memory. When the packed form is in the file, it
 * maps that instead, and processes share the pages. We have it pack one weight at a time, so that building needs the
 * memory of one weight and not of a model.
 */
import { closeSync, openSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Graph, PackedProduct } from './graph';
import type { PackModel } from '../model/packed';
import { elements } from '../model/tensors';
import { encodeModel } from './onnx';
import type { WeightsFile } from './weights-file';

/** Small weights are not worth a page of their own. */
const MIN_BYTES = 4096;

export async function packWeights(
  dir: string,
  graph: Graph,
  weights: WeightsFile,
  pack: PackModel,
  onPacked: (weight: string, values: number) => void = () => undefined,
): Promise<void> {
  for (const product of graph.packedProducts()) {
    const { name, dims, external } = product.weight;
    if (external.length < MIN_BYTES) continue;
    const packed = await pack(dir, encodeModel(productModel(product, graph)));
    onPacked(name, elements(dims));
    if (!packed) continue;
    const places = packed.parts.map(part => {
      const range = weights.stream(append =>
        copyRange(join(dir, part.file), part.offset, part.length, append),
      );
      return `${range.offset};${range.bytes};0`;
    });
    for (const { file } of packed.parts) rmSync(join(dir, file), { force: true });
    graph.setPrepacked(name, [packed.key, ...places].join('|'));
  }
}

/** A model of one product with the weight where it lies already. */
function productModel({ node, weight }: PackedProduct, graph: Graph) {
  const [input = '', , ...constants] = node.inputs;
  const integer = node.op === 'MatMulInteger';
  return {
    name: 'pack',
    producerVersion: '1',
    inputs: [{ name: input, elem: integer ? ('uint8' as const) : ('float' as const), dims: ['M', 'K'] }],
    outputs: [
      {
        name: node.outputs[0] ?? '',
        elem: integer ? ('int32' as const) : ('float' as const),
        dims: ['M', 'N'],
      },
    ],
    nodes: [node],
    initializers: [weight, ...constants.map(name => graph.initializer(name))],
  };
}

const COPY_BYTES = 4 * 1024 * 1024;

function copyRange(path: string, offset: number, length: number, append: (bytes: Uint8Array) => void): void {
  const fd = openSync(path, 'r');
  try {
    for (let done = 0; done < length;) {
      const chunk = new Uint8Array(Math.min(COPY_BYTES, length - done));
      const n = readSync(fd, chunk, 0, chunk.length, offset + done);
      if (n === 0) throw new Error(`${path} ends at byte ${offset + done}`);
      append(chunk.subarray(0, n));
      done += n;
    }
  } finally {
    closeSync(fd);
  }
}
