import { median, quantile } from '../../src/core/statistics';
import { summarise, together } from '../../src/bench/summary';
import { block, frame, request } from './blocks';

it('quantiles by nearest rank; the median of an even count lies between', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(quantile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.95)).toBe(10);
  expect(quantile(Array.from({ length: 100 }, (_, i) => i + 1), 0.95)).toBe(95); // prettier-ignore
  expect(quantile([7], 0.95)).toBe(7);
});

it('takes medians over the repeats, rates over all time', () => {
  const blocks = [
    block({ frames: [frame({ ms: 100 }), frame({ ms: 120 }), frame({ ms: 110 })], cpuSeconds: 3, energyJoules: 10 }),
    block({ frames: [frame({ ms: 200 })], cpuSeconds: 1, energyJoules: 6 }),
    block({ frames: [frame({ ms: 90, tokens: 0, decodeSteps: 0, rowSteps: 0, batch: 0 })], cpuSeconds: 2, energyJoules: 2 }),
  ]; // prettier-ignore
  const s = summarise(blocks, 10);
  expect(s).toMatchObject({
    frames: 5,
    repeats: 3,
    frame_ms_median: 110,
    frame_ms_spread: { median: 110, low: 90, high: 200 },
    frame_ms_p95: 200,
    batch_max: 4,
    batch_mean: 4,
    requests: 3,
    cpu_s_per_request: 2,
    energy_j_per_request: 6,
    first_action_ms_median: 60,
    first_token_ms_median: 60,
    request_latency_ms_median: 400,
  });
  expect(s.action_hz).toBeCloseTo(10_000 / 110, 9);
  expect(s.replan_hz).toBeCloseTo(5 / 0.62, 9);
  // the frame without tokens counts in the time
  expect(s.tokens_per_s).toBeCloseTo(80 / 0.62, 9);
});

it('manager time is what is outside of runs, per frame', () => {
  const frames = [
    frame({ ms: 100, runMs: 90 }),
    frame({ ms: 200, runMs: 198 }),
    frame({ ms: 50, runMs: 50.1 }),
  ];
  const s = summarise([block({ frames })], 10);
  expect(s.manager_ms_median).toBeCloseTo(2, 9);
  expect(s.manager_share).toBeCloseTo(0.01, 9);
});

it('no decode step is a batch of 0, energy is all or nothing', () => {
  const quiet = frame({ decodeSteps: 0, rowSteps: 0, batch: 0 });
  const s = summarise([block({ frames: [quiet], energyJoules: 5 }), block({ frames: [quiet] })], 10);
  expect(s).toMatchObject({ batch_mean: 0, batch_max: 0, energy_j_per_request: null });
});

it('two processes at the same time are one mode: the slower one is the frame', () => {
  const actions = block({
    frames: [frame({ ms: 60, runMs: 59, firstActionMs: 58, tokens: 0 }), frame({ ms: 90, runMs: 88, firstActionMs: 89, tokens: 0 })],
    requests: [], chunks: [Float32Array.of(1)], cpuSeconds: 1, energyJoules: 7,
  }); // prettier-ignore
  const language = block({
    frames: [frame({ ms: 80, runMs: 79, firstActionMs: 0, batch: 1 }), frame({ ms: 70, runMs: 69, firstActionMs: 0, batch: 1 })],
    requests: [request('1.0')], chunks: [Float32Array.of(9)], cpuSeconds: 2, energyJoules: 8, failures: ['x'],
  }); // prettier-ignore
  expect(together(actions, language)).toEqual({
    frames: [
      frame({ ms: 80, runMs: 79, firstActionMs: 58, batch: 1 }),
      frame({ ms: 90, runMs: 88, firstActionMs: 89, batch: 1 }),
    ],
    requests: [request('1.0')],
    chunks: [Float32Array.of(1)],
    cpuSeconds: 3,
    energyJoules: 8,
    kvBytes: 2000,
    failures: ['x'],
  });
});
