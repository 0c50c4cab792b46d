/** Joint states that cannot be used, and those that only look odd (O-08). */
import { JOINTS } from '../ros/demo-scene';
import { SENSOR, peerClock, sleep } from '../ros/harness';
import { measured, useRig } from './rig';

const rig = useRig();
const PART = 'input joint_states';

test.each<[string, readonly string[], readonly unknown[], RegExp]>([
  [
    'two joints are missing',
    ['yaw', 'shoulder'],
    [0, 0],
    /the joint state lacks elbow, wrist; it has yaw, shoulder/,
  ],
  ['one is NaN', JOINTS, [0, 'nan', 0, 0], /the joint state is not a finite number for shoulder/],
  ['fewer positions than names (O-08)', JOINTS, [0, 0], /the joint state has 4 names but only 2 positions/],
  ['one is listed twice', ['yaw', ...JOINTS], [0, 0, 0, 0, 0], /the joint state lists yaw twice/],
  ['nothing at all', [], [], /the joint state lacks yaw, shoulder, elbow, wrist; it has no joint/],
])('%s: counted, told by name, no inference, the pose is held', async (_, names, position, says) => {
  const { peer } = rig;
  const from = peer.events.length;
  const since = peerClock();
  await rig.drops('STATE_INVALID', () => peer.joints(names, position, 50), 3);
  const told = await rig.says(PART, ({ message }) => says.test(message), 3000, from);
  measured('wrong joint states → diagnostics, after sync.timeout_ms', told.t - since - 0.3);
  expect(told.t - since).toBeLessThan(1.3);
  expect(peer.messages('status').at(-1)!.msg.last_error).toMatch(says);
  await peer.waitForMessage('status', msg => msg.gate === 'hold', 3000, from);
  const held = peer.events.length;
  await sleep(200);
  expect(peer.messages('action_chunk', held)).toEqual([]);
  expect(peer.messages('action', held).length).toBeGreaterThan(5);
});

test('bytes that are no joint state', async () => {
  const [name, raw] = ['joint_states', '00010000' + '01000000'.repeat(3) + 'ffffff7f'];
  const fields = { name, topic: name, type: 'sensor_msgs/msg/JointState', msg: {}, qos: SENSOR, hz: 20, raw };
  await rig.drops('STATE_INVALID', () => rig.peer.send('stream', fields), 2);
});

test('another order and a joint too many: taken by name (O-08)', async () => {
  const { peer, scene } = rig;
  peer.joints([...JOINTS, 'gripper'].reverse(), [...scene.state, 7].reverse(), 50);
  await sleep(200);
  await rig.chunk();
  // The first command after a take-over is the measured pose.
  const enable = (data: boolean): Promise<unknown> =>
    peer.call('/oxygen/enable', 'std_srvs/srv/SetBool', { data });
  await enable(false);
  await peer.waitForMessage('status', msg => msg.enabled === false);
  const from = peer.events.length;
  await enable(true);
  await rig.chunk();
  const pose = peer
    .messages('action', from)
    .map(({ msg }) => msg.data as number[])
    .find(data => data.every((value, d) => Math.abs(value - scene.state[d]!) < 1e-6));
  expect(pose).toHaveLength(4);
});
