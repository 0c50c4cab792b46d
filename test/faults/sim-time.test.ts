/** Simulated time: a bag in a loop (O-06), a clock that jumps ahead, one that stops. */
import { IMAGE_SIZE, JOINTS } from '../ros/demo-scene';
import { SENSOR, sleep, until } from '../ros/harness';
import type { PeerEvent } from '../ros/harness';
import { seconds, useRig } from './rig';

const FRAMES = 10;
let now = 50;

const rig = useRig(it => {
  // Two seconds of a bag before the first loop: the pose is known, both sides have found each other.
  it.recovers = async () => {
    it.peer.instruction(it.scene.instruction);
    const from = it.peer.events.length;
    for (let n = 0; n < 40 && it.peer.messages('action_chunk', from).length === 0; n++)
      await frame(now + 0.1);
    return (await it.peer.waitForMessage('action_chunk', () => true, 1000, from)).msg;
  };
  return { parameters: { use_sim_time: true, replan_rate_hz: 0, max_tokens: 512 } };
});

const stampOf = (at: number): object => ({
  sec: Math.floor(at + 1e-6),
  nanosec: (Math.round(at * 10) % 10) * 1e8,
});

function clock(at: number): void {
  now = at;
  rig.peer.publish('/clock', 'rosgraph_msgs/msg/Clock', { clock: stampOf(at) }, { qos: SENSOR });
}

/** The clock, and a moment later what was seen then. */
async function frame(at: number): Promise<void> {
  const { peer, scene } = rig;
  const [height, width] = IMAGE_SIZE;
  const header = { stamp: stampOf(at) };
  clock(at);
  await sleep(40);
  const state = { header, name: JOINTS, position: scene.state };
  peer.publish('joint_states', 'sensor_msgs/msg/JointState', state, { qos: SENSOR });
  const image = { header, height, width, encoding: 'rgb8', step: width * 3 };
  const file = { qos: SENSOR, file: scene.imageFile };
  peer.publish('camera/base_0_rgb/image_raw', 'sensor_msgs/msg/Image', image, file);
  await sleep(80);
}

const seen = (from: number): readonly PeerEvent['msg'][] =>
  rig.peer.messages('action_chunk', from).map(event => event.msg);

test('ten frames, the clock jumps back, the same ten frames: twenty inferences (O-06)', async () => {
  const { node, peer } = rig;
  const play = async (): Promise<void> => {
    for (let n = 0; n < FRAMES; n++) {
      const from = peer.events.length;
      await frame(100 + n / 10);
      // On a busy machine the next one would take its place.
      await until('its chunk', 400, () => seen(from).length > 0).catch(() => undefined);
    }
  };
  // Into the time of the bag: a jump ahead of its own.
  clock(99.8);
  await sleep(100);
  clock(99.9);
  await sleep(100);
  const first = peer.events.length;
  const epoch = seen(0).at(-1).epoch as number;
  await play();
  await sleep(200);
  const second = peer.events.length;
  const requests = ['a', 'b'];
  for (const id of requests) peer.request({ id, text: 'Scene: ', max_tokens: 512, temperature: 50, seed: 1 });
  // Topics have no order among each other: one thing after the other, whatever the machine does.
  const begun = ({ msg }: PeerEvent): boolean => requests.includes(msg.request_id);
  await until('both texts', 2000, () => new Set(peer.messages('language/tokens').filter(begun).map(({ msg }) => msg.request_id)).size === 2); // prettier-ignore
  clock(100);
  await node.says(/ROS time went back by 0\.9 s: everything begins anew/, 2000);
  await play();
  await sleep(200);

  const [before, after] = [seen(first).slice(0, -seen(second).length), seen(second)];
  const stamps = Array.from({ length: FRAMES }, (_, n) => stampOf(100 + n / 10));
  expect(before.map(chunk => chunk.observation_stamp)).toEqual(stamps);
  // The one in flight at the jump may be thrown away; then that is counted.
  const lost = peer.drops()['CHUNK_SUPERSEDED'] ?? 0;
  expect(after.length).toBeGreaterThanOrEqual(FRAMES - Math.min(1, lost));
  expect(stamps.slice(-after.length)).toEqual(after.map(chunk => chunk.observation_stamp));
  expect(before.every(chunk => chunk.epoch === epoch + 1)).toBe(true);
  expect(after.every(chunk => chunk.epoch === epoch + 2)).toBe(true);
  for (const id of requests) {
    const ended = (msg: PeerEvent['msg']): boolean => msg.request_id === id && msg.finish_reason !== '';
    expect((await peer.waitForMessage('language/tokens', ended, 2000)).msg.finish_reason).toBe('superseded');
  }
  const status = await peer.waitForMessage('status', () => true, 2000, peer.events.length);
  expect(status.msg.stamp).toEqual(stampOf(100.9));
});

test('the clock jumps ahead: nothing from before is played', async () => {
  const { node, peer } = rig;
  const epoch = seen(0).at(-1).epoch as number;
  clock(now + 1000);
  await node.says(/ROS time went ahead by \d+\.?\d* s: everything begins anew/, 2000);
  const from = peer.events.length;
  await frame(now + 0.1);
  await frame(now + 0.1);
  // What is heard now may still be of before.
  const ofNow = (msg: PeerEvent['msg']): boolean => seconds(msg.observation_stamp) > now - 1;
  const { msg } = await peer.waitForMessage('action_chunk', ofNow, 2000, from);
  expect(msg.epoch).toBe(epoch + 1);
});

test('the clock stops: no command goes out, and no inference is made of what it cannot date', async () => {
  const { peer } = rig;
  await frame(now + 0.1);
  await sleep(300);
  const from = peer.events.length;
  await sleep(600);
  expect(peer.messages('action', from)).toEqual([]);
  expect(peer.messages('action_chunk', from)).toEqual([]);
  // Alive meanwhile.
  expect(peer.messages('status', from).length).toBeGreaterThan(3);
  await frame(now + 0.1);
  expect(peer.messages('action', from).length).toBeGreaterThan(0);
});
