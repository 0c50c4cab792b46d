import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parse } from '@foxglove/rosmsg';
import { MessageReader } from '@foxglove/rosmsg2-serialization';
import type { Robot } from '../../src/core/robot';
import {
  isRecordedActionType,
  RECORDED_ACTION_TYPES,
  recordedAction,
} from '../../src/replay/recorded-actions';
import type { RecordedActionType } from '../../src/replay/recorded-actions';
import { action, robotOf } from './robots';

/** A position, a velocity, a delta and a binary, whose joints have names of their own. */
const MIXED = robotOf(
  action('position', { joint: 'lift' }),
  action('velocity', { joint: 'spin' }),
  action('delta', { joint: 'lift' }),
  action('binary', { joint: 'grip' }),
);
const [ARRAY, TRAJECTORY, STATE] = RECORDED_ACTION_TYPES;

function valuesOf(type: RecordedActionType, message: unknown, robot: Robot = MIXED): number[] {
  const action = recordedAction(type, message, robot);
  if (action.kind === 'refused') throw new Error(action.why);
  return [...action.values];
}

function refusalOf(type: RecordedActionType, message: unknown, robot: Robot = MIXED): string {
  const action = recordedAction(type, message, robot);
  return action.kind === 'refused' ? action.why : `not refused: ${[...action.values].join(', ')}`;
}

it('reads what rosbags writes', () => {
  const python = process.env['OXYGEN_PYTHON'] ?? join(__dirname, '../../.venv/bin/python');
  const output = execFileSync(python, [join(__dirname, 'recorded_messages.py')], { encoding: 'utf8' });
  const written = JSON.parse(output) as Record<string, { type: string; definition: string; cdr: string }>;
  const read = (name: string): number[] => {
    const { type, definition, cdr } = written[name]!;
    if (!isRecordedActionType(type)) throw new Error(type);
    const message = new MessageReader(parse(definition, { ros2: true })).readMessage(Buffer.from(cdr, 'hex'));
    return valuesOf(type, message);
  };
  expect(read('array')).toEqual([1.5, -2, NaN, 0.25]);
  // lift from the positions, spin from the velocities, grip from the positions; of the first point
  expect(read('trajectory')).toEqual([0.2, 3, NaN, 0.1]);
  // no positions at all: what is commanded is the velocity
  expect(read('state')).toEqual([NaN, 7, NaN, NaN]);
});

it('a chunk is a plan, not a command', () => {
  expect(isRecordedActionType('oxygen_vla/msg/ActionChunk')).toBe(false);
  expect(RECORDED_ACTION_TYPES.every(isRecordedActionType)).toBe(true);
});

describe('an array', () => {
  it('has the order of the robot file', () => {
    expect(valuesOf(ARRAY, { data: [1, 2, 3, 4] })).toEqual([1, 2, 3, 4]);
    expect(valuesOf(ARRAY, { data: Float32Array.of(1, Infinity, 3, 4) })).toEqual([1, NaN, 3, 4]);
  });

  it.each([
    ['of another length', { data: [1, 2, 3] }, 'the array has 3 values, the robot file 4 actions'],
    ['without data', {}, 'the array has no data'],
    ['with data that is a text', { data: 'abcd' }, 'the array has no data'],
    ['of nothing known', { data: [NaN, NaN, Infinity, NaN] }, 'the array has no finite value for any of position (position), velocity (velocity), delta (delta), binary (binary)'],
    ['that is no message', null, 'the array has no data'],
  ])('%s is refused', (_, message, why) => expect(refusalOf(ARRAY, message)).toBe(why)); // prettier-ignore
});

describe('by name', () => {
  it('order and further joints do not matter', () => {
    const positions = robotOf(action('position', { joint: 'a' }), action('position', { joint: 'b' }));
    expect(valuesOf(STATE, { name: ['x', 'b', 'a'], position: [1, 2, 3] }, positions)).toEqual([3, 2]);
    const point = { positions: [1, 2, 3] };
    expect(valuesOf(TRAJECTORY, { joint_names: ['x', 'b', 'a'], points: [point] }, positions)).toEqual([
      3, 2,
    ]);
  });

  it('a joint that the message lacks is not known', () => {
    expect(valuesOf(STATE, { name: ['grip'], position: [0.5] })).toEqual([NaN, NaN, NaN, 0.5]);
  });

  it.each([
    [STATE, {}, 'the joint state names no joints'],
    [STATE, { name: ['a', 'b'], position: [1, 2] }, 'the joint state names none of lift, spin, lift, grip; it has a, b'],
    [STATE, { name: [], position: [] }, 'the joint state names none of lift, spin, lift, grip; it has no joint'],
    [STATE, { name: ['lift', 'grip'], position: [1] }, 'the joint state has 2 names but 1 positions'],
    [STATE, { name: ['lift', 'lift'], position: [1, 2] }, 'the joint state lists lift twice'],
    [STATE, { name: ['lift'], velocity: [1] }, 'the joint state has no finite value for any of position (position), velocity (velocity), delta (delta), binary (binary)'],
    [TRAJECTORY, { joint_names: ['lift'], points: [] }, 'the trajectory has no point'],
    [TRAJECTORY, { joint_names: ['lift'], points: [{ positions: [1, 2] }] }, 'the trajectory has 1 names but 2 positions'],
    [TRAJECTORY, { joint_names: ['lift'], points: [null] }, 'the trajectory has no finite value for any of position (position), velocity (velocity), delta (delta), binary (binary)'],
  ])('%s: refused', (type, message, why) => expect(refusalOf(type, message)).toBe(why)); // prettier-ignore
});
