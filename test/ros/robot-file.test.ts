import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OxygenError } from '../../src/core/errors';
import { checkRobot, parseRobot, readRobotFile } from '../../src/ros/robot-file';
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
  ...over,
});

test.each(['demo', 'tiny', 'odd'])('the shipped robot file %s is valid', name => {
  expect(readRobotFile(join(ROBOTS, `${name}.yaml`)).name).toContain(name.split('_')[0]);
});

test('defaults are filled in', () => {
  const robot = parseRobot(
    `name: r
cameras: { a: {}, b: { transport: compressed } }
state: { joints: [j] }
actions: [{ name: j, kind: position, min: -1, max: 1 }]
rates: { train_hz: 20 }`,
    'r.yaml',
  );
  expect(robot.cameras.map(camera => camera.topic)).toEqual([
    'camera/a/image_raw',
    'camera/b/image_raw/compressed',
  ]);
  expect(robot.state.topic).toBe('joint_states');
  expect(robot.actions[0]).toMatchObject({ joint: 'j', maxRate: null });
  expect(robot.sync).toEqual({ toleranceMs: 50, timeoutMs: 300 });
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
  ['no rates', t => t.replace(/rates:.*\n/, ''), /rates: is missing/],
  ['an unknown key', t => `${t}colour: red\n`, /colour/],
  ['a word for a number', t => t.replace('train_hz: 20', 'train_hz: fast'), /rates\.train_hz/],
  ['a joint twice', t => t.replace('joints: [yaw', 'joints: [wrist'), /wrist is listed twice/],
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

test('the engine is compared: slots (O-04 b), widths (O-11 c)', () => {
  const robot = parseRobot(demo, 'x.yaml');
  expect(() => checkRobot(robot, info(), 'x.yaml')).not.toThrow();
  const slots = fault(() => checkRobot(robot, info({ cameraSlots: ['a', 'b', 'c'] }), 'x.yaml'));
  expect(slots.message).toMatch(/base_0_rgb.*no such slot; it has a, b, c/);
  const widths = fault(() => checkRobot(robot, info({ stateDim: 7, actionDims: 8 }), 'x.yaml'));
  expect(widths.message).toMatch(/state\.joints: 4 entries, but the engine toy has 7/);
  expect(widths.message).toMatch(/actions: 4 entries, but the engine toy has 8/);
});
