import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import { Graph } from '../../src/builder/graph';
import { encodeModel } from '../../src/builder/onnx';
import { packWeights } from '../../src/builder/pack-weights';
import { fp32Products } from '../../src/builder/products';
import { WeightsFile } from '../../src/builder/weights-file';
import { packModel } from '../../src/engine/pack';

let dir: string;
beforeAll(() => (dir = mkdtempSync(join(tmpdir(), 'oxygen-products-'))));
afterAll(() => rmSync(dir, { recursive: true }));

const [VOCAB, WIDTH] = [2500, 24];
const table = Float32Array.from({ length: VOCAB * WIDTH }, (_, i) => Math.sin(i * 0.37));
const source = { read: () => table, readRows: () => table };

/** Logits of three rows, with the table in slices of at most `maxBytes`; the graph's weights. */
async function logits(name: string, maxBytes: number) {
  const weights = new WeightsFile(join(dir, `${name}.weights`));
  const graph = new Graph(name, weights);
  const x = graph.input('x', 'float', ['B', 'R', WIDTH]);
  const stack = { names: ['table'], into: WIDTH, outs: [VOCAB] };
  const y = fp32Products(source, maxBytes).logits(graph, x, stack, weights.append(table));
  graph.output('y', y, 'float', ['B', 'R', VOCAB]);
  const slices = graph.packedProducts().map(({ weight }) => weight.external.length);
  await packWeights(dir, graph, weights, packModel);
  const packed = graph.packedProducts().map(({ weight }) => weight.external.prepacked);
  weights.close();
  writeFileSync(join(dir, `${name}.onnx`), encodeModel(graph.model('test')));
  const session = await ort.InferenceSession.create(join(dir, `${name}.onnx`), { intraOpNumThreads: 1 });
  const input = Float32Array.from({ length: 3 * WIDTH }, (_, i) => Math.cos(i));
  const output = await session.run({ x: new ort.Tensor('float32', input, [1, 3, WIDTH]) });
  return { slices, packed, values: Array.from(output['y']!.data as Float32Array), input };
}

it('a large table is packed and multiplied in slices, with the bits of one product', async () => {
  const whole = await logits('whole', 2 ** 30);
  const sliced = await logits('sliced', 1);
  expect(whole.slices).toEqual([4 * VOCAB * WIDTH]);
  expect(sliced.slices).toEqual([1024, 1024, 452].map(rows => 4 * rows * WIDTH));
  expect(sliced.packed.every(entry => /^FusedMatMul\+\d+\|\d+;\d+;0$/.test(entry ?? ''))).toBe(true);
  expect(sliced.values).toEqual(whole.values);
  const exact = whole.input.subarray(0, WIDTH).reduce((sum, v, i) => sum + v * table[2000 * WIDTH + i]!, 0);
  expect(whole.values[2000]).toBeCloseTo(exact, 4);
});
