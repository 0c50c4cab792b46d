/**
 * The node under a bag that is played into its graph as `ros2 bag play --clock` does it: once, in a loop (O-06), with a
 * pause, with a leap; and the replay of that bag beside it. Player and reader stand on libraries that others wrote.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { PeerEvent } from '../ros/harness';
import { ENGINES, NodeProcess, Peer, ROBOTS, killAll, sleep } from '../ros/harness';
import { oxygen } from '../support/engines';
import { costFile } from './fixed-costs';
import { framesOf, isOfBag } from './frame-log';
import { CAMERA, Player, SAMPLE, bagContents, stampNs } from './player';

/** ROS time counts as paused when the clock has not moved for so long. */
const STILL_S = 0.2;
/** A busy machine hears late, and stalls. */
const LATE_S = 0.15;
const STALL_S = 1;

const contents = bagContents(SAMPLE);
const recorded = (topic: string) => contents[topic]!.messages;
/** Seconds of the bag since its first message. */
const startNs = Number(recorded('/instruction')[0]!.log);
const inBag = (stamp: { sec: number; nanosec: number }): number =>
  (stamp.sec * 1e9 + stamp.nanosec - startNs) / 1e9;

/** Played in the first test. */
const ONCE_S = 5;
const folder = mkdtempSync(join(tmpdir(), 'oxygen-live-'));
const frameLog = join(folder, 'node.jsonl');
let node: NodeProcess;
let peer: Peer;

beforeAll(async () => {
  node = NodeProcess.start('demo', 'demo.yaml', {
    use_sim_time: true,
    max_tokens: 512,
    status_rate_hz: 10,
    threads: 1,
    frame_log: frameLog,
  });
  peer = await Peer.start();
  await peer.waitForMessage('status', ({ lifecycle }) => lifecycle === 'active');
}, 40_000);

afterAll(async () => {
  try {
    expect(await node.end()).toMatchObject({ code: 0 });
    expect(peer.errors).not.toMatch(/Traceback/);
    await peer.end();
  } finally {
    killAll();
    rmSync(folder, { recursive: true, force: true });
  }
});

const between = (topic: string, from: number, to: number): readonly PeerEvent[] =>
  peer.messages(topic).filter(({ t }) => t >= from && t < to);

const chunks = (from: number, to: number): readonly PeerEvent['msg'][] =>
  between('action_chunk', from, to).map(event => event.msg);

const lastEpoch = (): number => (peer.messages('action_chunk').at(-1)?.msg.epoch as number) ?? -1;

/** Longest time without a message, s. */
const longestGap = (events: readonly PeerEvent[]): number =>
  Math.max(...events.slice(1).map(({ t }, i) => t - events[i]!.t));

test('played once: chunks answer frames of the bag, in its time, and commands come while it runs', async () => {
  const seconds = ONCE_S;
  const player = new Player(['--playback-duration', String(seconds)]);
  const started = await player.event('started');
  const finished = await player.event('finished');
  expect(await player.ended()).toBe(0);
  await sleep(500);

  const made = chunks(0, Infinity);
  expect(made.length).toBeGreaterThan(finished.counts[CAMERA]! / 5);
  // The stamp of a frame is that of its newest part.
  const stamps = new Set(
    [CAMERA, '/joint_states'].flatMap(topic => recorded(topic).map(({ stamp }) => stamp)),
  );
  expect(made.map(chunk => stampNs(chunk.observation_stamp)).filter(stamp => !stamps.has(stamp))).toEqual([]);
  const observed = made.map(chunk => inBag(chunk.observation_stamp));
  expect(observed).toEqual([...observed].sort((a, b) => a - b));
  // A later chunk continues the playing one, so its beginning may lie before its observation.
  for (const { stamp } of made) {
    expect(inBag(stamp)).toBeGreaterThan(-0.5);
    expect(inBag(stamp)).toBeLessThan(seconds);
  }

  const actions = peer.messages('action');
  expect(actions.length).toBeGreaterThan(seconds * 30);
  expect(actions[0]!.t).toBeGreaterThan(started.t);
  expect(actions.at(-1)!.t).toBeLessThan(finished.t + STILL_S + LATE_S);
  expect(longestGap(actions)).toBeLessThan(STALL_S);

  const asked = recorded('/language_request').filter(
    ({ log }) => Number(log) - startNs < (seconds - 1) * 1e9,
  );
  expect(asked.length).toBeGreaterThan(4);
  for (const { id } of asked) {
    const ended = (msg: PeerEvent['msg']): boolean => msg.request_id === id && msg.finish_reason !== '';
    const { msg } = await peer.waitForMessage('language/tokens', ended, 5000);
    expect(msg.finish_reason).toBe('end');
    expect(inBag(msg.stamp)).toBeGreaterThan(0);
  }
  const last = [...recorded('/instruction')]
    .reverse()
    .find(({ log }) => Number(log) - startNs < seconds * 1e9);
  expect(peer.messages('status').at(-1)!.msg.instruction).toBe(last!.text);
}, 30_000);

test('what entered the engine, and its chunks, are those of a replay of the same bag', async () => {
  const live = framesOf(frameLog);
  const chunksLive = new Map(
    peer.messages('action_chunk').map(({ msg }) => [stampNs(msg.observation_stamp), msg.values as number[]]),
  );
  const [replayLog, out] = [join(folder, 'replay.jsonl'), join(folder, 'replay.mcap')];
  const engine = ['--engine', join(ENGINES, 'demo'), '--robot', join(ROBOTS, 'demo.yaml'), '--threads', '1'];
  const { code, stderr } = await oxygen([
    ...['replay', SAMPLE, ...engine, '--duration', String(ONCE_S), '--cost', costFile(folder)],
    ...['--frame-log', replayLog, '--out', out],
  ]);
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  const replayed = new Map(framesOf(replayLog).map(frame => [frame.stamp, frame]));
  const chunksReplayed = new Map(
    bagContents(out)['/action_chunk']!.messages.map(({ stamp, values }) => [stamp!, values!]),
  );

  for (const frame of [...live, ...replayed.values()])
    expect([frame.stamp, isOfBag(frame, contents)]).toEqual([frame.stamp, true]);

  // Nearly all on a quiet machine. On a busy one other messages come first, or get lost, and others are paired.
  const common = live.filter(({ stamp }) => replayed.has(stamp));
  const equal = common.filter(frame => isDeepStrictEqual(frame, replayed.get(frame.stamp)));
  expect(common.length).toBeGreaterThan(live.length * 0.4);
  expect(equal.length).toBeGreaterThan(common.length * 0.7);

  const answered = equal.filter(({ stamp }) => chunksLive.has(stamp));
  expect(answered.length).toBeGreaterThan(equal.length * 0.8);
  for (const { stamp } of answered) expect(chunksLive.get(stamp)).toEqual(chunksReplayed.get(stamp));

  // So are those of the node that was recorded; its engine may have been built on another kind of processor.
  const before = recorded('/action_chunk').filter(({ stamp }) => chunksReplayed.has(stamp!));
  expect(before.length).toBeGreaterThan(replayed.size * 0.8);
  const near = before.filter(({ stamp, values }) =>
    values!.every((value, i) => Math.abs(value - chunksReplayed.get(stamp!)![i]!) < 1e-3),
  );
  expect(near.length).toBeGreaterThan(before.length * 0.9);
}, 40_000);

test('in a loop: after each jump back everything begins anew and nothing stays silent (O-06)', async () => {
  const seconds = 4;
  const player = new Player(['--loop', '--playback-duration', String(seconds)]);
  const started = await player.event('started');
  await sleep(seconds * 1000 - 400);
  const open = ['long-1', 'long-2'];
  for (const id of open) peer.request({ id, text: 'Scene: ', max_tokens: 512, temperature: 50, seed: 1 });
  const first = await player.event('looped', 1);
  const second = await player.event('looped', 2);
  await sleep(1500);
  player.tell('stop');
  const finished = await player.event('finished');

  expect(node.log.match(/ROS time went back by 3\.\d+ s: everything begins anew/g)).toHaveLength(2);
  for (const id of open) {
    const ended = (msg: PeerEvent['msg']): boolean => msg.request_id === id && msg.finish_reason !== '';
    const { msg, t } = await peer.waitForMessage('language/tokens', ended, 1000);
    expect(msg.finish_reason).toBe('superseded');
    expect(t - first.t).toBeGreaterThan(0);
    expect(t - first.t).toBeLessThan(STALL_S);
  }

  // What is heard around a jump may still be of before it.
  const around = 0.3;
  const laps = [
    [started.t + around, first.t],
    [first.t + around, second.t],
    [second.t + around, finished.t],
  ].map(([from, to]) => ({ made: chunks(from!, to!), actions: between('action', from!, to!) }));
  for (const { made } of laps) {
    const observed = made.map(chunk => inBag(chunk.observation_stamp));
    expect(observed).toEqual([...observed].sort((a, b) => a - b));
    expect(observed[0]).toBeLessThan(1);
  }
  const [lap, next, last] = laps.map(({ made }) => made);
  expect(next!.length).toBeGreaterThan(lap!.length * 0.4);
  expect(inBag(next!.at(-1).observation_stamp)).toBeGreaterThan(seconds - 1);
  expect(last!.length).toBeGreaterThan(3);
  expect(next![0].epoch).toBeGreaterThan(lap!.at(-1).epoch);
  expect(last![0].epoch).toBeGreaterThan(next!.at(-1).epoch);

  for (const { actions } of laps) expect(longestGap(actions)).toBeLessThan(STALL_S);
  const inSecondLap = between('language/tokens', first.t, second.t).filter(
    ({ msg }) => msg.finish_reason === 'end',
  );
  expect(inSecondLap.map(({ msg }) => msg.request_id)).toContain('scene-4');
  const [status] = between('status', first.t + around, second.t);
  expect(inBag(status!.msg.stamp)).toBeLessThan(1);
}, 40_000);

test('paused: no command; resumed, it goes on where it was; a leap ahead begins anew', async () => {
  const player = new Player();
  await player.event('started');
  await sleep(2000);
  player.tell('pause');
  const paused = await player.event('paused');
  await sleep(1300);
  const epoch = lastEpoch();
  const jumps = (node.log.match(/begins anew/g) ?? []).length;
  player.tell('resume');
  const resumed = await player.event('resumed');
  await sleep(700);

  const stillFrom = paused.t + STILL_S + LATE_S;
  expect(resumed.t - stillFrom).toBeGreaterThan(0.8);
  expect(between('action', stillFrom, resumed.t)).toEqual([]);
  expect(between('action_chunk', stillFrom, resumed.t)).toEqual([]);
  expect(between('status', stillFrom, resumed.t).length).toBeGreaterThan(4);
  const [before, after] = [between('action', 0, stillFrom).at(-1)!, between('action', resumed.t, Infinity)];
  expect(after[0]!.t - resumed.t).toBeLessThan(STALL_S);
  const step = (after[0]!.msg.data as number[]).map((value, i) => Math.abs(value - before.msg.data[i]));
  // 4 rad/s at most, in the time of the bag.
  expect(Math.max(...step)).toBeLessThan(4 * (after[0]!.t - resumed.t + LATE_S));
  expect(chunks(resumed.t, Infinity).length).toBeGreaterThan(0);
  expect(lastEpoch()).toBe(epoch);
  expect((node.log.match(/begins anew/g) ?? []).length).toBe(jumps);

  player.tell('seek 12');
  const sought = await player.event('sought');
  await node.says(/ROS time went ahead by \d+\.?\d* s: everything begins anew/, 2000);
  await sleep(1200);
  player.tell('stop');
  const finished = await player.event('finished');
  const made = chunks(sought.t + LATE_S, finished.t);
  expect(made.length).toBeGreaterThan(3);
  expect(made.every(chunk => inBag(chunk.observation_stamp) >= 11.9 && chunk.epoch > epoch)).toBe(true);
  expect(longestGap(between('action', sought.t + LATE_S, finished.t))).toBeLessThan(STALL_S);
}, 30_000);
