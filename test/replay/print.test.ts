import { printedReplay } from '../../src/replay/print';
import type { ReplaySummary } from '../../src/replay/result';

const SUMMARY: ReplaySummary = {
  bag: { name: 'sample.mcap', storage: 'mcap', duration_s: 20.04, from_s: 0, to_s: 20.04, messages: 4321 },
  settings: {
    engine: 'engines/demo',
    precision: 'fp32',
    provider: 'cpu',
    robot: 'demo_arm',
    pace: 'fast',
    mode: 'oxygen',
    tokens_per_frame: 4,
    seed: '7',
    denoise_steps: 10,
    threads: 1,
    cost: 'engine.json',
    options: [],
  },
  partial: false,
  faults: [],
  notes: [],
  frames: 118,
  chunks: 117,
  actions: 1400,
  fresh_ratio: 0.982,
  tokens: 960,
  requests: { finished: 40, by_reason: { end: 38, superseded: 2 }, open: 1 },
  drops: {},
  rates: {
    action_hz: 70,
    replan_hz: 5.838,
    tokens_per_s: 47.9,
    batch_mean: 2.31,
    batch_max: 4,
    tokens_per_frame_mean: 3.97,
  },
  latency: {
    chunk_ms: { count: 117, mean: 98.44, p50: 97.6, p95: 121.3, p99: 133.9, max: 140.2 },
    first_token_ms: { count: 40, mean: 160.2, p50: 158, p95: 204, p99: 1234.6, max: 1234.6 },
    request_ms: null,
  },
  comparison: null,
};

const COMPARISON: NonNullable<ReplaySummary['comparison']> = {
  topic: 'action',
  type: 'std_msgs/msg/Float64MultiArray',
  used: 1400,
  refused: 0,
  refusal: '',
  joints: [
    { name: 'yaw', kind: 'position', mae: 0.01234, rmse: 0.02345, max: 0.5, count: 1375 },
    { name: 'gripper', kind: 'binary', mae: 0, rmse: 0, max: 0, count: 1375 },
    { name: 'wrist', kind: 'velocity', mae: null, rmse: null, max: null, count: 0 },
  ],
  horizon: [0, 1, 2, 3, 4].map(step => ({
    step,
    mae: [0.01 * (step + 1), 0, null],
    rmse: [0.01, 0, null],
    count: step === 4 ? 0 : 117 - step,
  })),
};

it('says what was played and what came of it', () => {
  expect(printedReplay(SUMMARY)).toEqual([
    'sample.mcap (mcap): 0.0 to 20.0 s of 20.0 s, 4321 messages',
    'engines/demo (fp32, cpu, 1 thread), robot demo_arm',
    'mode oxygen, k 4, S 10, seed 7, pace fast with the stage times of engine.json',
    '',
    'frames     118',
    'chunks     117  5.84/s',
    'actions   1400  70.0/s  98.2 % from a chunk',
    'tokens     960  47.9/s  3.97 steps per frame, batch 2.3, at most 4',
    'requests    40          38 end, 2 superseded, 1 still open',
    '',
    'latency in ms     count  mean   p50  p95   p99   max',
    'frame to chunk      117  98.4  97.6  121   134   140',
    'request to token     40   160   158  204  1235  1235',
    'request to end        0     -     -    -     -     -',
    '',
    'no recorded actions to compare with',
    '',
    'nothing was dropped',
  ]);
});

it.each<[number, string]>([
  [1, '100.0 % from a chunk'],
  [0.9996, '99.9 % from a chunk'],
  [0, '0.0 % from a chunk'],
])('a fresh ratio of %d is %s: nearly all is not all', (fresh_ratio, said) => {
  expect(printedReplay({ ...SUMMARY, fresh_ratio }).join('\n')).toContain(said);
});

it('a figure of any size has three digits', () => {
  const of = (mae: number): string => {
    const joint = { ...COMPARISON.joints[0]!, mae };
    const lines = printedReplay({ ...SUMMARY, comparison: { ...COMPARISON, joints: [joint] } });
    return lines.find(line => line.startsWith('yaw'))!.split(/ +/)[2]!;
  };
  const figures = [0, 1e-5, 0.00123456, 0.1, 12.345, 99.96, 999.7, 123456.7, 1e7];
  expect(figures.map(of)).toEqual(
    ['0', '1.00e-5', '0.00123', '0.100', '12.3', '100', '1000', '123457', '1.00e+7'], // prettier-ignore
  );
});

const after = (lines: string[], begin: string): string[] =>
  lines.slice(lines.findIndex(line => line.startsWith(begin)));

it('errors by joint in robot units, and how they grow over a chunk', () => {
  expect(after(printedReplay({ ...SUMMARY, comparison: COMPARISON }), 'replayed')).toEqual([
    'replayed minus recorded action (std_msgs/msg/Float64MultiArray): 1400 messages used',
    'robot units           MAE    RMSE    max  commands',
    'yaw (position)     0.0123  0.0234  0.500      1375',
    'gripper (binary)        0       0      0      1375',
    'wrist (velocity)        -       -      -         0',
    'mean              0.00617  0.0117  0.250',
    'MAE by step of the chunk, mean of all: 0: 0.00500, 1: 0.0100, 2: 0.0150, 3: 0.0200',
    '',
    'nothing was dropped',
  ]);
});

it('recorded actions that are of no use, with the reason', () => {
  const comparison = { ...COMPARISON, used: 0, refused: 3, refusal: 'the array has no data' };
  expect(after(printedReplay({ ...SUMMARY, comparison }), 'replayed')).toEqual([
    'replayed minus recorded action (std_msgs/msg/Float64MultiArray): 0 messages used, 3 not used: the array has no data',
    '',
    'nothing was dropped',
  ]);
});

it('one joint needs no mean', () => {
  const comparison = { ...COMPARISON, joints: COMPARISON.joints.slice(0, 1), horizon: [] };
  expect(after(printedReplay({ ...SUMMARY, comparison }), 'yaw').slice(1)).toEqual([
    '',
    'nothing was dropped',
  ]);
});

it('drops, the most frequent ones first, faults and what is missing', () => {
  const summary: ReplaySummary = {
    ...SUMMARY,
    partial: true,
    drops: { CHUNK_STALE: 2, INPUT_MISSING: 2, STATE_INVALID: 31 },
    faults: [{ code: 'BAG_DAMAGED', message: 'a.mcap ends in the middle of a chunk' }],
  };
  expect(after(printedReplay(summary), 'dropped')).toEqual([
    'dropped: 31 STATE_INVALID, 2 CHUNK_STALE, 2 INPUT_MISSING',
    'BAG_DAMAGED: a.mcap ends in the middle of a chunk',
    'partial: the bag is damaged; all of it that is whole was played',
  ]);
});

it('numbers of any size are short', () => {
  const joint = { name: 'x', kind: 'position', rmse: 12345.6, max: 3.2e9, count: 1 } as const;
  const comparison = { ...COMPARISON, joints: [{ ...joint, mae: 0.00001234 }] };
  const line = after(printedReplay({ ...SUMMARY, comparison }), 'x (')[0]!;
  expect(line.split(/\s{2,}/)).toEqual(['x (position)', '1.23e-5', '12346', '3.20e+9', '1']);
});

it('with real time there is no table of costs', () => {
  const settings = {
    ...SUMMARY.settings,
    pace: 'real',
    cost: null,
    threads: 2,
    tokens_per_frame: 'auto',
  } as const;
  expect(printedReplay({ ...SUMMARY, settings })[2]).toBe('mode oxygen, k auto, S 10, seed 7, pace real');
});
