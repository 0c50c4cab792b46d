/** Any result that a bench may give: zeros, tiny and huge figures, modes and points left out, names of any characters. */
import fc from 'fast-check';
import {
  BENCH_MODES,
  type BenchMode,
  type BenchResult,
  type ModeFigures,
  type SweepPoint,
} from '../../src/bench/result';

const amount = fc.oneof(
  fc.double({ min: 0, max: 1e6, noNaN: true }),
  fc.double({ min: 0, max: 1e-3, noNaN: true }),
  fc.constantFrom(0, 1, 99.95, 999.5, 1e9),
);
const maybe = fc.option(amount);
const point: fc.Arbitrary<SweepPoint> = fc.record({
  mode: fc.constantFrom(...BENCH_MODES),
  tokens: fc.constantFrom(5, 10, 15, 20, 30),
  tokens_per_frame: fc.constantFrom(1, 2, 3, 5, 6, 10, 15, 30, 'auto' as const),
  denoise_steps: fc.constantFrom(5, 10, 20),
  arrivals: fc.constantFrom('uniform:1', 'uniform:0.25', 'poisson:2', 'random:5,20@0.5', 'bursty:4/8', 'of another day'),
  frame_ms_median: amount, frame_ms_p95: amount, action_hz: amount, replan_hz: amount, tokens_per_s: amount, batch_mean: amount,
  first_action_ms_median: amount, request_latency_ms_median: amount, manager_ms_median: amount,
}); // prettier-ignore
const spread = fc.tuple(amount, amount, amount).map(values => {
  const [low = 0, median = 0, high = 0] = values.sort((a, b) => a - b);
  return { low, median, high };
});
const figures: fc.Arbitrary<ModeFigures> = fc.record({
  frames: fc.nat(), repeats: fc.nat(), frame_ms_median: amount, frame_ms_p95: amount,
  frame_ms_spread: spread,
  action_hz: amount, replan_hz: amount, tokens_per_s: amount, batch_mean: amount, batch_max: fc.nat(64),
  manager_ms_median: amount, manager_share: fc.double({ min: 0, max: 1, noNaN: true }),
  first_action_ms_median: amount, first_token_ms_median: amount, request_latency_ms_median: amount,
  request_latency_ms_p95: amount, requests: fc.nat(), peak_pss_mb: maybe,
  memory: fc.option(fc.record({ base_mb: amount, weights_mb: amount, weights_private_mb: amount, kv_mb: amount, activations_mb: amount })),
  cpu_s_per_request: amount, energy_j_per_request: maybe, text_hash: fc.string(), near_ties: fc.nat(), differing: fc.nat(),
  chunk_hash: fc.string(), chunk_max_difference: amount,
}); // prettier-ignore
export const anyResult: fc.Arbitrary<BenchResult> = fc.record({
  engine: fc.record({ name: fc.string({ unit: 'binary' }), precision: fc.constantFrom('fp32', 'int8'), parameters: fc.nat() }),
  machine: fc.record({ cpu: fc.string(), cores: fc.nat(256), node: fc.string(), onnxruntime: fc.string() }),
  threads: fc.integer({ min: 1, max: 256 }),
  settings: fc.record({
    tokens: fc.constantFrom(5, 20), tokens_per_frame: fc.constantFrom(1, 5, 'auto' as const), denoise_steps: fc.constantFrom(5, 10),
    frames: fc.nat(), warm_up: fc.nat(), repeats: fc.nat(), arrivals: fc.constantFrom('uniform:1', 'poisson:2', 'none'), seed: fc.nat(), spin_us: fc.nat(),
    horizon: fc.nat(100), prefix: fc.nat(2000),
  }),
  modes: fc.record(Object.fromEntries(BENCH_MODES.map(m => [m, figures])) as Record<BenchMode, typeof figures>, { requiredKeys: [] }),
  parts_ms: fc.record({
    vision: amount, prefill: amount, denoise: amount, denoise_step: amount, seed: amount,
    decode: fc.dictionary(fc.constantFrom('1', '4', '8', '30'), amount), frame_without_language: amount, isolated_expected: amount,
  }),
  roofline: fc.record({
    threads: fc.integer({ min: 1, max: 256 }), gemm_gflops: amount, bandwidth_gb_s: amount,
    prefill: fc.record({ gflop: amount, mb: amount, ms: amount, gflops: amount, share: amount, gemm_ms: maybe, gemm_share: maybe }),
    decode: fc.record({ gflop: amount, mb: amount, ms: amount, gb_s: amount, share: amount }),
  }),
  sweep: fc.array(point, { maxLength: 60 }),
  notes: fc.array(fc.string(), { maxLength: 3 }),
}); // prettier-ignore
