/**
 * An engine folder or a robot file that cannot be used: `configure` fails with code and path, the node lives, and once
 * the file is mended the same node configures.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { show } from '../ros/demo-scene';
import { ENGINES, ROBOTS } from '../ros/harness';
import { useRig } from './rig';

let engine: string;
let robot: string;

// Starts without any engine.
const rig = useRig(it => {
  engine = join(it.folder, 'engine');
  robot = it.file('robot.yaml', readFileSync(join(ROBOTS, 'demo.yaml')));
  it.recovers = async () => {
    await it.peer.waitForMessage('status', msg => msg.lifecycle === 'unconfigured');
    mend();
    for (const label of ['configure', 'activate']) await change(label);
    show(it.peer, it.scene);
    const chunk = await it.chunk();
    for (const label of ['deactivate', 'cleanup']) await change(label);
    return chunk;
  };
  return { parameters: { engine, robot } };
});

function mend(): void {
  rmSync(engine, { recursive: true, force: true });
  cpSync(join(ENGINES, 'demo'), engine, { recursive: true });
  rmSync(robot, { force: true });
  cpSync(join(ROBOTS, 'demo.yaml'), robot);
}

const ask = (label: string): Promise<{ success: boolean }> =>
  rig.peer.call('/oxygen/change_state', 'lifecycle_msgs/srv/ChangeState', { transition: { label } });
const change = async (label: string): Promise<void> =>
  expect([label, await ask(label)]).toEqual([label, { success: true }]);

/** `configure` answers false; log, status and diagnostics say why. */
async function refused(code: string, says: RegExp): Promise<void> {
  const { node, peer } = rig;
  const from = peer.events.length;
  const logged = node.log.length;
  await rig.drops(
    code,
    () => void ask('configure').then(answer => expect(answer).toEqual({ success: false })),
  );
  await rig.says('lifecycle', ({ level, message }) => level === 2 && says.test(message), 2000, from);
  const status = peer.messages('status').at(-1)!.msg;
  expect(status).toMatchObject({ lifecycle: 'unconfigured', last_error: expect.stringMatching(says) });
  expect(node.log.slice(logged)).toMatch(new RegExp(`not configured: ${code}: `));
}

const rewrite = (file: string, change: (text: string) => string): void =>
  writeFileSync(file, change(readFileSync(file, 'utf8')));
const manifest = (change: (manifest: Record<string, object>) => unknown): void =>
  rewrite(join(engine, 'engine.json'), text => JSON.stringify(change(JSON.parse(text))));

test('there is no engine: the node that has just started says so and lives', async () => {
  expect(rig.node.log).toMatch(/not configured: ENGINE_NOT_FOUND: no engine at .*engine/);
  rmSync(engine, { recursive: true });
  await refused('ENGINE_NOT_FOUND', /no engine at .*engine/);
});

test.each<[string, () => void, string, RegExp]>([
  [
    'a file is missing',
    () => rmSync(join(engine, 'expert.onnx')),
    'ENGINE_INVALID',
    /expert\.onnx is missing/,
  ],
  [
    'a file is cut',
    () => truncateSync(join(engine, 'expert.weights'), 1000),
    'ENGINE_INVALID',
    /expert\.weights has 1000 bytes, 4620288 were written/,
  ],
  [
    'a file is of another engine, of the same size',
    () =>
      writeFileSync(join(engine, 'vision.onnx'), new Uint8Array(statSync(join(engine, 'vision.onnx')).size)),
    'ENGINE_INVALID',
    /vision\.onnx was altered/,
  ],
  [
    'it has no statistics (O-09 a)',
    () =>
      manifest(({ normalization, ...rest }) => ({
        ...rest,
        normalization: { ...normalization, state: 'missing', actions: 'missing' },
      })),
    'NORM_STATS_INVALID',
    /without normalisation statistics/,
  ],
])('engine: %s', async (_, harm, code, says) => {
  mend();
  harm();
  await refused(code, says);
});

test.each<[string, () => void, RegExp]>([
  ['is missing', () => rmSync(robot), /robot\.yaml: cannot be read/],
  [
    'is that of another engine',
    () => cpSync(join(ROBOTS, 'tiny.yaml'), robot),
    /robot\.yaml: cameras\.left_wrist/,
  ],
  [
    'lacks the kinds',
    () => rewrite(robot, text => text.replaceAll('kind: position, ', '')),
    /robot\.yaml: .*actions\[0\]\.kind/,
  ],
  [
    'plays more steps than a chunk has',
    () => rewrite(robot, text => text.replace('train_hz: 20', 'train_hz: 20, execute_steps: 11')),
    /execute_steps: 11, but a chunk of the engine demo has 10 steps/,
  ],
  [
    'names a topic that ROS does not open',
    () => rewrite(robot, text => text.replace('topic: joint_states', 'topic: joint states')),
    /robot\.yaml: state\.topic: 'joint states' is no topic name/,
  ],
])('robot file: it %s', async (_, harm, says) => {
  mend();
  harm();
  await refused('ROBOT_FILE_INVALID', says);
});

test('a topic that only ROS can refuse: its full name is too long', async () => {
  mend();
  const name = 'a'.repeat(247);
  rewrite(robot, text => text.replace('topic: joint_states', `topic: ${name}`));
  await refused('CONFIG_INVALID', new RegExp(`topic ${name} cannot be opened: `));
});

test('a hostile engine.json: bounded, refused, no file outside of the folder is read', async () => {
  const file = join(engine, 'engine.json');
  const hostile: readonly (() => void)[] = [
    () => writeFileSync(file, '['.repeat(100_000)),
    () => writeFileSync(file, 'null'),
    () => writeFileSync(file, ' '.repeat(5_000_000)),
    () =>
      manifest(rest => ({ ...rest, files: { '../../etc/passwd': { bytes: 1, sha256: '0'.repeat(64) } } })),
    () => manifest(rest => ({ ...rest, model: { horizon: 1e9 } })),
    () => {
      rmSync(file);
      symlinkSync('/dev/zero', file);
    },
    () => {
      rmSync(file);
      execFileSync('mkfifo', [file]);
    },
  ];
  for (const harm of hostile) {
    mend();
    harm();
    await refused('ENGINE_INVALID', /ENGINE_INVALID: .*engine/);
  }
});

test('a hostile robot file: bounded, refused, nothing in it is run', async () => {
  const bomb = [
    'a: &a [x, x]',
    ...'bcdefghij'.split('').map((k, i) => `${k}: &${k} [*${'abcdefghi'[i]}, *${'abcdefghi'[i]}]`),
  ];
  const hostile: readonly (() => void)[] = [
    () => writeFileSync(robot, bomb.join('\n')),
    () => writeFileSync(robot, 'name: !!js/function "function () { process.exit(7) }"'),
    () => writeFileSync(robot, '['.repeat(50_000)),
    () => writeFileSync(robot, `name: ${'x'.repeat(1_000_000)}`),
    () => rewrite(robot, text => text.replace('name: demo_arm', '__proto__: { polluted: true }')),
    () => {
      rmSync(robot);
      symlinkSync('/dev/zero', robot);
    },
    () => {
      rmSync(robot);
      execFileSync('mkfifo', [robot]);
    },
  ];
  for (const harm of hostile) {
    mend();
    harm();
    await refused('ROBOT_FILE_INVALID', /ROBOT_FILE_INVALID: .*robot\.yaml/);
  }
});
