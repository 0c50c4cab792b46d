/** Arithmetic and bytes of a run, counted another way; what the machine can do, measured. */
import fc from 'fast-check';
import { InferenceSession } from 'onnxruntime-node';
import {
  decodeFlop,
  kvBytes,
  prefillFlop,
  roofline,
  weightBytes,
  type Peaks,
} from '../../src/bench/roofline';
import { measurePeaks } from '../../src/bench/roofline-peaks';
import { measurePrefillProducts, productMs, type ProfileEvent } from '../../src/bench/roofline-profile';
import { readManifest } from '../../src/model/manifest';
import { EMBEDDING_NAMES, LANGUAGE, elements, tensorShapes } from '../../src/model/tensors';
import { engineDir } from '../support/engines';

const manifest = readManifest(engineDir('tiny'));
const { model } = manifest;
const { width, layers, heads, headDim, mlp, vocab } = model.language;

/** One matrix after the other, as the checkpoint has them; one head after the other. */
function flopByHand(rows: (layer: number, what: 'kv' | 'rest') => number, keys: number, logits: number): number {
  let flop = 0;
  const product = (m: number, k: number, n: number) => {
    flop += 2 * m * k * n;
  };
  for (let layer = 0; layer < layers; layer++) {
    const [kv, rest] = [rows(layer, 'kv'), rows(layer, 'rest')];
    product(kv, width, headDim); // k
    product(kv, width, headDim); // v
    product(rest, width, heads * headDim); // q
    for (let head = 0; head < heads; head++) {
      product(rest, headDim, keys); // scores
      product(rest, keys, headDim); // values
    }
    product(rest, heads * headDim, width); // o
    product(rest, width, mlp); // gate
    product(rest, width, mlp); // up
    product(rest, mlp, width); // down
  }
  product(logits, width, vocab);
  return flop;
} // prettier-ignore

test('a prefill is counted as by hand, its last layer trimmed', () => {
  const tokens = 37;
  const last = layers - 1;
  const byHand = flopByHand((layer, what) => (layer === last && what === 'rest' ? 1 : tokens), tokens, 1);
  expect(prefillFlop(model, tokens)).toBe(byHand);
});

test('a decode step is counted as by hand: every row sees its past and itself', () => {
  expect(decodeFlop(model, 5, 40)).toBe(flopByHand(() => 5, 41, 5));
});

test('more positions and more rows are more work', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4000 }), fc.integer({ min: 1, max: 64 }), (tokens, batch) => {
      expect(prefillFlop(model, tokens + 1)).toBeGreaterThan(prefillFlop(model, tokens));
      expect(decodeFlop(model, batch + 1, tokens)).toBeGreaterThan(decodeFlop(model, batch, tokens));
      expect(kvBytes(model, batch, tokens)).toBe(batch * kvBytes(model, 1, tokens));
    }),
  );
});

test('weights read are the parameters of the language model', () => {
  const named = [...tensorShapes(model)].filter(([name]) => name.startsWith(LANGUAGE) || name === EMBEDDING_NAMES[0]);
  const parameters = new Map(named.map(([name, shape]) => [name, elements(shape)]));
  const total = [...parameters.values()].reduce((a, b) => a + b, 0);
  expect(weightBytes(manifest)).toBe(4 * total);
  const int8 = weightBytes({ ...manifest, precision: 'int8' });
  expect(int8).toBeGreaterThan(total);
  expect(int8).toBeLessThan(2 * total);
}); // prettier-ignore

test('shares are measured rates over peaks', () => {
  const peaks: Peaks = {
    threads: 2,
    gemm_gflops: 100,
    gemm_shape: '',
    bandwidth_gb_s: 20,
    bandwidth_pattern: '',
  };
  const tokens = 60;
  const gflop = prefillFlop(model, tokens) / 1e9;
  const mb = (weightBytes(manifest) + kvBytes(model, 4, tokens)) / 1e6;
  const r = roofline(manifest, peaks, {
    prefill: { tokens, ms: gflop * 20, gemmMs: gflop * 12.5 },
    decode: { batch: 4, positions: tokens, ms: mb / 15 },
  });
  expect(r.prefill.share).toBeCloseTo(0.5);
  expect(r.prefill.gemm_share).toBeCloseTo(0.8);
  expect(r.decode.gb_s).toBeCloseTo(15);
  expect(r.decode.share).toBeCloseTo(0.75);
  const without = roofline(manifest, peaks, {
    prefill: { tokens, ms: 1, gemmMs: null },
    decode: { batch: 1, positions: tokens, ms: 1 },
  });
  expect(without.prefill.gemm_share).toBeNull();
});

test.each(['fp32', 'int8'] as const)('peaks in %s are those of a machine', async precision => {
  const peaks = await measurePeaks({ model, precision }, 64, { threads: 1, spinUs: 0 }, 100);
  expect(peaks.threads).toBe(1);
  expect(peaks.gemm_gflops).toBeGreaterThan(1);
  expect(peaks.gemm_gflops).toBeLessThan(5000);
  expect(peaks.bandwidth_gb_s).toBeGreaterThan(0.5);
  expect(peaks.bandwidth_gb_s).toBeLessThan(1000);
  expect(peaks.gemm_shape).toMatch(/^\d+×\d+×\d+$/);
});

test.each(['tiny', 'tiny-int8'] as const)('the products of a prefill of %s are timed', async engine => {
  const ms = await measurePrefillProducts(engineDir(engine), 24, { threads: 1, spinUs: 0 });
  expect(ms).toBeGreaterThan(0);
  expect(ms).toBeLessThan(5000);
});

test('a profile is read run by run, products only', () => {
  const node = (op: string, ts: number, dur: number, name = 'a_kernel_time'): ProfileEvent => ({
    cat: 'Node',
    name,
    ts,
    dur,
    args: { op_name: op },
  });
  const run = (ts: number): ProfileEvent => ({ cat: 'Session', name: 'model_run', ts, dur: 1000 });
  const events = [
    node('MatMul', 100, 300),
    node('FusedMatMul', 500, 200),
    node('Softmax', 700, 90),
    node('MatMul', 800, 50, 'a_fence_before'),
    run(0),
    node('MatMulInteger', 2100, 400),
    run(2000),
  ];
  expect(productMs(events)).toEqual([0.5, 0.4]);
});

test('when a session of the peaks cannot be had, those before it are released', async () => {
  const release = jest.fn(() => Promise.resolve());
  const create = jest.spyOn(InferenceSession, 'create');
  for (let i = 0; i < 2; i++)
    create.mockImplementationOnce(() => Promise.resolve({ release } as unknown as InferenceSession));
  create.mockImplementationOnce(() => Promise.reject(new Error('no memory')));
  await expect(measurePeaks(manifest, 37, { threads: 1, spinUs: 0 }, 1)).rejects.toThrow('no memory');
  expect(create).toHaveBeenCalledTimes(3);
  expect(release).toHaveBeenCalledTimes(2);
  create.mockRestore();
});
