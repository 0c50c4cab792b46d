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
    await node.engineStarts();
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
    () => NodeProcess.start('demo', '', { robot: changed(/kind: position, /g, '') }),
    /ROBOT_FILE_INVALID: .*actions\[0\]\.kind/,
  ],
  [
    'an engine without statistics (O-09 a)',
    () => NodeProcess.start('', 'demo.yaml', { engine: withoutStatistics() }),
    /NORM_STATS_INVALID: .*without normalisation statistics.*--norm-stats FILE.*raw_units/,
  ],
  [
    'steps of a chunk that the engine does not give',
    () =>
      NodeProcess.start('demo', '', { robot: changed('train_hz: 20', 'train_hz: 20, execute_steps: 11') }),
    /ROBOT_FILE_INVALID: .*execute_steps: 11, but a chunk of the engine demo has 10 steps/,
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

/** The demo's robot file with a change. */
function changed(what: string | RegExp, to: string): string {
  const path = join(folder, 'changed.yaml');
  writeFileSync(path, readFileSync(join(ROBOTS, 'demo.yaml'), 'utf8').replace(what, to));
  return path;
}

/** The demo engine as it is built when no statistics are found. */
function withoutStatistics(): string {
  const path = join(folder, 'raw');
  cpSync(join(ENGINES, 'demo'), path, { recursive: true });
  const file = join(path, 'engine.json');
  const { normalization, ...manifest } = JSON.parse(readFileSync(file, 'utf8'));
  const missing = { ...normalization, state: 'missing', actions: 'missing' };
  writeFileSync(file, JSON.stringify({ ...manifest, normalization: missing }));
  return path;
}

test('raw_units: an engine without statistics runs, and that is said (O-09 a)', async () => {
  const node = NodeProcess.start('', 'demo.yaml', { engine: withoutStatistics(), raw_units: true });
  await node.says(/raw_units: .*without normalisation statistics/);
  await node.says(/engine raw is ready|engine demo is ready/);
  expect(await node.end()).toMatchObject({ code: 0 });
});

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
