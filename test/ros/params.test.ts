import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { OxygenError } from '../../src/core/errors';
import {
  PARAMETERS,
  nodeParameters,
  parameterTable,
  readParameters,
  unknownParameters,
} from '../../src/ros/params';

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
  const parameters = nodeParameters(
    read(['action_rate_hz', 70n], ['seed', 9007199254740993n], ['max_tokens', 64n]),
  );
  expect(parameters.actionRateHz).toBe(70);
  expect(parameters.engineOptions.seed).toBe(9007199254740993n);
  expect(parameters.maxTokens + 1).toBe(65);
});

test.each<[string, unknown, RegExp]>([
  ['action_rate_hz', 'fast', /action_rate_hz: 'fast' is not allowed; a number from 1 to 500/],
  ['action_rate_hz', 0n, /action_rate_hz: 0 is not allowed/],
  ['action_rate_hz', -1, /action_rate_hz: -1 is not allowed/],
  ['action_rate_hz', NaN, /action_rate_hz: NaN is not allowed/],
  ['max_tokens', 1.5, /max_tokens: 1.5 is not allowed; an integer from 1/],
  ['engine', [], /engine:  is not allowed; a string/],
  ['raw_units', 'yes', /raw_units: 'yes' is not allowed; true or false/],
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
  const names = ['acton_rate_hz', 'use_sim_time', 'qos_overrides./a.depth', 'engine'];
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
  expect(rows).toHaveLength(PARAMETERS.length + 10);
  expect(rows.at(-10)).toMatch(
    /^\| `<name>\.text` \| string \| required \|  \| Seed text; .* Can be changed live\. \|$/,
  );
  expect(rows[2]).toBe('| `action_rate_hz` | double | `70` | from 1 to 500 | Rate of the `action` topic. |');
  expect(readFileSync(join(__dirname, '../../README.md'), 'utf8')).toContain(parameterTable());
});
