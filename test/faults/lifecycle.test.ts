/**
 * The lifecycle by services, from the outside, and the remote calls that end a plain rclnodejs node: a transition that
 * does not fit the state, a parameter of a type that is none. Each is answered, with a reason, and the node lives.
 */
import { join } from 'node:path';
import { show } from '../ros/demo-scene';
import { sleep } from '../ros/harness';
import type { PeerEvent } from '../ros/harness';
import { useRig } from './rig';

const CHANGE = 'lifecycle_msgs/srv/ChangeState';
const LABELS = ['configure', 'activate'] as const;

const rig = useRig(it => {
  it.recovers = async () => {
    const state = await stateOf();
    const steps = state === 'unconfigured' ? LABELS : state === 'inactive' ? LABELS.slice(1) : [];
    for (const label of steps) expect([label, await change({ label })]).toEqual([label, true]);
    show(it.peer, it.scene);
    return it.chunk();
  };
  return { parameters: { autostart: false }, preload: join(__dirname, 'throwing.js') };
});

const stateOf = async (): Promise<string> =>
  (await rig.peer.call('/oxygen/get_state', 'lifecycle_msgs/srv/GetState', {})).current_state.label;
const change = async (transition: { id?: number; label?: string }): Promise<boolean> =>
  (await rig.peer.call('/oxygen/change_state', CHANGE, { transition })).success;

/** What each parameter call of these says. */
const set = (name: string, value: object): Promise<unknown> => rig.peer.set(name, value);

test('all transitions by their services, each told; topics are there while configured, commands while active', async () => {
  const { peer, node } = rig;
  expect(node.log).not.toMatch(
    /active.*configuring.*activating[^]*engine demo is ready[^]*engine demo is ready/,
  );
  peer.subscribe('/oxygen/transition_event', 'lifecycle_msgs/msg/TransitionEvent', { depth: 50 });
  await sleep(300);
  const from = peer.events.length;
  expect(await change({ label: 'deactivate' })).toBe(true);
  // Silent: the last command was a safe one.
  await sleep(100);
  const silent = peer.events.length;
  await sleep(300);
  expect(peer.messages('action', silent)).toEqual([]);
  const last = peer
    .messages('action')
    .slice(-2)
    .map(({ msg }) => msg.data);
  expect(last[1]).toEqual(last[0]);
  // What comes while inactive is not kept.
  expect(await change({ id: 2 })).toBe(true); // cleanup
  expect(await stateOf()).toBe('unconfigured');
  expect(peer.messages('status').at(-1)!.msg).toMatchObject({ state: 'starting', gate: 'off' });
  const available = await peer.call(
    '/oxygen/get_available_transitions',
    'lifecycle_msgs/srv/GetAvailableTransitions',
    {},
  );
  const labels = available.available_transitions.map((each: PeerEvent['msg']) => each.transition.label);
  expect(labels).toEqual(['configure', 'shutdown']);
  await rig.recovers();
  const path = peer.messages('/oxygen/transition_event', from).map(({ msg }) => msg.goal_state.label);
  expect(path).toEqual([
    'deactivating', 'inactive', 'cleaningup', 'unconfigured', 'configuring', 'inactive', 'activating', 'active',
  ]); // prettier-ignore
  const graph = await peer.call(
    '/oxygen/get_transition_graph',
    'lifecycle_msgs/srv/GetAvailableTransitions',
    {},
  );
  expect(graph.available_transitions.length).toBeGreaterThan(20);
  const states = await peer.call('/oxygen/get_available_states', 'lifecycle_msgs/srv/GetAvailableStates', {});
  expect(states.available_states).toHaveLength(11);
});

test('the node heard an instruction while inactive; requests are refused by code then', async () => {
  const { peer } = rig;
  expect(await change({ label: 'deactivate' })).toBe(true);
  await rig.drops('NOT_ACTIVE', () => peer.request({ id: 'too early', text: 'Scene: ' }));
  const answer = await peer.waitForMessage('language/tokens', msg => msg.request_id === 'too early', 2000);
  expect(answer.msg.finish_reason).toBe('rejected');
  const from = peer.events.length;
  await sleep(200);
  expect(peer.messages('action_chunk', from)).toEqual([]);
});

// The probes of fact 5 of the design notes, and those of their kind that rclpy can send. A request of a service that
// is damaged on the wire is not among them: no client library sends one.
const probes: readonly (readonly [string, () => Promise<unknown>, unknown])[] = [
  ['ChangeState to a transition that there is not', () => change({ id: 200 }), false],
  ['ChangeState by a label that there is not', () => change({ label: 'explode' }), false],
  ['ChangeState to activate, while active', () => change({ id: 3, label: 'activate' }), false],
  ['ChangeState to cleanup, while active', () => change({ id: 2 }), false],
  ['ChangeState to an outcome, which nobody can ask for', () => change({ id: 10 }), false],
  ['SetParameters with type 99', () => set('tokens_per_frame', { type: 99 }), refusal(/./)],
  [
    'SetParametersAtomically with type 99, in the midst of good ones',
    () => atomically(['speed_scale', { type: 3, double_value: 0.5 }], ['tokens_per_frame', { type: 99 }]),
    refusal(/./),
  ],
  [
    'SetParameters with a string for a number',
    () => set('replan_rate_hz', { type: 4, string_value: 'fast' }),
    refusal(/replan_rate_hz: 'fast' is not allowed; a number from 0 to 1000 is wanted/),
  ],
  [
    'SetParameters of a name that there is not',
    () => set('no_such', { type: 2, integer_value: 1 }),
    refusal(/there is no parameter no_such/),
  ],
  [
    'SetParameters that removes one',
    () => set('tokens_per_frame', { type: 0 }),
    refusal(/parameter tokens_per_frame cannot be removed/),
  ],
  [
    'SetParameters of a fixed one',
    () => set('engine', { type: 4, string_value: '/x' }),
    refusal(/parameter engine is read-only/),
  ],
  [
    'SetParameters with NaN',
    () => set('replan_rate_hz', { type: 3, double_value: 'nan' }),
    refusal(/replan_rate_hz: NaN is not allowed/),
  ],
  [
    'SetParameters out of range',
    () => set('tokens_per_frame', { type: 2, integer_value: -1 }),
    refusal(/tokens_per_frame: -1 is not allowed; an integer from 0 to 1000 is wanted/),
  ],
  ['DescribeParameters of names that there are not', () => describe_(['no_such', '']), expect.anything()],
  ['GetParameters of names that there are not', () => get(['no_such', '']), expect.anything()],
];

function refusal(reason: RegExp): object {
  return { successful: false, reason: expect.stringMatching(reason) };
}

const parameters = (service: string, type: string, request: object): Promise<PeerEvent['response']> =>
  rig.peer.call(`/oxygen/${service}`, `rcl_interfaces/srv/${type}`, request);
const get = (names: readonly string[]): Promise<PeerEvent['response']> =>
  parameters('get_parameters', 'GetParameters', { names });
const describe_ = async (names: readonly string[]): Promise<PeerEvent['response']> =>
  (await parameters('describe_parameters', 'DescribeParameters', { names })).descriptors;
const atomically = async (...pairs: readonly (readonly [string, object])[]): Promise<unknown> => {
  const all = pairs.map(([name, value]) => ({ _type: 'rcl_interfaces/msg/Parameter', name, value }));
  return (await parameters('set_parameters_atomically', 'SetParametersAtomically', { parameters: all }))
    .result;
};

test.each(probes)('%s: answered, and the node goes on', async (_, probe, answer) => {
  expect(await probe()).toEqual(answer);
  expect(await stateOf()).toBe('active');
});

test('twenty calls that make no sense are counted, and are no reason to stop', async () => {
  for (let n = 0; n < 20; n++) await set('tokens_per_frame', { type: 99 });
  expect(await stateOf()).toBe('active');
  await rig.drops('CALL_INVALID', () => void set('tokens_per_frame', { type: 99 }));
  expect(rig.peer.drops()['CALL_INVALID']).toBeGreaterThanOrEqual(20);
});

test('a callback that throws ten times within 10 s: counted, told, and the node deactivates safely', async () => {
  const { peer, scene } = rig;
  const from = peer.events.length;
  peer.image('base_0_rgb', scene.imageFile, [13, 84], 30);
  await peer.waitForMessage('status', msg => msg.lifecycle === 'inactive', 4000, from);
  expect(peer.drops()['INTERNAL']).toBeGreaterThanOrEqual(10);
  await rig.says('lifecycle', ({ values }) => Number(values['callback_exceptions']) >= 10, 2000, from);
  // The last command was a safe one, and none follows.
  const silent = peer.events.length;
  await sleep(300);
  expect(peer.messages('action', silent)).toEqual([]);
});

test('descriptors say type, range and whether a parameter can change', async () => {
  const [rate, engine, aggregation, limit] = await describe_([
    'action_rate_hz', 'engine', 'aggregation', 'limits.elbow.max',
  ]); // prettier-ignore
  expect(rate).toMatchObject({
    type: 3,
    read_only: false,
    floating_point_range: [{ from_value: 1, to_value: 500 }],
  });
  expect(engine).toMatchObject({ type: 4, read_only: true });
  expect(aggregation.additional_constraints).toMatch(/latest_only, weighted_average/);
  expect(limit.floating_point_range).toMatchObject([{ from_value: -2.75, to_value: 0 }]);
});

test('an integer is as good as a double, and a 64-bit integer keeps its last digit (O-29)', async () => {
  expect(await set('action_rate_hz', { type: 2, integer_value: 70 })).toMatchObject({ successful: true });
  const { values } = await get(['action_rate_hz', 'seed']);
  expect(values[0]).toMatchObject({ type: 3, double_value: 70 });
  expect(values[1]).toMatchObject({ type: 2, integer_value: 0 });
});
