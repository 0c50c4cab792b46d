/** Peers that do not fit: QoS, types, rivals, twins, peers that vanish; and two nodes side by side. */
import { IMAGE_SIZE, JOINTS, show } from '../ros/demo-scene';
import { NodeProcess, Peer, SENSOR, peerClock, sleep } from '../ros/harness';
import { measured, useRig } from './rig';

// The joint states are asked for as reliable: the peer of this file publishes them so.
const rig = useRig(it => {
  it.recovers = () => {
    show(it.peer, it.scene);
    joints();
    return it.chunk();
  };
  return { parameters: { 'qos_overrides./joint_states.subscription.reliability': 'reliable' } };
});

const STRING = 'std_msgs/msg/String';
const ARRAY = 'std_msgs/msg/Float64MultiArray';

function joints(qos: object = { depth: 5 }): void {
  const msg = { name: JOINTS, position: rig.scene.state };
  const fields = {
    name: 'joint_states',
    topic: 'joint_states',
    type: 'sensor_msgs/msg/JointState',
    msg,
    stamp: 0,
  };
  rig.peer.send('stream', { ...fields, hz: 50, qos });
}

/** A peer that does something to our topics; told by both names within 2 s, and gone again when it goes. */
async function told(
  name: string,
  does: (peer: Peer) => void,
  says: RegExp,
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const peer = await Peer.bare(name);
  // Its machine is known: what is measured is how soon its fault is.
  await peer.listening('language_request');
  const from = rig.peer.events.length;
  const since = peerClock();
  does(peer);
  const found = await rig.says('graph', ({ message }) => says.test(message), 5000, from);
  measured(`${name} → diagnostics`, found.t - since);
  expect(found.t - since).toBeLessThan(2);
  expect(found.message).toContain(`/${name}`);
  expect(rig.node.log).toMatch(says);
  await meanwhile();
  const gone = rig.peer.events.length;
  await peer.end();
  await rig.says('graph', ({ message }) => !message.includes(`/${name}`), 4000, gone);
}

const stream = (peer: Peer, topic: string, type: string, qos: object): void =>
  peer.send('stream', { name: topic, topic, type, msg: {}, qos, hz: 5 });

test('a publisher that offers less than we ask for', async () => {
  await told(
    'best_effort_talker',
    peer => stream(peer, 'instruction', STRING, { reliability: 'best_effort' }),
    /\/instruction: \/best_effort_talker publishes best effort, \/oxygen subscribes to it reliable, so nothing arrives/,
  );
});

test('a subscriber that asks for more than we offer', async () => {
  await told(
    'latched_listener',
    peer => peer.subscribe('action', ARRAY, { durability: 'transient_local' }),
    /\/action: \/latched_listener subscribes to transient local, \/oxygen publishes it volatile, so nothing arrives/,
  );
});

test('another type on one of our topics', async () => {
  await told(
    'other_type',
    peer => stream(peer, 'instruction', 'std_msgs/msg/Int32', {}),
    /\/instruction: \/other_type publishes std_msgs\/msg\/Int32, \/oxygen subscribes to std_msgs\/msg\/String/,
  );
});

test('a policy that a parameter has changed counts (O-07): best effort joints do not reach a reliable subscription', async () => {
  const { peer } = rig;
  const from = peer.events.length;
  peer.send('retire', { topic: 'joint_states', qos: { depth: 5 } });
  joints(SENSOR);
  const says = /\/joint_states: \/test_peer publishes best effort, \/oxygen subscribes to it reliable/;
  await rig.says('graph', ({ message }) => says.test(message), 4000, from);
  await rig.says('input joint_states', ({ level }) => level === 2, 3000, from);
  peer.send('retire', { topic: 'joint_states', qos: SENSOR });
});

test('another publisher of commands: told, and the node does not become active beside it', async () => {
  const { peer } = rig;
  const change = (label: string): Promise<unknown> =>
    peer.call('/oxygen/change_state', 'lifecycle_msgs/srv/ChangeState', { transition: { label } });
  await told(
    'rival',
    rival => stream(rival, 'action', ARRAY, {}),
    /\/action: \/rival publishes here too, so two nodes command the robot at once/,
    async () => {
      expect(await change('deactivate')).toEqual({ success: true });
      await rig.drops('OTHER_PUBLISHER', () => void change('activate'));
      await rig.says('lifecycle', ({ message }) => /OTHER_PUBLISHER: .*\/rival/.test(message), 2000);
      // In shadow mode it may.
      expect(await peer.set('dry_run', { type: 1, bool_value: true })).toMatchObject({ successful: true });
      expect(await change('activate')).toEqual({ success: true });
    },
  );
  expect(await peer.set('dry_run', { type: 1, bool_value: false })).toMatchObject({ successful: true });
});

test('a peer with our name is told', async () => {
  const from = rig.peer.events.length;
  const twin = await Peer.bare('oxygen');
  const says = /2 nodes are called \/oxygen/;
  const since = peerClock();
  const found = await rig.says('graph', ({ message }) => says.test(message), 4000, from);
  expect(found.t - since).toBeLessThan(2);
  await twin.end();
});

test('the camera’s machine loses power: told as any silence, and another one takes its place', async () => {
  const { peer, scene } = rig;
  const topic = 'camera/base_0_rgb/image_raw';
  peer.send('unstream', { name: topic });
  const from = peer.events.length;
  const [camera, second] = await Promise.all([Peer.bare('camera_host'), Peer.bare('camera_host_2')]);
  camera.image('base_0_rgb', scene.imageFile, IMAGE_SIZE, 30);
  await rig.chunk();
  const lost = peer.events.length;
  camera.kill();
  await rig.says(`input ${topic}`, ({ message }) => message.startsWith('Timeout'), 3000, lost);
  second.image('base_0_rgb', scene.imageFile, IMAGE_SIZE, 30);
  await rig.chunk();
  await second.end();
  expect(peer.messages('status', from).every(({ msg }) => msg.state !== 'engine_down')).toBe(true);
});

test('a second node with a namespace, a name, remaps and the other type of `action`: each hears its own', async () => {
  const { peer, scene } = rig;
  const second = NodeProcess.start(
    'demo',
    'demo.yaml',
    { action_type: 'joint_trajectory', threads: 1, replan_rate_hz: 10 },
    ['-r', '__ns:=/arm', '-r', '__node:=vla', '-r', 'joint_states:=/robot/joints', '-r', 'status:=health'],
  );
  const other = await Peer.bare('arm_peer');
  other.subscribe('/arm/health', 'oxygen_vla/msg/Status', { durability: 'transient_local' });
  other.subscribe('/arm/action', 'trajectory_msgs/msg/JointTrajectory');
  other.subscribe('/arm/action_chunk', 'oxygen_vla/msg/ActionChunk');
  await second.says(/activating -> active/);
  await other.listening('/robot/joints');
  await other.listening('/arm/camera/base_0_rgb/image_raw');
  other.publish('/arm/instruction', STRING, { data: 'reach the green block' });
  await other.waitForMessage('/arm/health', msg => msg.instruction === 'reach the green block', 4000);
  const [height, width] = IMAGE_SIZE;
  const image = { height, width, encoding: 'rgb8', step: width * 3 };
  const camera = '/arm/camera/base_0_rgb/image_raw';
  const stamped = { stamp: 0, qos: SENSOR, hz: 20 };
  other.send('stream', {
    name: 'c',
    topic: camera,
    type: 'sensor_msgs/msg/Image',
    msg: image,
    file: scene.imageFile,
    ...stamped,
  });
  const state = { name: JOINTS, position: scene.state };
  other.send('stream', {
    name: 'j',
    topic: '/robot/joints',
    type: 'sensor_msgs/msg/JointState',
    msg: state,
    ...stamped,
  });
  await other.waitForMessage('/arm/action_chunk', () => true, 5000);
  const { msg } = await other.waitForMessage('/arm/action', () => true, 2000);
  expect(msg).toMatchObject({ joint_names: JOINTS, points: [{ positions: expect.any(Array) }] });
  expect(msg.points[0].positions).toHaveLength(4);
  expect(await other.call('/arm/vla/reset', 'std_srvs/srv/Trigger', {})).toMatchObject({ success: true });
  expect(peer.messages('status').at(-1)!.msg.instruction).toBe(scene.instruction);
  await sleep(100);
  await other.end();
  expect(await second.end()).toMatchObject({ code: 0 });
});
