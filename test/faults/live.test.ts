/** What a person may do to a running robot: shadow mode, slower, take over, other limits, other rates, stop. */
import { JOINTS } from '../ros/demo-scene';
import { peerClock, sleep, until } from '../ros/harness';
import { lastChange, measured, useRig } from './rig';

const rig = useRig();

const set = async (name: string, value: object): Promise<void> =>
  expect([name, await rig.peer.set(name, value)]).toEqual([
    name,
    expect.objectContaining({ successful: true }),
  ]);
const double = (double_value: number): object => ({ type: 3, double_value });
const text = (string_value: string): object => ({ type: 4, string_value });
const flag = (bool_value: boolean): object => ({ type: 1, bool_value });
const enable = (data: boolean): Promise<unknown> =>
  rig.peer.call('/oxygen/enable', 'std_srvs/srv/SetBool', { data });
const gate = (mode: string): Promise<unknown> =>
  rig.peer.waitForMessage('status', msg => msg.gate === mode, 4000, rig.peer.events.length);

/** Far from where the instruction leads: every chunk moves the arm. */
const far = [1.2, 0.2, -0.5, -0.2];
beforeEach(async () => {
  rig.peer.joints(JOINTS, far, 50);
  await rig.chunk();
});

test('dry_run: `action` leaves a safe command and falls silent, `action_preview` goes on; and back', async () => {
  const { peer } = rig;
  peer.subscribe('action_preview', 'std_msgs/msg/Float64MultiArray');
  await set('dry_run', flag(true));
  await peer.waitForMessage('action_preview', () => true, 2000);
  await sleep(100);
  const from = peer.events.length;
  await sleep(400);
  expect(peer.messages('action', from)).toEqual([]);
  expect(peer.messages('action_preview', from).length).toBeGreaterThan(20);
  expect(peer.messages('status').at(-1)!.msg).toMatchObject({ dry_run: true });
  await set('dry_run', flag(false));
  await sleep(100);
  const back = peer.events.length;
  await sleep(300);
  expect(peer.messages('action_preview', back)).toEqual([]);
  expect(peer.messages('action', back).length).toBeGreaterThan(10);
});

test('speed_scale 0 stands still within 100 ms, and 1 goes on', async () => {
  const { peer } = rig;
  await gate('active');
  await set('speed_scale', double(0));
  const since = peerClock();
  await gate('hold');
  await sleep(300);
  measured('speed_scale 0 → stands still', lastChange(peer, since) - since);
  expect(lastChange(peer, since) - since).toBeLessThan(0.1);
  expect(peer.messages('status').at(-1)!.msg).toMatchObject({
    speed_scale: 0,
    gate_reason: 'speed_scale is 0',
  });
  await set('speed_scale', double(1));
  await gate('active');
});

test('~/enable false holds within 100 ms and refuses chunks by code; true ramps in from the measured pose', async () => {
  const { peer } = rig;
  await gate('active');
  await enable(false);
  const since = peerClock();
  await rig.drops('CHUNK_DISABLED', () => undefined);
  await sleep(300);
  measured('~/enable false → stands still', lastChange(peer, since) - since);
  expect(lastChange(peer, since) - since).toBeLessThan(0.1);
  expect(peer.messages('status').at(-1)!.msg).toMatchObject({ enabled: false, gate: 'hold' });
  const from = peer.events.length;
  await enable(true);
  await gate('active');
  // From the measured pose, and no step larger than the rate limit grants.
  const actions = peer.messages('action', from).map(({ msg }) => msg.data as number[]);
  const pose = actions.findIndex(data => data.every((value, d) => Math.abs(value - far[d]!) < 1e-6));
  expect(pose).toBeGreaterThanOrEqual(0);
  const steps = actions
    .slice(pose + 1)
    .flatMap((data, i) => data.map((v, d) => Math.abs(v - actions[pose + i]![d]!)));
  expect(Math.max(...steps)).toBeLessThan(0.21);
});

test('narrower limits hold from the next command on; wider ones than the robot file are refused', async () => {
  const { peer } = rig;
  expect(await peer.set('limits.yaw.max', double(5))).toMatchObject({
    successful: false,
    reason: expect.stringMatching(/limits\.yaw\.max: 5 is not allowed; a number from -1.6 to 1.6 is wanted/),
  });
  await rig.drops('ACTION_LIMITED', () => void set('limits.shoulder.max', double(0.3)));
  await until('the shoulder inside', 4000, () => peer.messages('action').at(-1)!.msg.data[1] <= 0.3);
  await set('limits.shoulder.max', double(2.2));
});

test('rates and rules change live: commands at 50 Hz, two chunks per second, every aggregation', async () => {
  const { peer } = rig;
  await set('action_rate_hz', double(50));
  await set('replan_rate_hz', { type: 2, integer_value: 4 });
  await set('execution_horizon', { type: 2, integer_value: 5 });
  await sleep(300);
  const from = peer.events.length;
  await sleep(1500);
  const times = peer.messages('action', from).map(event => event.t);
  expect(Math.abs((times.length - 1) / (times.at(-1)! - times[0]!) - 50)).toBeLessThan(2);
  expect(peer.messages('action_chunk', from).length).toBeGreaterThanOrEqual(4);
  expect(peer.messages('action_chunk', from).length).toBeLessThanOrEqual(8);
  await set('replan_rate_hz', double(10));
  for (const rule of ['weighted_average', 'average', 'conservative', 'temporal_ensemble', 'latest_only']) {
    await set('aggregation', text(rule));
    await rig.chunk();
  }
  await set('execution_horizon', { type: 2, integer_value: 0 });
  await set('action_rate_hz', double(70));
  expect(peer.messages('status').at(-1)!.msg.gate).not.toBe('fault');
});
