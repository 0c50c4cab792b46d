import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { parse } from 'yaml';
import type { OxygenError } from '../../src/core/errors';
import { limitFaults, limitParameters, limitsOf } from '../../src/ros/limits';
import { PARAMETERS, parameterTable } from '../../src/ros/parameter-table';
import {
  controlSettings,
  engineOptions,
  engineTunables,
  readParameters,
  readValues,
  unknownParameters,
} from '../../src/ros/params';
import { readRobotFile } from '../../src/ros/robot-file';

const REQUIRED: [string, unknown][] = [
  ['engine', 'engines/demo'],
  ['robot', 'config/robots/demo.yaml'],
];
const read = (...given: [string, unknown][]) => readParameters(new Map([...REQUIRED, ...given]));
const message = (call: () => unknown): string => {
  try {
    call();
  } catch (error) {
    expect((error as OxygenError).code).toBe('CONFIG_INVALID');
    return (error as OxygenError).message;
  }
  throw new Error('nothing was thrown');
};

test('integers are as good as doubles; a 64-bit seed keeps its last digit (O-29)', () => {
  const values = read(['action_rate_hz', 70n], ['seed', 9007199254740993n], ['max_tokens', 64n]);
  expect(values.get('action_rate_hz')).toBe(70);
  expect(engineOptions(values).seed).toBe(9007199254740993n);
  expect(engineOptions(values).maxTokens + 1).toBe(65);
});

test.each<[string, unknown, RegExp]>([
  ['action_rate_hz', 'fast', /action_rate_hz: 'fast' is not allowed; a number from 1 to 500/],
  ['action_rate_hz', 0n, /action_rate_hz: 0 is not allowed/],
  ['action_rate_hz', -1, /action_rate_hz: -1 is not allowed/],
  ['action_rate_hz', NaN, /action_rate_hz: NaN is not allowed/],
  ['max_tokens', 1.5, /max_tokens: 1.5 is not allowed; an integer from 1/],
  ['engine', [], /engine:  is not allowed; a string/],
  ['raw_units', 'yes', /raw_units: 'yes' is not allowed; true or false/],
  ['execution_providers', [], /execution_providers:  is not allowed; at least one is wanted/],
  ['execution_providers', ['npu'], /execution_providers: npu is not allowed; a list of tensorrt, cuda, cpu/],
  ['speed_scale', 1.5, /speed_scale: 1.5 is not allowed; a number from 0 to 1/],
  ['aggregation', 'guided', /one of latest_only, weighted_average, average, conservative, temporal_ensemble/],
  ['attention', 'sideways', /attention: 'sideways' is not allowed; one of engine, bidirectional, causal/],
])('%s = %p is a startup error', (name, value, expected) => {
  expect(message(() => read([name, value]))).toMatch(expected);
});

test('what must be set is said, all faults at once', () => {
  const text = message(() => readParameters(new Map([['max_queue', -1n]])));
  expect(text).toMatch(/engine must be set/);
  expect(text).toMatch(/robot must be set/);
  expect(text).toMatch(/max_queue: -1/);
});

test('a misspelt name is found with its nearest', () => {
  const names = ['acton_rate_hz', 'use_sim_time', 'qos_overrides./a.depth', 'limits.yaw.min', 'engine'];
  expect(unknownParameters(names, PARAMETERS)).toEqual([
    { name: 'acton_rate_hz', nearest: 'action_rate_hz' },
  ]);
});

test('config/oxygen.yaml has every default, and nothing else', () => {
  const file = parse(readFileSync(join(__dirname, '../../config/oxygen.yaml'), 'utf8'));
  const values = file['/**'].ros__parameters as Record<string, unknown>;
  const table = PARAMETERS.filter(spec => spec.default !== null);
  expect(Object.keys(values)).toEqual(table.map(spec => spec.name));
  for (const spec of table) {
    const value = typeof spec.default === 'bigint' ? Number(spec.default) : spec.default;
    expect([spec.name, values[spec.name]]).toEqual([spec.name, value]);
  }
});

test('the table for the README has a row per parameter, those of a standing request included', () => {
  const rows = parameterTable().split('\n').slice(2);
  expect(rows).toHaveLength(PARAMETERS.length + 13);
  expect(rows.at(-13)).toMatch(
    /^\| `<name>\.text` \| string \| required \|  \| Seed text; .* Can be changed live\. \|$/,
  );
  expect(rows[3]).toBe(
    '| `action_rate_hz` | double | `70` | from 1 to 500 | Rate of the `action` topic. Can be changed live. |',
  );
  expect(readFileSync(join(__dirname, '../../README.md'), 'utf8')).toContain(parameterTable());
});

describe('limits as parameters', () => {
  const robot = readRobotFile(join(__dirname, '../../config/robots/demo.yaml'));
  const limits = (...given: [string, unknown][]) => readValues(new Map(given), limitParameters(robot));

  test('without any they are those of the robot file', () => {
    expect(limitsOf(limits(), robot)).toEqual(
      robot.actions.map(({ min, max, maxRate }) => ({ min, max, maxRate })),
    );
  });

  test('they can be tighter, never wider, and never crossed', () => {
    const tight = limits(['limits.yaw.min', -1], ['limits.yaw.max', 1n], ['limits.yaw.max_rate', 0.5]);
    expect(limitFaults(tight, robot)).toEqual([]);
    expect(limitsOf(tight, robot)[0]).toEqual({ min: -1, max: 1, maxRate: 0.5 });
    expect(message(() => limits(['limits.yaw.min', -1.7]))).toMatch(
      /limits\.yaw\.min: -1\.7 is not allowed; a number from -1\.6 to 1\.6/,
    );
    expect(message(() => limits(['limits.yaw.max_rate', 5]))).toMatch(
      /limits\.yaw\.max_rate: 5 is not allowed/,
    );
    expect(message(() => limits(['limits.yaw.max_rate', 0]))).toMatch(
      /limits\.yaw\.max_rate: 0 is not allowed/,
    );
    expect(limitFaults(limits(['limits.yaw.min', 1], ['limits.yaw.max', 0.5]), robot)).toEqual([
      'parameter limits.yaw.min: 1 is above limits.yaw.max (0.5)',
    ]);
  });

  test('a velocity keeps its zero', () => {
    const wheel = { name: 'v', kind: 'velocity', joint: 'v', min: -1, max: 1, maxRate: null } as const;
    const one = { actions: [wheel] };
    const values = readValues(new Map([['limits.v.min', 0.1]]), limitParameters(one));
    expect(limitFaults(values, one)[0]).toMatch(/0 must lie between min and max/);
  });
});

test('how long a chunk plays: horizon, speed, one tick less', () => {
  const rates = { trainHz: 20, executeSteps: 8 };
  const ms = (...given: [string, unknown][]): number =>
    engineTunables(read(...given), '', { rates }, 10).executeMs;
  expect(ms()).toBeCloseTo(400 - 1000 / 70);
  expect(ms(['execution_horizon', 4n])).toBeCloseTo(200 - 1000 / 70);
  expect(ms(['execution_horizon', 40n])).toBeCloseTo(500 - 1000 / 70);
  expect(ms(['speed_scale', 0.5])).toBeCloseTo(2 * (400 - 1000 / 70));
  expect(ms(['speed_scale', 0n])).toBe(60_000);
});

test('how long a chunk plays is a time, whatever is allowed', () => {
  const number = (min: number, max: number) =>
    fc.oneof(fc.constantFrom(min, max), fc.double({ min, max, noNaN: true }));
  const count = (min: number, max: number) => fc.integer({ min, max });
  const given = fc.record({
    action_rate_hz: fc.oneof(number(1, 500), fc.constantFrom(10, 50, 70)),
    speed_scale: number(0, 1),
    execution_horizon: count(0, 1000).map(BigInt),
  });
  const trainHz = fc.oneof(number(0.1, 1000), fc.constantFrom(10, 50));
  const executeSteps = fc.option(count(1, 1000));
  fc.assert(
    fc.property(given, trainHz, executeSteps, count(1, 1000), (values, trainHz, executeSteps, horizon) => {
      const rates = { trainHz, executeSteps };
      const { executeMs } = engineTunables(read(...Object.entries(values)), '', { rates }, horizon);
      expect(executeMs).toBeGreaterThanOrEqual(0);
      expect(executeMs).toBeLessThanOrEqual(60_000);
    }),
    { examples: [[{ action_rate_hz: 50, speed_scale: 0, execution_horizon: 1n }, 50, null, 10]] },
  );
});

test('what the action stream takes of the parameters', () => {
  const robot = readRobotFile(join(__dirname, '../../config/robots/demo.yaml'));
  const values = new Map([
    ...read(['aggregation', 'average'], ['execution_horizon', 3n], ['speed_scale', 0.25], ['ramp_ms', 0n]),
    ...readValues(new Map(), limitParameters(robot)),
  ]);
  expect(controlSettings(values, robot)).toMatchObject({
    aggregation: 'average',
    executionHorizon: 3,
    speedScale: 0.25,
    rampMs: 0,
  });
  expect(controlSettings(new Map([...values, ['execution_horizon', 0n]]), robot).executionHorizon).toBeNull();
});
