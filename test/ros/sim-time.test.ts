/** A bag in a loop (O-06): ROS time follows a best-effort /clock, stands still, and jumps back. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IMAGE_SIZE, JOINTS, demoScene } from './demo-scene';
import { NodeProcess, Peer, killAll, sleep } from './harness';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oxygen-sim-'));
});
afterEach(killAll);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const FRAMES = 10;

test('ten frames, the clock jumps back, the same ten frames', async () => {
  const scene = demoScene(folder);
  expect(readFileSync(scene.imageFile).length).toBe(84 * 84 * 3);
  const node = NodeProcess.start('demo', 'demo.yaml', { use_sim_time: true });
  const peer = await Peer.start();
  await node.says(/engine demo is ready/);
  const qos = { reliability: 'best_effort', depth: 5 };
  const [height, width] = IMAGE_SIZE;

  const play = async (): Promise<void> => {
    for (let frame = 0; frame < FRAMES; frame++) {
      const stamp = { sec: 100, nanosec: frame * 100_000_000 };
      const header = { stamp };
      const image = { header, height, width, encoding: 'rgb8', step: width * 3 };
      peer.publish('/clock', 'rosgraph_msgs/msg/Clock', { clock: stamp }, { qos });
      peer.publish(
        'joint_states',
        'sensor_msgs/msg/JointState',
        { header, name: JOINTS, position: scene.state },
        { qos },
      );
      peer.publish('camera/base_0_rgb/image_raw', 'sensor_msgs/msg/Image', image, {
        qos,
        file: scene.imageFile,
      });
      await sleep(150);
    }
  };
  // Matches the publishers with the node, before anything counts.
  peer.instruction(scene.instruction);
  await node.says(/instruction: /);
  const old = { sec: 50, nanosec: 0 };
  for (let n = 0; n < 5; n++) {
    peer.publish('/clock', 'rosgraph_msgs/msg/Clock', { clock: old }, { qos });
    const header = { stamp: old };
    peer.publish(
      'joint_states',
      'sensor_msgs/msg/JointState',
      { header, name: JOINTS, position: scene.state },
      { qos },
    );
    await sleep(100);
  }

  await play();
  await sleep(500);
  const from = peer.events.length;
  await sleep(500);
  expect(peer.messages('action', from)).toHaveLength(0);
  const first = peer.messages('action_chunk').map(event => event.msg);
  expect(first.length).toBeGreaterThanOrEqual(FRAMES - 2);
  expect(first.every(chunk => chunk.epoch === 0 && chunk.observation_stamp.sec === 100)).toBe(true);

  await play();
  await sleep(500);
  const second = peer.messages('action_chunk', from).map(event => event.msg);
  expect(node.log).toMatch(/ROS time went back by 0\.9 s/);
  expect(second.length).toBeGreaterThanOrEqual(FRAMES - 2);
  expect(second.every(chunk => chunk.epoch === 1 && chunk.observation_stamp.sec === 100)).toBe(true);
  expect(peer.messages('status').at(-1)!.msg.stamp.sec).toBe(100);
  expect(await node.end()).toMatchObject({ code: 0 });
});
