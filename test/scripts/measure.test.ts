/** The arithmetic of scripts/measure.mjs, its table and its command line. What it measures needs the node itself. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { callSetup } from '../setup/call';

const figures = (name: string, ...args: readonly unknown[]): unknown =>
  callSetup('../measure/figures', name, ...args);

interface Figure {
  readonly name: string;
  readonly value: number | null;
  readonly limit: object;
  readonly note?: string;
}
const judged = (value: number | null, limit: object, name = 'x'): object =>
  figures('judged', { name, value, limit } satisfies Figure) as object;

test('slope of a line, with noise that is symmetric, and of no line at all', () => {
  const xs = [0, 1, 2, 3];
  expect(figures('slope', xs, [5, 7, 9, 11])).toBeCloseTo(2, 12);
  expect(figures('slope', xs, [1, -1, -1, 1])).toBeCloseTo(0, 12);
  expect(figures('slope', [4, 4], [1, 9])).toBe(0);
});

test('regularity: rate, what an interval misses, and the periods without an event', () => {
  const even = Array.from({ length: 301 }, (_, i) => 1000 + i * 10);
  expect(figures('regularity', even, 100)).toEqual({ hz: 100, p99Ms: 0, maxMs: 0, missed: 0 });
  const gap = even.filter((_, i) => i !== 40 && i !== 41);
  expect(figures('regularity', gap, 100)).toMatchObject({ p99Ms: 0, maxMs: 20, missed: 2 });
  const late = even.map((t, i) => (i === 50 ? t + 4 : t));
  const lateOften = even.map((t, i) => (i % 50 === 1 ? t + 4 : t));
  expect(figures('regularity', lateOften, 100)).toMatchObject({ p99Ms: 4, maxMs: 4, missed: 0 });
  expect(figures('regularity', late, 100)).toMatchObject({ hz: 100, p99Ms: 0, maxMs: 4, missed: 0 });
});

describe('the time to the hold', () => {
  const stream = (values: readonly unknown[]) => values.map((value, i) => ({ at: i * 10, values: [value] }));
  const hold = (values: readonly unknown[], eventMs: number) =>
    figures('timeToHold', stream(values), eventMs, 100);

  test('is that of the first of the equal commands', () => {
    expect(hold([1, 2, 3, 4, 5, 9, 9, 9, 9, 9, 9], 15)).toBe(35);
  });
  test('is that of the next command when it holds already', () => {
    expect(hold([9, 9, 9, 9, 9, 9, 9, 9], 15)).toBe(5);
  });
  // JSON makes null of infinity.
  test.each([
    ['it still moves at the end', [1, 2, 3, 4, 5, 6, 7, 8]],
    ['a command is no number', [null, null, null, null, null, null]],
    ['no command comes', [1, 2]],
  ])('is infinite when %s', (_, values) => {
    expect(hold(values, 15)).toBeNull();
  });
});

test('growth compares medians of the second and the last tenth: neither warm-up nor one reading counts', () => {
  const readings = [...new Array(10).fill(50), ...new Array(80).fill(100), ...new Array(10).fill(101)];
  readings[95] = 500;
  expect(figures('growthPercent', readings)).toBeCloseTo(1, 12);
});

test.each([
  [69.81, { near: [70, 0.2] }, true],
  [69.7, { near: [70, 0.2] }, false],
  [4, { most: 4 }, true],
  [4.01, { most: 4 }, false],
  [9, { least: 9 }, true],
  [8, { least: 9 }, false],
  [1e9, { info: true }, true],
])('%p with the limit %p is ok: %p', (value, limit, ok) => {
  expect(judged(value, limit)).toMatchObject({ value, ok });
});

test('a figure that could not be had is never ok', () => {
  const code = `
    import { asJson, judged, table } from './scripts/measure/figures.mjs';
    const all = [{ most: 1 }, { least: 1 }, { near: [1, 1] }].flatMap((limit, i) =>
      [NaN, Infinity, -Infinity].map(value => judged({ name: 'x' + i, value, limit })));
    console.log(JSON.stringify([all.filter(({ ok }) => ok).length, asJson(all.slice(0, 1)), table(all.slice(0, 1))]));`;
  const { stdout } = run(['--input-type=module', '-e', code]);
  const [passed, json, rows] = JSON.parse(stdout) as [number, object, string[]];
  // Infinitely many recoveries and minus infinite milliseconds do not come up.
  expect(passed).toBe(0);
  expect(json).toEqual({ x0: { value: null, limit: 1, ok: false } });
  expect(rows[2]).toBe('| `x0` | none | ≤ 1 | **no** |  |');
});

test('the table and the JSON say the same', () => {
  const all = [
    judged(70.01234, { near: [70, 0.2] }, 'rate_hz'),
    judged(5.5, { most: 4 }, 'dt_p99_ms'),
    judged(9, { least: 9 }, 'remote_probes_survived'),
    judged(7, { info: true }, 'dt_heard_p99_ms'),
  ];
  expect(figures('asJson', all)).toEqual({
    rate_hz: { value: 70.012, limit: '70 ± 0.2', ok: true },
    dt_p99_ms: { value: 5.5, limit: 4, ok: false },
    remote_probes_survived: { value: 9, limit: 9, ok: true },
    dt_heard_p99_ms: { value: 7, limit: null, ok: true },
  });
  expect((figures('table', all) as string[]).slice(2)).toEqual([
    '| `rate_hz` | 70.012 | 70 ± 0.2 | yes |  |',
    '| `dt_p99_ms` | 5.5 | ≤ 4 | **no** |  |',
    '| `remote_probes_survived` | 9 | 9 | yes |  |',
    '| `dt_heard_p99_ms` | 7 |  |  |  |',
  ]);
});

const run = (args: readonly string[]) =>
  spawnSync(process.execPath, args, { cwd: path.resolve(__dirname, '../..'), encoding: 'utf8' });

test.each([['--nonsense'], ['stray'], ['--only=no_such_figure'], ['--only']])(
  'a wrong command line (%s) ends with code 2 and the usage, and nothing runs',
  argument => {
    const { status, stderr, stdout } = run(['scripts/measure.mjs', argument]);
    expect(status).toBe(2);
    expect(stderr).toContain('Usage: npm run measure');
    expect(stdout).toBe('');
  },
);

test('the help names every figure', () => {
  const { status, stdout } = run(['scripts/measure.mjs', '--help']);
  expect(status).toBe(0);
  for (const name of [
    'rate_hz',
    'missed_ticks',
    'dt_p99_ms',
    'safe_command_ms',
    'fault_to_diagnostics_ms',
    'qos_mismatch_ms',
    'node_up_ms',
    'active_ms',
    'lifecycle_loops',
    'lifecycle_rss_growth_pct',
    'kill9_recovered',
    'soak_rss_mb_per_min',
    'remote_probes_survived',
  ])
    expect(stdout).toContain(name);
});
