/** The launch file, resolved as `ros2 launch` does it: processes, conditions, and values that stay what they were. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parameterSpecs } from '../../src/ros/params';
import { MONITORS, OUTPUTS } from '../../src/ros/topics';
import { ENGINES, NodeProcess, ROBOTS, ROOT, killAll, launchCommand, resolveLaunch } from '../ros/harness';

const SHARE = join(ROOT, 'install/oxygen_vla/share/oxygen_vla');
const NODE = join(ROOT, 'install/oxygen_vla/lib/oxygen_vla/oxygen');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oxygen launch-'));
});
afterEach(killAll);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A command line as a map from what is set to its value, in the order given. */
const parametersOf = (argv: readonly string[]): [string, string][] =>
  argv.flatMap((word, i): [string, string][] => {
    if (argv[i - 1] !== '-p') return [];
    const [name, ...value] = word.split(':=');
    return [[name!, value.join(':=')]];
  });

/** Full names of the topics that the RViz file shows. */
const topicsOfRviz = (): string[] => {
  const text = readFileSync(join(ROOT, 'config/oxygen.rviz'), 'utf8');
  const topics = [...text.matchAll(/^ +Value: (\/\S+)$/gm)].map(([, topic]) => topic!);
  expect(topics).toContain('/markers');
  return topics;
};

/** Remaps for a bag: what the node publishes is played under other names, so that a bag never commands the robot. */
const beside = (namespace: string): string[] =>
  [...Object.values(OUTPUTS), MONITORS.status, MONITORS.diagnostics].map(({ name }) =>
    name.startsWith('/') ? `${name}:=recorded${name}` : `${namespace}/${name}:=recorded/${name}`,
  );

test('every argument has a description', () => {
  const { arguments: described } = resolveLaunch({});
  expect(described.map(({ name }) => name).sort()).toEqual(
    [
      ...['namespace', 'name', 'params_file', 'log_level', 'enclave', 'use_respawn'],
      ...['engine', 'robot', 'mode', 'action_topic', 'action_type'],
      ...['autostart', 'use_sim_time', 'bag', 'bag_option', 'rviz'],
    ].sort(),
  );
  for (const { description } of described) expect(description).toMatch(/^[A-Za-z].{10,}[^.]$/);
});

test('without arguments: the node alone, as the parameter file says', () => {
  const argv = [
    ...[NODE, 'node', '--ros-args', '--log-level', 'info', '--enclave', '/'],
    ...[
      '--ros-args',
      '-r',
      '__node:=oxygen',
      '-r',
      '__ns:=/',
      '--params-file',
      join(SHARE, 'config/oxygen.yaml'),
    ],
    ...['-r', 'action:=action'],
  ];
  expect(resolveLaunch({}).processes).toEqual([{ argv, respawnDelay: null }]);
});

test('all arguments: node, bag and RViz', () => {
  const [node, bag, rviz, ...others] = resolveLaunch({
    namespace: '/arm/left/',
    name: 'vla',
    params_file: '/my files/p.yaml',
    engine: '/e',
    robot: '/r.yaml',
    mode: 'shared',
    action_topic: '/controller/commands',
    action_type: 'joint_trajectory',
    autostart: 'false',
    use_sim_time: 'false',
    log_level: 'debug',
    enclave: '/oxygen',
    use_respawn: 'true',
    bag: '/my bags/one',
    bag_option: '--loop',
    rviz: 'true',
  }).processes;
  const text = (value: string): string => `!!str |-\n  ${value}`;
  const parameters: [string, string][] = [
    ['vla:engine', text('/e')],
    ['vla:robot', text('/r.yaml')],
    ['vla:mode', text('shared')],
    ['vla:action_type', text('joint_trajectory')],
    ['vla:autostart', 'False'],
    ['vla:use_sim_time', 'True'], // a bag has its own time
  ];
  expect(node).toEqual({
    argv: [
      ...[NODE, 'node', '--ros-args', '--log-level', 'debug', '--enclave', '/oxygen'],
      ...['--ros-args', '-r', '__node:=vla', '-r', '__ns:=/arm/left', '--params-file', '/my files/p.yaml'],
      ...parameters.flatMap(([name, value]) => ['-p', `${name}:=${value}`]),
      ...['-r', 'action:=/controller/commands'],
    ],
    respawnDelay: 2,
  });
  expect(bag).toEqual({
    argv: [
      ...['ros2', 'bag', 'play', '/my bags/one', '--clock', '200'],
      ...['--remap', '/controller/commands:=recorded/action', ...beside('/arm/left')],
      '--loop',
    ],
    respawnDelay: null,
  });
  expect(rviz!.argv.slice(1)).toEqual([
    ...['-d', join(SHARE, 'config/oxygen.rviz')],
    ...['--ros-args', '-r', '__node:=rviz2', '-r', '__ns:=/arm/left', '-p', 'use_sim_time:=True'],
    ...topicsOfRviz().flatMap(topic => ['-r', `${topic}:=${topic.slice(1)}`]),
  ]);
  expect(others).toEqual([]);
});

test.each<[Record<string, string>, [string, string][]]>([
  [{ use_sim_time: 'true' }, [['oxygen:use_sim_time', 'True']]],
  [{ autostart: 'true' }, [['oxygen:autostart', 'True']]],
  [{ bag: '/b' }, [['oxygen:use_sim_time', 'True']]],
  [{ name: 'vla', mode: 'isolated' }, [['vla:mode', '!!str |-\n  isolated']]],
])('%j sets one parameter', (args, wanted) => {
  expect(parametersOf(launchCommand(args))).toEqual(wanted);
});

test('a bag keeps off the topics of the node', () => {
  const { argv } = resolveLaunch({ bag: '/b' }).processes[1]!;
  expect(argv.slice(argv.indexOf('--remap'))).toEqual([
    ...['--remap', 'action:=recorded/action', ...beside('')],
    '--disable-keyboard-controls',
  ]);
});

test('what is set exists', () => {
  const some = { engine: 'e', robot: 'r', mode: 'm', action_type: 't', autostart: 'true', bag: 'b' };
  const known = [...parameterSpecs(new Map()).map(spec => spec.name), 'use_sim_time'];
  const set = parametersOf(launchCommand(some)).map(([name]) => name.replace('oxygen:', ''));
  expect(set).toHaveLength(6);
  expect(known).toEqual(expect.arrayContaining(set));
});

describe('on the node itself', () => {
  // As YAML this would be a map, a comment and an open quote; the last letter would end a Python string.
  test('a path with spaces, quotes, colons and signs arrives as it is', async () => {
    const engine = join(folder, 'it\'s: "mine" #1 \\');
    const node = new NodeProcess(launchCommand({ engine, robot: join(ROBOTS, 'demo.yaml') }));
    const [, path] = await node.says(/ENGINE_NOT_FOUND: no engine at (.*?): \//);
    expect(path).toBe(engine);
  });

  test('a path of digits stays a path', async () => {
    const node = new NodeProcess(launchCommand({ engine: join(ENGINES, 'demo'), robot: '017' }), folder);
    const [, path] = await node.says(/ROBOT_FILE_INVALID: (.*): cannot be read/);
    expect(path).toBe(join(folder, '017'));
  });

  test('an argument wins over the parameter file, whatever name the node has there', async () => {
    const file = join(folder, 'parameters.yaml');
    const sections = ['/**', '/**/vla', '/arm/vla', 'vla'].map(
      (key, i) =>
        `${key}:\n  ros__parameters:\n    robot: ${join(ROBOTS, 'demo.yaml')}\n    engine: /of/the/file/${i}\n`,
    );
    writeFileSync(file, sections.join(''));
    const args = { namespace: 'arm', name: 'vla', params_file: file, engine: '/of/the/argument' };
    const node = new NodeProcess(launchCommand(args));
    const [, path] = await node.says(/ENGINE_NOT_FOUND: no engine at (.*?): \//);
    expect(path).toBe('/of/the/argument');
  });
});

/** Every path under the package's share folder that a launch or configuration file names. */
test('what launch files name is installed', () => {
  const xml = readFileSync(join(SHARE, 'launch/oxygen.launch.xml'), 'utf8');
  const named = [...xml.matchAll(/\$\(find-pkg-share oxygen_vla\)\/([\w./-]+)/g)].map(([, path]) => path!);
  expect(named).toEqual(expect.arrayContaining(['config/oxygen.yaml', 'config/oxygen.rviz']));
  for (const path of named) expect([path, existsSync(join(SHARE, path))]).toEqual([path, true]);
});
