/** Float16 ends at 65504, and a CPU would not tell: how large the values become that a GPU holds in float16. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Checkpoint } from '../../../src/builder/checkpoint';
import { toHalf } from '../../../src/builder/cuda/half-weights';
import { halfRanges } from '../../../src/engine/half-ranges';
import { readManifest, TARGET_GRAPHS } from '../../../src/model/manifest';
import { RANGE_LIMIT } from '../../../src/model/ranges';
import { ROOT } from '../../support/engines';
import { build, checkpointOf, temporaryFolder } from './engines';

const dir = temporaryFolder();

it('massive activations of the begin token stay far from the end of float16', async () => {
  execFileSync(process.execPath, [join(ROOT, 'test/support/build-stress.js'), dir, 'stress', 'tensorrt']);
  const { model } = readManifest(join(dir, 'stress-fp16'));
  const ranges = await halfRanges(join(dir, 'stress-fp16'), 2);
  // per layer: of vision, of the prefix, of the expert and of a decode step
  expect(ranges.length).toBeGreaterThan(10 * model.vision.layers + 3 * 10 * model.language.layers);
  // a folder for TensorRT has all four
  for (const graph of TARGET_GRAPHS.tensorrt)
    for (const part of ['self_attn.qkv', 'mlp.down_proj', 'mlp.gate_proj'])
      expect(ranges.some(r => r.graph === graph && r.value.includes(part) && r.max > 1)).toBe(true);
  const [largest] = ranges;
  expect(largest!.max).toBeGreaterThan(100);
  expect(largest!.max).toBeLessThan(RANGE_LIMIT);
});

const scaled = (checkpoint: Checkpoint, name: RegExp, factor: number): Checkpoint => ({
  ...checkpoint,
  readRows: (tensor, first, count) => {
    const rows = checkpoint.readRows(tensor, first, count);
    return name.test(tensor) ? rows.map(v => v * factor) : rows;
  },
});

it.each([
  ['the prefix and decode steps', /language_model.layers.1.mlp.up_proj/, ['decode', 'frame']],
  ['the Euler steps', /expert.model.layers.1.mlp.up_proj/, ['frame']],
])('a value of %s that would overflow is seen', async (_, name, graphs) => {
  const out = join(dir, graphs.join('-'));
  await build(scaled(checkpointOf('tiny'), name, 5e4), 'cuda', out);
  const beyond = (await halfRanges(out, 1)).filter(r => !(r.max < RANGE_LIMIT));
  expect([...new Set(beyond.map(r => r.graph))].sort()).toEqual(graphs);
  expect(beyond.some(r => name.test(r.value))).toBe(true);
});

it('weights are rounded to nearest, ties to even; what float16 cannot hold is refused by name', () => {
  const half = (...values: number[]) => {
    const bytes = toHalf(Float32Array.from(values), 'w');
    return [...new Uint16Array(bytes.buffer, bytes.byteOffset, values.length)];
  };
  expect(half(1, 1 + 2 ** -11, 1 + 3 * 2 ** -11, 65519, -(2 ** -25), 1.5 * 2 ** -24)).toEqual([
    0x3c00, 0x3c00, 0x3c02, 0x7bff, 0x8000, 0x0002,
  ]);
  for (const value of [65520, -1e9, Infinity, NaN])
    expect(() => half(1, value)).toThrow(
      expect.objectContaining({
        code: 'MODEL_UNSUPPORTED',
        message: expect.stringMatching(/^w holds .* --target cpu/) as string,
      }),
    );
});
