/** How the node starts and ends: configuration errors, signals, and never a trace of a crash. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { demoScene, show } from './demo-scene';
import { ENGINES, NodeProcess, Peer, ROBOTS, killAll, sleep } from './harness';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oxygen-lifetime-'));
});
afterEach(killAll);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const CRASH = /SIGSEGV|Abort|terminate|at .*\.js:\d+|has been shut down|publisher.*invalid/;

describe.each(['SIGINT', 'SIGTERM'] as const)('%s', signal => {
  test('while idle', async () => {
    const node = NodeProcess.start('demo', 'demo.yaml');
    await node.says(/engine demo is ready/);
    const { code, ms } = await node.end(signal);
    expect(code).toBe(0);
    expect(ms).toBeLessThan(5000);
    expect(node.log).not.toMatch(CRASH);
  });

  test('while runs are in flight: the last command is a safe one, and nothing is published after', async () => {
    const node = NodeProcess.start('demo', 'demo.yaml');
    const peer = await Peer.start();
    await node.says(/engine demo is ready/);
    show(peer, demoScene(folder));
    await peer.waitForMessage('action_chunk', () => true);
    for (let n = 0; n < 4; n++)
      peer.request({ id: `${n}`, text: 'Scene: ', temperature: 50, max_tokens: 64 });
    await peer.waitForMessage('language/tokens', () => true);
    const { code, ms } = await node.end(signal);
    expect(code).toBe(0);
    expect(ms).toBeLessThan(5000);
    expect(node.log).not.toMatch(CRASH);
    await sleep(200);
    const count = peer.events.length;
    await sleep(300);
    expect(peer.events.length).toBe(count);
    expect(peer.messages('status').at(-1)!.msg.state).toBe('stopping');
  });

  test('while the engine is still loading', async () => {
    const node = NodeProcess.start('demo', 'demo.yaml');
    await sleep(900);
    const { code, ms } = await node.end(signal);
    expect(code).toBe(0);
    expect(ms).toBeLessThan(5000);
    expect(node.log).not.toMatch(CRASH);
  });

  test('twice, 50 ms apart', async () => {
    const node = NodeProcess.start('demo', 'demo.yaml');
    await node.says(/engine demo is ready/);
    setTimeout(() => node.child.kill(signal), 50);
    expect(await node.end(signal)).toMatchObject({ code: 0 });
    expect(node.log).not.toMatch(CRASH);
  });
});

test.each<[string, () => NodeProcess, RegExp]>([
  ['no engine at that path', () => NodeProcess.start('nowhere', 'demo.yaml'), /ENGINE_NOT_FOUND: .*nowhere/],
  [
    'an engine that is incomplete',
    () => NodeProcess.start('../broken', 'demo.yaml', { engine: broken() }),
    /ENGINE_INVALID: /,
  ],
  [
    'no robot file',
    () => NodeProcess.start('demo', 'nobody.yaml'),
    /ROBOT_FILE_INVALID: .*nobody\.yaml: cannot be read/,
  ],
  [
    'a robot file for another engine',
    () => NodeProcess.start('demo', 'tiny.yaml'),
    /ROBOT_FILE_INVALID: .*tiny\.yaml: cameras\.left/,
  ],
  [
    'a robot file without kinds',
    () => NodeProcess.start('demo', '', { robot: kindless() }),
    /ROBOT_FILE_INVALID: .*actions\[0\]\.kind/,
  ],
  [
    'a rate of 0',
    () => NodeProcess.start('demo', 'demo.yaml', { action_rate_hz: 0 }),
    /CONFIG_INVALID: parameter action_rate_hz: 0/,
  ],
  [
    'a rate in words',
    () => NodeProcess.start('demo', 'demo.yaml', { action_rate_hz: 'fast' }),
    /action_rate_hz: 'fast'/,
  ],
  [
    'no parameters at all',
    () => NodeProcess.start('demo', 'demo.yaml', { engine: "''", robot: "''" }),
    /parameter engine: '' is not allowed/,
  ],
])('%s: one coded line, exit code 1', async (_, start, line) => {
  const node = start();
  expect(await node.exit).toBe(1);
  expect(node.log).toMatch(line);
  expect(node.log).not.toMatch(CRASH);
});

function broken(): string {
  const path = join(folder, 'broken');
  cpSync(join(ENGINES, 'demo'), path, { recursive: true });
  rmSync(join(path, 'expert.onnx'));
  return path;
}

function kindless(): string {
  const path = join(folder, 'kindless.yaml');
  writeFileSync(path, readFileSync(join(ROBOTS, 'demo.yaml'), 'utf8').replace(/kind: position, /g, ''));
  return path;
}

test('integers for doubles, 64-bit seeds and unknown names (O-29)', async () => {
  const node = NodeProcess.start('demo', 'demo.yaml', {
    action_rate_hz: 70,
    seed: 9007199254740993n,
    acton_rate: 5,
  });
  await node.says(/engine demo is ready/);
  expect(node.log).toMatch(/unknown parameter acton_rate is ignored; did you mean action_rate_hz\?/);
  const peer = await Peer.start();
  const names = ['seed', 'action_rate_hz'];
  const answer = await peer.call('/oxygen/get_parameters', 'rcl_interfaces/srv/GetParameters', { names });
  expect(JSON.stringify(answer)).toContain('"double_value":70');
  expect(await node.end()).toMatchObject({ code: 0 });
});

test('remaps, namespace and name as in every ROS node', async () => {
  const node = NodeProcess.start('demo', 'demo.yaml', {}, [
    '-r', '__ns:=/arm', '-r', '__node:=vla', '-r', 'joint_states:=/robot/joints', '-r', 'status:=health',
  ]); // prettier-ignore
  const peer = await Peer.start();
  peer.subscribe('/arm/health', 'oxygen_vla/msg/Status', { durability: 'transient_local' });
  await peer.waitForMessage('/arm/health', msg => msg.state === 'holding');
  await peer.listening('/robot/joints');
  await peer.listening('/arm/camera/base_0_rgb/image_raw');
  expect(await peer.call('/arm/vla/reset', 'std_srvs/srv/Trigger', {})).toMatchObject({ success: true });
  expect(await node.end()).toMatchObject({ code: 0 });
});
