import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OxygenError } from '../../src/core/errors';
import { checkRobot, parseRobot, readRobotFile } from '../../src/ros/robot-file';
import type { Robot } from '../../src/core/robot';
import { PLATFORMS } from '../../src/policies/platforms';
import type { EngineShape } from '../../src/ros/robot-file';

const ROBOTS = join(__dirname, '../../config/robots');
const demo = readFileSync(join(ROBOTS, 'demo.yaml'), 'utf8');

const fault = (call: () => unknown): OxygenError => {
  try {
    call();
  } catch (error) {
    return error as OxygenError;
  }
  throw new Error('nothing was thrown');
};

const info = (over: Partial<EngineShape> = {}): EngineShape => ({
  name: 'toy',
  cameraSlots: ['base_0_rgb', 'left_wrist_0_rgb', 'right_wrist_0_rgb'],
  stateDim: 4,
  actionDims: 4,
  actionDim: 32,
  horizon: 10,
  ...over,
});

test.each(['demo', 'tiny', 'odd'])('the shipped robot file %s is valid', name => {
  expect(readRobotFile(join(ROBOTS, `${name}.yaml`)).name).toContain(name.split('_')[0]);
});

test('defaults are filled in', () => {
  const robot = parseRobot(
    `name: r
cameras: { a: {}, b: { transport: compressed, rotate: 180 } }
state: { joints: [j] }
actions: [{ name: j, kind: position, min: -1, max: 1 }]
rates: { train_hz: 20 }`,
    'r.yaml',
  );
  expect(robot.cameras.map(camera => camera.topic)).toEqual([
    'camera/a/image_raw',
    'camera/b/image_raw/compressed',
  ]);
  expect(robot.cameras.map(camera => camera.rotate)).toEqual([0, 180]);
  expect(robot.state.topic).toBe('joint_states');
  expect(robot.actions[0]).toMatchObject({ joint: 'j', maxRate: null });
  expect(robot.sync).toEqual({ toleranceMs: 50, timeoutMs: 300, stamps: 'header' });
  expect(robot.cameras.map(({ onMissing, rateHz }) => [onMissing, rateHz])).toEqual([
    ['block', null],
    ['block', null],
  ]);
});

test.each<[string, (text: string) => string, RegExp]>([
  [
    'no kind',
    t => t.replace('kind: position, ', ''),
    /actions\[0\]\.kind: .*position, velocity, delta, binary/,
  ],
  [
    'another kind',
    t => t.replace('kind: position', 'kind: torque'),
    /actions\[0\]\.kind: .*position, velocity/,
  ],
  ['min above max', t => t.replace('min: -1.6', 'min: 9'), /actions\[0\]\.min: must be below max/],
  [
    'a velocity that cannot stop',
    t => t.replace('kind: position, min: -1.6', 'kind: velocity, min: 0.5'),
    /0 is how/,
  ],
  [
    'another rotation',
    t => t.replace('transport: raw', 'transport: raw, rotate: 90'),
    /cameras\.base_0_rgb\.rotate: must be one of 0, 180/,
  ],
  ['no rates', t => t.replace(/rates:.*\n/, ''), /rates: is missing/],
  ['an unknown key', t => `${t}colour: red\n`, /colour/],
  ['a word for a number', t => t.replace('train_hz: 20', 'train_hz: fast'), /rates\.train_hz/],
  ['a joint twice', t => t.replace('joints: [yaw', 'joints: [wrist'), /wrist is listed twice/],
  [
    'a camera topic that ROS does not open',
    t => t.replace('topic: camera/base_0_rgb/image_raw', 'topic: camera/base-0/image_raw'),
    /cameras\.base_0_rgb\.topic: 'camera\/base-0\/image_raw' is no topic name; .* are allowed/,
  ],
  [
    'a slot that gives its name to such a topic',
    t => t.replace(/base_0_rgb: .*/, '"base 0": {}'),
    /cameras\.base 0\.topic: 'camera\/base 0\/image_raw' is no topic name/,
  ],
  [
    'such a topic of joint states',
    t => t.replace('topic: joint_states', 'topic: 7joints'),
    /state\.topic: '7joints' is no topic name/,
  ],
  [
    'a name that ends in the middle',
    t => t.replace('name: yaw', 'name: "ya\\0w"'),
    /actions\[0\]\.name: .*without control characters/,
  ],
  ['a step that never ends', t => t.replace('train_hz: 20', 'train_hz: 1e-320'), /rates\.train_hz: .*0\.1/],
  [
    'a rate that no parameter of limits may have',
    t => t.replace('max_rate: 4.0', 'max_rate: 1e-7'),
    /actions\[0\]\.max_rate: .*0\.000001/,
  ],
  [
    'a tolerance of ages',
    t => t.replace('tolerance_ms: 50', 'tolerance_ms: 1e305'),
    /sync\.tolerance_ms: .*3600000/,
  ],
  [
    'a timeout of ages',
    t => t.replace('timeout_ms: 300', 'timeout_ms: 1e305'),
    /sync\.timeout_ms: .*3600000/,
  ],
  ['not YAML', () => 'a: [', /not YAML/],
  ['an alias bomb', () => 'a: &a [1]\nb: [*a, *a]', /YAML/],
])('refused: %s', (_, change, message) => {
  const error = fault(() => parseRobot(change(demo), '/robots/x.yaml'));
  expect(error.code).toBe('ROBOT_FILE_INVALID');
  expect(error.message).toMatch(/^\/robots\/x\.yaml: /);
  expect(error.message).toMatch(message);
});

test('a missing file is named with its full path', () => {
  const error = fault(() => readRobotFile('nowhere.yaml'));
  expect(error.code).toBe('ROBOT_FILE_INVALID');
  expect(error.message).toContain(`${process.cwd()}/nowhere.yaml`);
});

const faultOf = (robot: Robot, engine: Partial<EngineShape>): string => {
  const error = fault(() => checkRobot(robot, info(engine), 'x.yaml'));
  expect(error.code).toBe('ROBOT_FILE_INVALID');
  return error.message;
};

describe('O-04 cameras in the right slots', () => {
  const three = (slots: readonly string[]): Robot =>
    parseRobot(
      demo.replace(/cameras:[^]*?state:/, `cameras: { ${slots.map(s => `${s}: {}`).join(', ')} }\nstate:`),
      'x',
    );
  const { cameraSlots } = info();

  test('(a) the order in the file means nothing: a slot keeps its topic', () => {
    const byOrder = (robot: Robot) =>
      cameraSlots.map(slot => robot.cameras.find(c => c.slot === slot)!.topic);
    const turned = three([...cameraSlots].reverse());
    expect(turned.cameras.map(camera => camera.slot)).not.toEqual(cameraSlots);
    expect(byOrder(turned)).toEqual(byOrder(three(cameraSlots)));
  });
  test('(b) a slot that the engine does not have: the legal ones are listed', () => {
    expect(faultOf(three(['base_0_rgb', 'wrist_0_rgb']), {})).toMatch(
      /cameras\.wrist_0_rgb: .*no such slot; it has base_0_rgb, left_wrist_0_rgb, right_wrist_0_rgb/,
    );
  });
  test('(c) a slot that is not listed is absent, and nothing is missed', () => {
    expect(checkRobot(three(['base_0_rgb', 'left_wrist_0_rgb']), info(), 'x')).toEqual([]);
  });
});

describe('O-08 joint order', () => {
  test('state and actions stay in the order of the file, whatever the names', () => {
    const robot = parseRobot(demo.replace('joints: [yaw, shoulder', 'joints: [shoulder, yaw'), 'x');
    expect(robot.state.joints).toEqual(['shoulder', 'yaw', 'elbow', 'wrist']);
    expect(robot.actions.map(action => action.name)).toEqual(['yaw', 'shoulder', 'elbow', 'wrist']);
  });
  test('a relative action is relative to the joint of its name, not of its place', () => {
    const relative = demo.replaceAll('kind: position,', 'kind: position, relative_to_state: true,');
    const robot = parseRobot(relative.replace('joints: [yaw, shoulder', 'joints: [shoulder, yaw'), 'x');
    expect(robot.relativeTo).toEqual([1, 0, 2, 3]);
  });
});

describe('inputs', () => {
  const base = 'base_0_rgb: { topic: camera/base_0_rgb/image_raw, transport: raw';
  const withKeys = (camera: string, sync = 'timeout_ms: 300'): string =>
    demo.replace(base, `${base}, ${camera}`).replace('timeout_ms: 300', sync);

  test('on_missing, rate_hz and sync.stamps are read', () => {
    const robot = parseRobot(
      withKeys('on_missing: mask, rate_hz: 30', 'timeout_ms: 200, stamps: arrival'),
      'x',
    );
    expect(robot.cameras[0]).toMatchObject({ onMissing: 'mask', rateHz: 30 });
    expect(robot.sync).toEqual({ toleranceMs: 50, timeoutMs: 200, stamps: 'arrival' });
  });
  test.each<[string, string, RegExp]>([
    [
      'another word',
      withKeys('on_missing: skip'),
      /cameras\.base_0_rgb\.on_missing: must be one of block, mask/,
    ],
    ['a rate of 0', withKeys('rate_hz: 0'), /cameras\.base_0_rgb\.rate_hz: .*>0/],
    ['a rate that is no number', withKeys('rate_hz: fast'), /cameras\.base_0_rgb\.rate_hz: .*number/],
    [
      'other stamps',
      withKeys('rate_hz: 30', 'stamps: header_or_so'),
      /sync\.stamps: must be one of header, arrival/,
    ],
    [
      'a rate that is slower than the timeout',
      withKeys('rate_hz: 2'),
      /cameras\.base_0_rgb\.rate_hz: at 2 Hz a picture comes every 500 ms, but after sync\.timeout_ms \(300\)/,
    ],
  ])('refused: %s', (_, text, message) => {
    expect(fault(() => parseRobot(text, 'x')).message).toMatch(message);
  });
});

describe('O-11 widths', () => {
  const robot = parseRobot(demo, 'x.yaml');
  test('(a) equal widths: nothing to say', () => {
    expect(checkRobot(robot, info(), 'x.yaml')).toEqual([]);
  });
  test('(b) an engine that is wider: its first dimensions are used, and that is said', () => {
    expect(checkRobot(robot, info({ stateDim: 32, actionDims: 7 }), 'x.yaml')).toEqual([
      "state.joints: 4 entries; the first 4 of the engine's 32 state dimensions are used",
      "actions: 4 entries; the first 4 of the engine's 7 action dimensions are used",
    ]);
  });
  test('(c) more joints or actions than statistics: both widths are named', () => {
    const message = faultOf(robot, { stateDim: 3, actionDims: 2 });
    expect(message).toMatch(/state\.joints: 4 entries, but the engine toy has 3 state dimensions/);
    expect(message).toMatch(/actions: 4 entries, but the engine toy has 2 action dimensions/);
  });
  test('more actions than the model is wide', () => {
    expect(faultOf(robot, { actionDim: 3 })).toMatch(
      /actions: 4 entries, .* 3 action dimensions in its model/,
    );
  });
});

describe('steps of a chunk', () => {
  const robot = parseRobot(demo.replace('train_hz: 20', 'train_hz: 20, execute_steps: 8'), 'x.yaml');
  test('execute_steps; without it all are played', () => {
    expect(robot.rates).toEqual({ trainHz: 20, executeSteps: 8 });
    expect(parseRobot(demo, 'x').rates.executeSteps).toBeNull();
    expect(checkRobot(robot, info({ horizon: 8 }), 'x')).toEqual([]);
  });
  test('more than the engine gives is an error that names both', () => {
    expect(faultOf(robot, { horizon: 5 })).toMatch(
      /execute_steps: 8, but a chunk of the engine toy has 5 steps/,
    );
  });
});

describe('platforms', () => {
  test.each<[string, string, RegExp]>([
    ['another', 'platform: spot', /platform: must be one of none, libero, droid, aloha, arx/],
    [
      'of another width',
      'platform: aloha',
      /state\.joints: 4 entries, but the platform aloha has 14.*actions: 4 .*14/,
    ],
  ])('refused: %s', (_, line, message) => {
    expect(fault(() => parseRobot(`${line}\n${demo}`, 'x')).message).toMatch(message);
  });
  test('ALOHA is relative to its state but for the grippers, unless the file says otherwise', () => {
    const text = readFileSync(join(ROBOTS, 'aloha.yaml'), 'utf8');
    const arm = (from: number) => [0, 1, 2, 3, 4, 5].map(i => i + from);
    expect(parseRobot(text, 'x').relativeTo).toEqual([...arm(0), null, ...arm(7), null]);
    const absolute = text.replaceAll('kind: position,', 'kind: position, relative_to_state: false,');
    expect(parseRobot(absolute, 'x').relativeTo).toEqual(new Array(14).fill(null));
  });
  test.each<[string, (text: string) => string, RegExp]>([
    [
      'to no joint',
      t => t.replace('name: yaw,', 'name: turn, relative_to_state: true,'),
      /turn is not among state\.joints/,
    ],
    [
      'a velocity',
      t => t.replace('kind: position,', 'kind: velocity, relative_to_state: true,'),
      /only a position .* velocity/,
    ],
  ])('relative_to_state is refused: %s', (_, change, message) => {
    expect(fault(() => parseRobot(change(demo), 'x')).message).toMatch(message);
  });
});

const OPENPI_SLOTS = info().cameraSlots;
describe.each([
  ['libero', 'libero', OPENPI_SLOTS],
  // As lerobot's pi05_libero_finetuned has them: test/model/config.test.ts.
  ['libero_lerobot', 'libero', ['image', 'image2', 'empty_camera_0']],
  ['droid', 'droid', OPENPI_SLOTS],
  ['aloha', 'aloha', OPENPI_SLOTS],
  ['arx', 'arx', OPENPI_SLOTS],
] as const)('the shipped robot file %s', (name, platform, cameraSlots) => {
  const robot = readRobotFile(join(ROBOTS, `${name}.yaml`));
  const { stateDims, actionDims } = PLATFORMS[platform];

  test('has the widths of its platform and slots of its checkpoints', () => {
    expect(robot.platform).toBe(platform);
    const engine = info({ cameraSlots, stateDim: stateDims!, actionDims: actionDims!, horizon: 50 });
    expect(checkRobot(robot, engine, name)).toEqual([]);
  });
  test('plays as many steps of a chunk, at the rate, and of the kinds, that its checkpoints know', () => {
    const kinds = [...new Set(robot.actions.map(action => action.kind))];
    expect({ ...robot.rates, kinds }).toEqual(
      {
        libero: { trainHz: 20, executeSteps: 5, kinds: ['delta', 'binary'] },
        libero_lerobot: { trainHz: 20, executeSteps: 10, kinds: ['delta', 'binary'] },
        droid: { trainHz: 15, executeSteps: 8, kinds: ['velocity', 'binary'] },
        aloha: { trainHz: 50, executeSteps: 25, kinds: ['position'] },
        arx: { trainHz: 20, executeSteps: null, kinds: ['position'] },
      }[name],
    );
  });
  test('turns the pictures of LIBERO only', () => {
    expect(robot.cameras.map(camera => camera.rotate)).toEqual(
      robot.cameras.map(() => (platform === 'libero' ? 180 : 0)),
    );
  });
});

test('every robot file that ships is one that a test here reads', () => {
  const tested = ['demo', 'tiny', 'odd', 'libero', 'libero_lerobot', 'droid', 'aloha', 'arx'];
  expect(readdirSync(ROBOTS).sort()).toEqual(tested.map(name => `${name}.yaml`).sort());
});
