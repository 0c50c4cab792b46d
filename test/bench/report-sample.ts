/** A result as a real run gives it, by a small model of costs; no two figures of a mode are alike. */
import {
  BENCH_MODES,
  type BenchMode,
  type BenchResult,
  type ModeFigures,
  type SweepPoint,
} from '../../src/bench/result';

const [VISION, PREFILL, STEP] = [33.1, 179.3, 2.81];
const DECODE: Readonly<Record<string, number>> = { '1': 5.62, '4': 6.21, '8': 8.03, '30': 20.4 };

function frameMs(mode: BenchMode, tokens: number, k: number, steps: number, rate: number): number {
  const batch = Math.max(1, (rate * tokens) / k);
  const solo = rate * tokens * 5.62;
  switch (mode) {
    case 'isolated':
      return (1 + rate) * (VISION + PREFILL) + steps * STEP + solo;
    case 'parallel':
      return 1.7 * (VISION + PREFILL) + steps * STEP + solo;
    case 'shared':
      return VISION + PREFILL + steps * STEP + solo;
    case 'oxygen':
      return VISION + PREFILL + steps * STEP + k * (5.1 + 0.5 * batch);
  }
}

/** Figures that modes and points of the sweep have in common. */
function measured(mode: BenchMode, tokens: number, k: number, steps: number, rate: number) {
  const ms = frameMs(mode, tokens, k, steps, rate);
  return {
    frame_ms_median: ms,
    frame_ms_p95: ms * 1.07,
    action_hz: 10_000 / ms,
    replan_hz: 1000 / ms,
    tokens_per_s: (rate * tokens * 1000) / ms,
    batch_mean: mode === 'oxygen' ? Math.max(1, (rate * tokens) / k) : 1,
    first_action_ms_median: VISION + PREFILL + steps * STEP + BENCH_MODES.indexOf(mode),
    request_latency_ms_median: mode === 'oxygen' ? Math.ceil(tokens / k) * ms - 17 : ms - 11,
    manager_ms_median: mode === 'oxygen' ? 2.34 : 1.27,
  };
}

const point = (mode: BenchMode, tokens: number, k = 5, steps = 10, arrivals = 'uniform:1', rate = 1): SweepPoint => ({
  ...measured(mode, tokens, k, steps, rate),
  mode,
  tokens,
  tokens_per_frame: k,
  denoise_steps: steps,
  arrivals,
}); // prettier-ignore

function figures(mode: BenchMode): ModeFigures {
  const i = BENCH_MODES.indexOf(mode);
  const p = measured(mode, 20, 5, 10, 1);
  const kv = mode === 'oxygen' ? 14.9 : 5.03;
  return {
    ...p,
    frames: 60,
    repeats: 3,
    frame_ms_spread: { low: p.frame_ms_median * 0.97, median: p.frame_ms_median, high: p.frame_ms_median * 1.035 },
    batch_max: mode === 'oxygen' ? 5 : 1,
    manager_share: p.manager_ms_median / p.frame_ms_median,
    first_token_ms_median: 251 + 73 * i,
    request_latency_ms_p95: p.request_latency_ms_median * 1.09,
    requests: 57 + i,
    peak_pss_mb: 395 + kv,
    memory: {
      base_mb: 86.3,
      weights_mb: 206.4 + i,
      weights_private_mb: mode === 'parallel' ? 412.9 : 206.4 + i,
      kv_mb: kv,
      activations_mb: 101.7 + i,
    },
    cpu_s_per_request: p.frame_ms_median / 555,
    energy_j_per_request: 21.5 + i,
    text_hash: '9f86d081884c7d65',
    near_ties: mode === 'oxygen' ? 2 : 0,
    differing: 0,
    chunk_hash: '60303ae22b998861',
    chunk_max_difference: 0,
  };
} // prettier-ignore

function sweep(): SweepPoint[] {
  const both = ['isolated', 'oxygen'] as const;
  const lengths = [5, 10, 15, 20, 30];
  return [
    ...lengths.flatMap(n => BENCH_MODES.map(mode => point(mode, n))),
    ...lengths.flatMap(n => [1, 2, 3, 6, 10, 15, 30].map(k => point('oxygen', n, k))),
    ...[5, 15, 20].flatMap(s => lengths.flatMap(n => both.map(mode => point(mode, n, 5, s)))),
    ...[0.25, 0.5, 2, 4].flatMap(r => both.map(mode => point(mode, 30, 5, 10, `uniform:${r}`, r))),
    ...[0.5, 1, 2].flatMap(r => both.map(mode => point(mode, 30, 5, 10, `poisson:${r}`, r))),
    ...[0.1, 0.5, 0.9].flatMap(share => both.map(mode => point(mode, 30, 5, 10, `random:5,20@${share}`, 0.4))),
    ...both.map(mode => point(mode, 30, 5, 10, 'bursty:4/8', 0.5)),
  ];
} // prettier-ignore

/** Everything measured. */
export const sample = (): BenchResult => ({
  engine: { name: 'bench', precision: 'fp32', parameters: 53_425_952 },
  machine: { cpu: 'AMD EPYC', cores: 2, node: 'v20.20.2', onnxruntime: '1.30.0' },
  threads: 2,
  settings: {
    tokens: 20,
    tokens_per_frame: 5,
    denoise_steps: 10,
    frames: 60,
    warm_up: 6,
    repeats: 3,
    arrivals: 'uniform:1',
    seed: 0,
    spin_us: 0,
    horizon: 10,
    prefix: 560,
  },
  modes: Object.fromEntries(BENCH_MODES.map(mode => [mode, figures(mode)])),
  parts_ms: {
    vision: VISION,
    prefill: PREFILL,
    denoise: 28.2,
    denoise_step: STEP,
    seed: 9.14,
    decode: DECODE,
    frame_without_language: 241.6,
    isolated_expected: 565.4,
  },
  roofline: {
    threads: 2,
    gemm_gflops: 212.4,
    bandwidth_gb_s: 31.2,
    prefill: {
      gflop: 33.87,
      mb: 138.6,
      ms: PREFILL,
      gflops: 188.9,
      share: 0.889,
      gemm_ms: 168.2,
      gemm_share: 0.948,
    },
    decode: { gflop: 0.0784, mb: 138.8, ms: 5.62, gb_s: 24.7, share: 0.792 },
  },
  sweep: sweep(),
  notes: ['The machine was busy.'],
});
