/** A result as a real replay gives it: a minute of an arm that is told where to reach, and talks meanwhile. */
import type { EndReason, Observation } from '../../src/core/types';
import type { Histogram, Quantiles, ReplayResult, TextEvent } from '../../src/replay/result';
import { Thumbnails } from '../../src/replay/thumbnails';

export const DURATION = 60;
const RATE = 30;
const SIDE = 112;

/** Deterministic, from 0 to 1. */
function* randoms(seed: number): Generator<number, never> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

const INSTRUCTIONS = [
  { t: 0.2, text: 'reach the red block' },
  { t: 9.5, text: 'reach the green block' },
  { t: 21, text: 'hold above the blue block, then open the gripper and wait' },
  { t: 36.2, text: 'reach the red block' },
  { t: 47, text: 'go home' },
] as const;

const JOINTS = [
  { name: 'yaw', kind: 'position', min: -1.6, max: 1.6, goals: [-0.9, 0.4, 1.1, -0.7, 0], lag: 0.16, noise: 0.01 },
  { name: 'shoulder', kind: 'position', min: -0.6, max: 2.2, goals: [0.9, 1.3, 0.7, 1.0, 0.2], lag: 0.22, noise: 0.012 },
  { name: 'elbow', kind: 'position', min: -2.75, max: 0, goals: [-1.6, -2.1, -2.72, -1.5, -0.8], lag: 0.3, noise: 0.02 },
  { name: 'wrist', kind: 'position', min: -2.2, max: 1.2, goals: [0.1, 0.12, 0.09, 0.11, 0.1], lag: 0.1, noise: 0.004 },
  { name: 'gripper', kind: 'binary', min: 0, max: 1, goals: [0, 0, 1, 1, 0], lag: 0.4, noise: 0 },
] as const; // prettier-ignore

/** Minimum jerk from goal to goal, 1.8 s each. */
function course({ goals, kind }: (typeof JOINTS)[number], time: number): number {
  const i = INSTRUCTIONS.findLastIndex(x => x.t <= time);
  if (i < 0) return 0;
  const [from, to] = [i === 0 ? 0 : (goals[i - 1] ?? 0), goals[i] ?? 0];
  const u = Math.min(1, (time - (INSTRUCTIONS[i]?.t ?? 0)) / 1.8);
  return kind === 'binary' ? (u > 0.5 ? to : from) : from + (to - from) * (10 * u ** 3 - 15 * u ** 4 + 6 * u ** 5);
} // prettier-ignore

function actions() {
  const t = Array.from({ length: DURATION * RATE }, (_, i) => i / RATE);
  return JOINTS.map((joint, j) => {
    const random = randoms(j + 1);
    let drift = 0;
    return {
      name: joint.name,
      kind: joint.kind,
      min: joint.min,
      max: joint.max,
      t,
      replayed: t.map(time => {
        drift = 0.96 * drift + joint.noise * (random.next().value - 0.5);
        return time < 0.6 ? null : Math.max(joint.min, Math.min(joint.max, course(joint, time - joint.lag) + drift));
      }),
      // nobody commanded the robot for a while
      recorded: t.map(time => (time < 0.3 || (time > 31 && time < 33.5) ? null : course(joint, time))),
    };
  });
} // prettier-ignore

const PLACES = ['far left', 'near centre', 'far right', 'near left', 'far centre'];
const place = (i: number): string => PLACES[i % PLACES.length] ?? '';

function texts(): TextEvent[] {
  const random = randoms(99);
  const found: TextEvent[] = [];
  const changes = INSTRUCTIONS.slice(1).map(i => i.t);
  const standing = (name: string, seed: string, seconds: number, says: (i: number, at: number) => string) => {
    for (let i = 0, at = 0.7; at < DURATION; i += 1) {
      const end = at + seconds * (0.8 + 0.4 * random.next().value);
      const change = changes.find(c => c > at && c < end);
      const to = change ?? (end < DURATION ? end : null);
      const reason: EndReason | null = change ? 'superseded' : to === null ? null : 'end';
      const text = says(i, at);
      found.push({ id: `${name}/${i}`, standing: name, seed, text: reason === 'end' ? text : text.slice(0, 12), from_s: at, to_s: to, reason, tokens: reason === 'end' ? 7 : 3 });
      at = (to ?? DURATION) + 0.12;
    }
  };
  const told = (at: number) => INSTRUCTIONS.findLast(x => x.t <= at)?.text ?? '';
  standing('subtask', 'Subtask: ', 1.1, (_, at) => told(at));
  standing('scene', 'Scene: ', 2.6, i => `red ${place(i)}, green ${place(i + 1)}, blue ${place(i + 2)}.`);
  const asked: readonly (readonly [number, number | null, string, string, EndReason | null])[] = [
    [4.1, 5, 'where is the red block? ', 'far left', 'end'],
    [4.6, 5.9, 'where is the blue block? ', 'far right', 'end'],
    [13.2, 21, 'Tell me all that you see. ', 'A table with three blocks, a grey arm in front of it, and', 'superseded'],
    [14, 17.4, 'Count to ten: ', 'one two three four five six seven eight', 'length'],
    [25, 26.2, 'is the gripper open? ', 'yes', 'end'],
    [27, 28.5, 'what comes next? ', 'wait', 'cancelled'],
    [39.3, 41.3, 'describe the arm in detail. ', 'The arm has four joints and a', 'deadline'],
    [40, 42.1, 'where is the green block? ', 'near centre', 'end'],
    [58.2, null, 'are you done? ', 'the arm is', null],
  ];
  asked.forEach(([from_s, to_s, seed, text, reason], i) =>
    // the first is an id of an outside request that looks like one of a standing request
    found.push({ id: i === 0 ? 'operator/1' : `question-${i + 1}`, standing: null, seed, text, from_s, to_s, reason, tokens: text.split(' ').length }),
  );
  found.push({ id: 'question-10', standing: null, seed: 'x'.repeat(40), text: '', from_s: 50, to_s: 50, reason: 'rejected', tokens: 0 });
  return found.sort((a, b) => a.from_s - b.from_s);
} // prettier-ignore

const COLOURS = [[196, 58, 50], [62, 148, 84], [58, 92, 178]] as const; // prettier-ignore
const [MIDDLE, BASE] = [SIDE / 2, 0.87 * SIDE];

/** A table with three blocks and an arm that swings: [1, H, W, 3] u8. */
function picture(yaw: number): Uint8Array {
  const pixels = new Uint8Array(SIDE * SIDE * 3);
  const [reachX, reachY] = [0.42 * SIDE * Math.sin(yaw), -0.48 * SIDE * Math.cos(yaw)];
  for (let y = 0; y < SIDE; y += 1) {
    for (let x = 0; x < SIDE; x += 1) {
      const [dx, dy] = [x - MIDDLE, y - BASE];
      const along = Math.max(0, Math.min(1, (dx * reachX + dy * reachY) / (reachX ** 2 + reachY ** 2)));
      const off = Math.hypot(dx - along * reachX, dy - along * reachY);
      const block = [0, 1, 2].find(i => Math.abs(x - (0.2 + 0.3 * i) * SIDE) < 7 && Math.abs(y - (0.42 + 0.07 * (i % 2)) * SIDE) < 7);
      const grey = y > 0.23 * SIDE ? 172 - y / 3 : 92 - y / 2;
      const colour =
        Math.hypot(dx, dy) < 8 ? [46, 50, 56]
        : off < 4.5 - 2 * along ? [66, 72, 80]
        : block !== undefined ? (COLOURS[block] ?? [])
        : y > 0.23 * SIDE ? [grey + 10, grey, grey - 18] : [grey, grey + 4, grey + 12];
      pixels.set(colour, (y * SIDE + x) * 3);
    }
  }
  return pixels;
} // prettier-ignore

function thumbnails(said: readonly TextEvent[]) {
  const pictures = new Thumbnails({ originNs: 0n, fromNs: 0n, toNs: BigInt(DURATION) * 1_000_000_000n, imageHeight: SIDE, imageWidth: SIDE });
  for (let at = 0.4; at < DURATION; at += DURATION / 16) {
    const observation: Observation = {
      stampNs: BigInt(Math.round(at * 1e9)),
      epoch: 0,
      instruction: INSTRUCTIONS.findLast(x => x.t <= at)?.text ?? '',
      state: new Float64Array(4),
      cameras: ['base_0_rgb'],
      images: picture(course(JOINTS[0], at)),
    };
    pictures.offer(observation, said.findLast(e => e.id.startsWith('scene') && e.from_s <= at)?.text ?? '');
  }
  return pictures.done();
} // prettier-ignore

const bell = (from_ms: number, bin_ms: number, bins: number, centre: number, height: number): Histogram => ({
  from_ms,
  bin_ms,
  counts: Array.from({ length: bins }, (_, i) =>
    Math.round(height * Math.exp(-(((i - centre) / (i < centre ? 2.2 : 5)) ** 2)) + (i === bins - 1 ? 5 : 0)),
  ),
});

const quantiles = (count: number, mean: number, p50: number, p95: number, p99: number, max: number): Quantiles => ({ count, mean, p50, p95, p99, max }); // prettier-ignore

function rates() {
  const random = randoms(7);
  const t = Array.from({ length: DURATION }, (_, i) => i);
  const near = (value: number, spread: number) => t.map(() => value + spread * (random.next().value - 0.5));
  return {
    every_s: 1,
    t,
    replan_hz: near(21, 3).map((v, i) => (i === 0 ? 8 : Math.round(v))),
    tokens_per_s: near(248, 60).map((v, i) => (i === 0 ? 40 : Math.round(v))),
    batch: near(2.4, 1.1),
    drops: t.map(i => (INSTRUCTIONS.some(x => Math.floor(x.t) === i) ? 2 : i === 31 ? 5 : 0)),
  };
}

const errors = [
  [0.0331, 0.0712, 0.312], [0.0287, 0.0641, 0.274], [0.0642, 0.1183, 0.451], [0.0061, 0.0079, 0.0214], [0.0219, 0.148, 1],
] as const; // prettier-ignore

const comparison: ReplayResult['summary']['comparison'] = {
  topic: '/action',
  type: 'std_msgs/msg/Float64MultiArray',
  used: 4023,
  refused: 3,
  refusal: 'the array has 4 values, the robot file 5 actions',
  joints: JOINTS.map(({ name, kind }, i) => {
    const [mae, rmse, max] = errors[i] ?? [0, 0, 0];
    return { name, kind, mae, rmse, max, count: 3957 };
  }),
  horizon: Array.from({ length: 10 }, (_, step) => ({
    step,
    mae: errors.map(([mae]) => mae * (0.55 + 0.11 * step)),
    rmse: errors.map(([, rmse]) => rmse * (0.5 + 0.13 * step)),
    count: 1236 - step,
  })),
};

export async function sample(): Promise<ReplayResult> {
  const said = texts();
  return {
    summary: {
      bag: { name: 'reach.mcap', storage: 'mcap', duration_s: 61.3, from_s: 0, to_s: DURATION, messages: 9214 },
      settings: {
        engine: 'demo', precision: 'fp32', provider: 'cpu', robot: 'demo_arm', pace: 'fast', mode: 'oxygen', tokens_per_frame: 5,
        seed: '8601', denoise_steps: 10, threads: 1, cost: 'engine.json',
        options: ['--tokens-per-frame', '5', '--seed', '8601', '--threads', '1'],
      },
      partial: false,
      faults: [],
      notes: [],
      frames: 1239,
      chunks: 1238,
      actions: 4158,
      fresh_ratio: 0.987,
      tokens: 14_872,
      requests: { finished: 74, by_reason: { end: 64, length: 1, deadline: 2, cancelled: 3, superseded: 9, rejected: 5 }, open: 7 },
      drops: { STAMP_INVALID: 8, CHUNK_SUPERSEDED: 4, REQUEST_NEVER_FITS: 11, IMAGE_CORRUPT: 6 },
      rates: { action_hz: 70.02, replan_hz: 20.63, tokens_per_s: 247.9, batch_mean: 2.43, batch_max: 5, tokens_per_frame_mean: 4.91 },
      latency: {
        chunk_ms: quantiles(1237, 32.4, 31.7, 41.6, 52.3, 88.1),
        first_token_ms: quantiles(84, 52.9, 49.4, 78.8, 97.2, 131),
        request_ms: quantiles(79, 1423, 1182, 2958, 3517, 4064),
      },
      comparison,
    },
    series: {
      actions: actions(),
      instructions: INSTRUCTIONS,
      texts: said,
      more_texts: 0,
      thumbnails: await thumbnails(said),
      rates: rates(),
      latency: {
        chunk_ms: bell(24, 1, 28, 7, 170),
        first_token_ms: bell(30, 2.5, 27, 8, 11),
        request_ms: bell(800, 100, 28, 5, 12),
      },
    },
  };
} // prettier-ignore
