import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseParameterFile } from '../../src/ros/parameter-file';

const dir = mkdtempSync(join(tmpdir(), 'oxygen-parameters-'));
afterAll(() => rmSync(dir, { recursive: true }));

type Rcl = Record<string, [type: string, value: string]> | { error: string };

/** What rcl makes of parameter files, asked through rclpy in one process. */
function rclOf(texts: readonly string[]): readonly Rcl[] {
  const files = texts.map((text, i) => {
    const file = join(dir, `${i}.yaml`);
    writeFileSync(file, text);
    return file;
  });
  const env = { ...process.env, ROS_DOMAIN_ID: '98', ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST' };
  const peer = join(__dirname, 'peers/parameters.py');
  const output = execFileSync('python3', [peer, ...files], {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return JSON.parse(output) as readonly Rcl[];
}

const TYPES = { bigint: 'INTEGER', number: 'DOUBLE', boolean: 'BOOL', string: 'STRING' } as const;

/** Python's text of a number, read as ours. */
const same = (python: string, value: unknown): boolean =>
  typeof value === 'number'
    ? Object.is(Number(python.replace('inf', 'Infinity')), value)
    : python.toLowerCase() === String(value).toLowerCase();

// One line each: what a person may write after `name: `.
const SCALARS = [
  'yes', 'Yes', 'YES', 'yEs', 'y', 'N', 'on', 'Off', 'True', 'tRue', 'false', "'No'", '"true"',
  '5', '+5', '-0', '0x1F', '-0x10', '017', '08', '0o17', '0b11', '1_000', '0x', '"5"',
  '9223372036854775807', '-9223372036854775808', '9223372036854775808',
  '1.', '.5', '1e3', '-1E-3', '1d3', '1e999', '1e-400', '4.9e-324', '0e5', '1e5f', '1,5',
  '.nan', '.NaN', 'nan', 'NaN', '.inf', '-.inf', '+.Inf', 'inf', '-Infinity', 'infinite',
  '~', 'null', "''", 'a b', '!!str yes', '!!int "5"', '!!float 1', '|\n      text', '12 # comment',
]; // prettier-ignore

const SCALAR_FILE = [
  'oxygen:',
  '  ros__parameters:',
  ...SCALARS.map((scalar, i) => `    p${i}: ${scalar}`),
  '    a: {b: 1, c: {d: two}}',
].join('\n');

/** Files that rcl refuses, and our first fault. */
const REFUSED: readonly (readonly [string, RegExp])[] = [
  ['/**:\n  ros__parameters:\n    a:\n', /^line 3: a has no value$/],
  ['/**:\n  ros__parameters:\n    a: &x 1\n    b: *x\n', /^line 4: b is an alias/],
  ['/**:\n  ros__parameters: 5\n', /^line 2: ros__parameters of \/\*\* must hold names and values$/],
  ['oxygen:\n  ros_parameters:\n    a: 1\n', /^line 3: oxygen\/ros_parameters\/a must hold ros__parameters/],
  ['"/ox-y":\n  ros__parameters:\n    a: 1\n', /^line 2: \/ox-y: "ox-y" is no name/],
  ['/**:\n  /oxygen:\n    ros__parameters: {a: 1}\n', /^line 3: .*"" is no name/],
  ['/**:\n\tros__parameters:\n', /^line 2: /],
  ['/**:\n  ros__parameters:\n    a: [narration, y]\n', /^line 3: a mixes types; quote its items/],
  ['/**:\n  ros__parameters:\n    a: [1, 2.5]\n', /^line 3: a mixes types/],
];

test('every scalar has the type and value that rcl gives it, and what rcl refuses is refused', () => {
  const [first, ...others] = rclOf([SCALAR_FILE, ...REFUSED.map(([text]) => text)]);
  const theirs = first as Record<string, [string, string]>;
  const { sections, faults } = parseParameterFile(SCALAR_FILE);
  expect(faults).toEqual([]);
  const ours = new Map(sections[0]!.parameters.map(({ name, value }) => [name, value]));
  expect(ours.size).toBe(SCALARS.length + 2);
  for (const [name, value] of ours) {
    const [type, python] = theirs[name]!;
    const scalar = SCALARS[Number(name.slice(1))] ?? name;
    expect([scalar, TYPES[typeof value as keyof typeof TYPES]]).toEqual([scalar, type]);
    if (!Number.isNaN(value)) expect([scalar, python, same(python, value)]).toEqual([scalar, python, true]);
  }
  REFUSED.forEach(([text, expected], i) => {
    expect(others[i]).toHaveProperty('error');
    expect(parseParameterFile(text).faults[0]).toMatch(expected);
  });
});

test('names of nodes: with and without slash, nested, wildcards, several documents', () => {
  const text = [
    'oxygen: {ros__parameters: {a: 1}}',
    '/arm/oxygen: {ros__parameters: {a: 1}}',
    'arm: {left: {oxygen: {ros__parameters: {a: 1}}}}',
    '/**/oxygen: {ros__parameters: {a: 1}}',
    '---',
    '/**: {ros__parameters: {a: 1}, oxygen: {ros__parameters: {a: 1}}}',
  ].join('\n');
  const { sections, faults } = parseParameterFile(text);
  expect(faults).toEqual([]);
  expect(sections.map(section => section.node)).toEqual([
    '/oxygen',
    '/arm/oxygen',
    '/arm/left/oxygen',
    '/**/oxygen',
    '/**',
    '/**/oxygen',
  ]);
});

test('a name twice is a fault, though rcl silently takes the second', () => {
  const { faults } = parseParameterFile('/**:\n  ros__parameters:\n    a: 1\n    a: 2\n');
  expect(faults[0]).toMatch(/^line 4: .*unique/);
});
