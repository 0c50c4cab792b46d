/** How the node starts and ends: wrong parameters, signals, SIGKILL, and never a trace of a crash. */
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { demoScene, show } from './demo-scene';
import { ENGINES, NodeProcess, Peer, killAll, peerClock, sleep, until } from './harness';

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

test.each<[string, Readonly<Record<string, unknown>>, RegExp]>([
  ['a rate of 0', { action_rate_hz: 0 }, /CONFIG_INVALID: parameter action_rate_hz: 0/],
  ['a rate in words', { action_rate_hz: 'fast' }, /action_rate_hz: 'fast'/],
  ['no paths', { engine: "''", robot: "''" }, /parameter engine: '' is not allowed/],
])('%s: one coded line, exit code 1', async (_, parameters, line) => {
  const node = NodeProcess.start('demo', 'demo.yaml', parameters);
  expect(await node.exit).toBe(1);
  expect(node.log).toMatch(line);
  expect(node.log).not.toMatch(CRASH);
});

test('raw_units: an engine without statistics runs, and that is said (O-09 a)', async () => {
  const path = join(folder, 'raw');
  cpSync(join(ENGINES, 'demo'), path, { recursive: true });
  const file = join(path, 'engine.json');
  const { normalization, ...manifest } = JSON.parse(readFileSync(file, 'utf8'));
  const missing = { ...normalization, state: 'missing', actions: 'missing' };
  writeFileSync(file, JSON.stringify({ ...manifest, normalization: missing }));
  const node = NodeProcess.start('', 'demo.yaml', { engine: path, raw_units: true });
  await node.says(/raw_units: .*without normalisation statistics/);
  await node.says(/engine raw is ready|engine demo is ready/);
  expect(await node.end()).toMatchObject({ code: 0 });
});

describe('SIGKILL of the node', () => {
  /** What is in shared memory, but for the middleware's own, which it tidies up by itself. */
  const shared = (): string[] => readdirSync('/dev/shm').filter(name => !/^(sem\.)?fastrtps_/.test(name));

  test('its engine ends by itself; the next one starts clean, and commands come within seconds', async () => {
    const before = shared();
    const scene = demoScene(folder);
    const peer = await Peer.start();
    show(peer, scene);
    const first = NodeProcess.start('demo', 'demo.yaml');
    await peer.waitForMessage('action_chunk', () => true);
    const engine = first.enginePid();
    const killed = peerClock();
    await first.end('SIGKILL');
    const from = peer.events.length;
    const second = NodeProcess.start('demo', 'demo.yaml');
    const held = await peer.waitForMessage('action', () => true, 15_000, from);
    console.log(`commands again ${(1000 * (held.t - killed)).toFixed(0)} ms after SIGKILL`);
    show(peer, scene);
    await peer.waitForMessage('action_chunk', () => true, 5000, from);
    await until('the end of the orphan', 5000, () => {
      try {
        return process.kill(engine, 0) && false;
      } catch {
        return true;
      }
    });
    expect(await second.end()).toMatchObject({ code: 0 });
    expect(shared()).toEqual(before);
    await peer.end();
  });
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

test('an instruction that was latched before the node started is heard (O-07 c)', async () => {
  const peer = await Peer.start();
  peer.send('stream', {
    name: 'latched',
    topic: 'instruction',
    type: 'std_msgs/msg/String',
    hz: 1000,
    msg: { data: 'go to the blue block' },
    qos: { durability: 'transient_local', depth: 1 },
  });
  peer.subscribe('instruction', 'std_msgs/msg/String', { durability: 'transient_local' });
  await peer.waitForMessage('instruction', () => true);
  peer.send('unstream', { name: 'latched' });
  await sleep(200);
  const node = NodeProcess.start('demo', 'demo.yaml');
  await node.says(/instruction: go to the blue block/);
  expect(node.log.match(/instruction:/g)).toHaveLength(1);
  expect(await node.end()).toMatchObject({ code: 0 });
});
