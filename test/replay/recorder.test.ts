import type { ErrorCode } from '../../src/core/errors';
import type { EndReason } from '../../src/core/types';
import type { FrameStats } from '../../src/engine/protocol';
import { MAX_WAITING } from '../../src/replay/compare';
import { Recorder } from '../../src/replay/recorder';
import type { ReplayEnd } from '../../src/replay/recorder';
import type { ReplayResult } from '../../src/replay/result';
import { MAX_TEXTS } from '../../src/replay/text-log';
import { DropLog } from '../../src/ros/drops';
import { finishMessage, refusalMessage, tokenMessage } from '../../src/ros/outputs';
import { action, at, chunkOf, robotOf, START } from './robots';

const ROBOT = robotOf(action('position', { name: 'yaw', min: -1, max: 2 }));
const RECORDED = { topic: 'action', type: 'std_msgs/msg/Float64MultiArray' };

const endOf = (from_s: number, to_s: number): ReplayEnd => ({
  bag: { name: 'b.mcap', storage: 'mcap', duration_s: 100, from_s, to_s, messages: 7 },
  settings: {
    engine: 'demo',
    precision: 'fp32',
    provider: 'cpu',
    robot: 'r',
    pace: 'fast',
    mode: 'oxygen',
    tokens_per_frame: 4,
    seed: '0',
    denoise_steps: 10,
    threads: 1,
    cost: 'engine.json',
    options: [],
  },
  partial: false,
  faults: [],
  notes: [],
  thumbnails: [],
});

const recorderFrom = (fromNs = START, recorded: typeof RECORDED | null = RECORDED): Recorder =>
  new Recorder({ robot: ROBOT, startNs: START, fromNs, recorded });

const token = (id: string, text: string, sequence = 0) =>
  tokenMessage({ type: 'token', id, sequence, tokenId: 5, text, frameStampNs: START });
const finish = (id: string, reason: EndReason, text = '') =>
  finishMessage({ type: 'done', id, sequence: 9, reason, text, frameStampNs: START, error: null, firstTokenMs: null, totalMs: 0 }); // prettier-ignore
const stats = (batch: number, decodeSteps: number, rowSteps = batch * decodeSteps): FrameStats => ({
  observationStampNs: START,
  batch,
  queued: 0,
  decodeSteps,
  rowSteps,
  tokens: rowSteps,
  stageMs: {},
  cacheUse: 0,
});
const values = (value: number) => ({ kind: 'values', values: Float64Array.of(value) }) as const;

const jsonSafe = (result: ReplayResult): void => expect(JSON.parse(JSON.stringify(result))).toEqual(result);

it('nothing at all is a result without numbers that are not there', () => {
  const result = recorderFrom().result(endOf(0, 0));
  jsonSafe(result);
  expect(result.summary).toMatchObject({
    ...{ frames: 0, chunks: 0, actions: 0, fresh_ratio: 0, tokens: 0, drops: {} },
    requests: { finished: 0, by_reason: {}, open: 0 },
    rates: {
      action_hz: 0,
      replan_hz: 0,
      tokens_per_s: 0,
      batch_mean: 0,
      batch_max: 0,
      tokens_per_frame_mean: 0,
    },
    latency: { chunk_ms: null, first_token_ms: null, request_ms: null },
    comparison: {
      ...RECORDED,
      used: 0,
      refused: 0,
      refusal: '',
      horizon: [],
      joints: [{ mae: null, count: 0 }],
    },
  });
  expect(result.series).toMatchObject({ texts: [], more_texts: 0, instructions: [], thumbnails: [] });
  expect(recorderFrom(START, null).result(endOf(0, 0)).summary.comparison).toBeNull();
});

describe('a short replay, from 10 s to 14 s of a bag', () => {
  const recorder = recorderFrom(at(10_000));
  recorder.standing([{ name: 'subtask', text: 'Subtask: ' }]);
  recorder.instruction('pick', at(10_000));
  recorder.instruction('pick', at(10_100));
  recorder.instruction('place', at(12_000));
  recorder.frame();
  recorder.frame();
  recorder.recorded(values(1), at(11_000));
  recorder.recorded({ kind: 'refused', why: 'the array has no data' }, at(11_001));
  recorder.recorded({ kind: 'refused', why: 'another' }, at(11_002));
  recorder.command([0.5], false, at(11_000));
  // 400 ms after it was observed; its three steps play at 11.0, 11.2 and 11.4 s
  recorder.chunk(chunkOf([[1.5], [2], [9]], at(10_700)), at(11_000), 0.2, at(11_100));
  recorder.command([1.25], true, at(11_250));
  recorder.recorded(values(1.5), at(11_250));
  recorder.command([1.5], true, at(11_500));
  recorder.request('q', 'What? ');
  recorder.token(token('q', 'a '), at(11_500));
  recorder.token(token('subtask/0', 'go'), at(11_600));
  recorder.token(token('q', 'cup'), at(12_500));
  recorder.token(finish('q', 'end', '.'), at(12_600));
  recorder.token(refusalMessage('bad', 'rejected'), at(12_700));
  recorder.request('waiting', 'Well? ');
  recorder.done({ reason: 'end', firstTokenMs: 300, totalMs: 1400 });
  recorder.done({ reason: 'superseded', firstTokenMs: 300, totalMs: 1 });
  recorder.done({ reason: 'rejected', firstTokenMs: null, totalMs: 0 });
  // Two rows in the first step, one in each of the others.
  recorder.stats(stats(2, 3, 4), at(12_000));
  recorder.stats(stats(4, 1), at(13_000));
  const drops = new DropLog({ info() {}, warn() {}, error() {} }, () => 0);
  drops.drop('STATE_INVALID', 'x');
  recorder.drops(drops.counts(), at(11_000));
  drops.drop('STATE_INVALID', 'x');
  drops.drop('CHUNK_STALE', 'y');
  recorder.drops(drops.counts(), at(13_500));
  recorder.drops(drops.counts(), at(13_900));
  const result = recorder.result(endOf(10, 14));
  const { summary, series } = result;

  it('counts', () => {
    jsonSafe(result);
    expect(summary).toMatchObject({
      frames: 2,
      chunks: 1,
      actions: 3,
      fresh_ratio: 2 / 3,
      tokens: 3,
      partial: false,
    });
    expect(summary.bag).toEqual(endOf(10, 14).bag);
    expect(summary.requests).toEqual({ finished: 2, by_reason: { end: 1, rejected: 1 }, open: 2 });
    expect(Object.entries(summary.drops)).toEqual([['CHUNK_STALE', 1], ['STATE_INVALID', 2]]); // prettier-ignore
  });

  it('rates', () => {
    // three commands in half a second are two periods; one chunk and three tokens in 4 s; 4 + 4 rows in 4 steps
    expect(summary.rates).toEqual({
      action_hz: 4,
      replan_hz: 0.25,
      tokens_per_s: 0.75,
      batch_mean: 2,
      batch_max: 4,
      tokens_per_frame_mean: 2,
    });
    expect(series.rates).toEqual({
      every_s: 1,
      t: [10, 11, 12, 13],
      replan_hz: [0, 1, 0, 0],
      tokens_per_s: [0, 2, 1, 0],
      batch: [0, 0, 4 / 3, 4],
      drops: [0, 1, 0, 2],
    });
  });

  it('latencies in ms', () => {
    expect(summary.latency).toMatchObject({
      chunk_ms: { count: 1, mean: 400, p50: 400, max: 400 },
      first_token_ms: { count: 2, mean: 300 },
      // one that was cut short says nothing of how long an answer takes
      request_ms: { count: 1, mean: 1400 },
    });
    expect(series.latency.first_token_ms.counts).toEqual([2]);
  });

  it('errors in robot units', () => {
    // the second and third command against 1.5; the holding one does not count
    expect(summary.comparison).toMatchObject({
      ...{ ...RECORDED, used: 2, refused: 2, refusal: 'the array has no data' },
      joints: [{ name: 'yaw', kind: 'position', mae: 0.125, max: 0.25, count: 2 }],
      horizon: [
        { step: 0, mae: [0.5], count: 1 },
        // at 11.2 s the line from 1 to 1.5 has 1.4
        { step: 1, count: 1 },
        { step: 2, mae: [null], count: 0 },
      ],
    });
    expect(summary.comparison!.horizon[1]!.mae[0]).toBeCloseTo(0.6, 12);
    expect(summary.comparison!.joints[0]!.rmse).toBeCloseTo(0.25 / Math.SQRT2, 12);
  });

  it('curves in seconds of the bag', () => {
    expect(series.actions).toEqual([
      {
        ...{ name: 'yaw', kind: 'position', min: -1, max: 2 },
        t: [11, 11.25, 11.5],
        replayed: [0.5, 1.25, 1.5],
        recorded: [1, 1.5, 1.5],
      },
    ]);
    expect(series.instructions).toEqual([{ t: 10, text: 'pick' }, { t: 12, text: 'place' }]); // prettier-ignore
  });

  it('texts that said something, in the order of their first tokens', () => {
    expect(series.texts).toEqual([
      {
        id: 'q',
        standing: null,
        seed: 'What? ',
        text: 'a cup.',
        from_s: 11.5,
        to_s: 12.6,
        reason: 'end',
        tokens: 2,
      },
      {
        id: 'subtask/0',
        standing: 'subtask',
        seed: 'Subtask: ',
        text: 'go',
        from_s: 11.6,
        to_s: null,
        reason: null,
        tokens: 1,
      },
    ]);
    expect(series.more_texts).toBe(0);
  });
});

it('an id can be used again once its request has ended', () => {
  const recorder = recorderFrom();
  for (const seed of ['one', 'two']) {
    recorder.request('q', seed);
    recorder.request('q', 'a twin that the engine refuses');
    recorder.token(token('q', seed), at(0));
    recorder.token(finish('q', 'end'), at(1));
  }
  const { summary, series } = recorder.result(endOf(0, 1));
  expect(series.texts.map(({ seed, text }) => [seed, text])).toEqual([['one', 'one'], ['two', 'two']]); // prettier-ignore
  expect(summary.requests).toEqual({ finished: 2, by_reason: { end: 2 }, open: 0 });
});

/** Three hours at 70 Hz would be 756,000 commands; these are as long, but fewer. */
function longReplay(): ReplayResult {
  const recorder = recorderFrom();
  const counts = new Map<ErrorCode, bigint>();
  for (let i = 0; i < 36_000; i++) {
    const ns = at(i * 300);
    recorder.frame();
    recorder.recorded(values(Math.sin(i)), ns);
    recorder.command([Math.cos(i)], true, ns);
    recorder.chunk(chunkOf([[0], [1]], ns - 100_000_000n), ns, 0.1, ns + 1n);
    recorder.instruction(`do ${i}`, ns);
    recorder.token(token(`n/${i}`, 'x'), ns);
    recorder.token(finish(`n/${i}`, 'end'), ns);
    recorder.done({ reason: 'end', firstTokenMs: i % 977, totalMs: i });
    recorder.stats(stats(i % 5, 4), ns);
    counts.set('CHUNK_STALE', BigInt(i));
    recorder.drops(counts, ns);
  }
  return recorder.result(endOf(0, 10_800));
}

it('three hours are no longer to tell than a minute, and are told the same way twice', () => {
  const result = longReplay();
  const text = JSON.stringify(result);
  jsonSafe(result);
  expect(text.length).toBeLessThan(400_000);
  const { summary, series } = result;
  expect(summary).toMatchObject({ actions: 36_000, tokens: 36_000, drops: { CHUNK_STALE: 35_999 } });
  expect(summary.comparison).toMatchObject({ used: 36_000, joints: [{ count: 36_000 }] });
  expect(series.texts).toHaveLength(MAX_TEXTS);
  expect(series.more_texts).toBe(36_000 - MAX_TEXTS);
  expect(series.instructions).toHaveLength(500);
  expect(series.actions[0]!.t.length).toBeLessThanOrEqual(2048);
  expect(series.rates.drops.reduce((a, b) => a + b, 0)).toBe(35_999);
  for (const histogram of Object.values(series.latency)) {
    expect(histogram.counts.reduce((a, b) => a + b, 0)).toBe(36_000);
    expect(histogram.counts.length).toBeLessThanOrEqual(40);
  }
  expect(JSON.stringify(longReplay())).toBe(text);
});

it('chunks that make room before their last step is judged are counted, if there is anything to judge them by', () => {
  const notes = (recorded: typeof RECORDED | null): readonly string[] => {
    const recorder = recorderFrom(START, recorded);
    for (let i = 0; i < MAX_WAITING + 3; i++) recorder.chunk(chunkOf([[0], [1]]), at(i), 3600, at(i));
    return recorder.result({ ...endOf(0, 4), notes: ['of the bag'] }).summary.notes;
  };
  expect(notes(RECORDED)).toEqual([
    'of the bag',
    'the last steps of 3 chunks were not compared: more than 1024 played at once',
  ]);
  expect(notes(null)).toEqual(['of the bag']);
});
