import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { OxygenError } from '../../src/core/errors';
import { loadNormStats, normStatsJson, parseNormStats, statsWidth } from '../../src/policies/norm-stats';
import { mutated } from '../support/mutate';

const folder = join(__dirname, '../.tmp/norm-stats');
let files = 0;
function file(content: unknown): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${files++}.json`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const good = { mean: [0], std: [1], q01: [-1], q99: [1] };
const withState = (state: unknown): unknown => ({ norm_stats: { state, actions: good } });

test('openpi files load; mean and std are not needed', () => {
  const stats = loadNormStats(file(withState({ q01: [-1, 2, 3], q99: [1, 2, 4] })));
  expect(stats.state).toMatchObject({ q01: Float64Array.of(-1, 2, 3), q99: Float64Array.of(1, 2, 4) });
  expect(stats.state.mean).toHaveLength(0);
  expect(stats.actions).toEqual({
    mean: Float64Array.of(0),
    std: Float64Array.of(1),
    q01: Float64Array.of(-1),
    q99: Float64Array.of(1),
  });
  expect(statsWidth(stats.state)).toBe(3);
});

test('the lists that are needed are those of the mode', () => {
  const meanOnly = JSON.stringify(withState({ mean: [0, 1], std: [1, 2], q01: null, q99: null }));
  const modes = { state: 'zscore', actions: 'quantile' } as const;
  expect(parseNormStats(meanOnly, 's', modes).state.std).toEqual(Float64Array.of(1, 2));
  expect(() => parseNormStats(meanOnly, 's')).toThrow(/no list "q01"/);
  const nothing = parseNormStats(JSON.stringify(withState({})), 's', { ...modes, state: 'identity' });
  expect(statsWidth(nothing.state)).toBe(0);
});

test("lerobot's names of the sections are read as well", () => {
  const stats = parseNormStats(
    JSON.stringify({ 'observation.state': good, action: { ...good, q99: [5] } }),
    's',
  );
  expect(stats.state.q99).toEqual(Float64Array.of(1));
  expect(stats.actions.q99).toEqual(Float64Array.of(5));
});

test('what is written for an engine reads back the same', () => {
  const path = join(__dirname, '../data/transforms/norm_stats.json');
  const stats = loadNormStats(path);
  expect(parseNormStats(normStatsJson(stats), 'copy')).toEqual(stats);
  expect(JSON.parse(normStatsJson(stats))).toEqual(JSON.parse(readFileSync(path, 'utf8')));
});

test.each([
  ['no JSON', '{', 'cannot be read'],
  ['null', 'null', 'no section "norm_stats"; found: nothing'],
  ['a list', [], 'no section "norm_stats"'],
  ['keys of a data set', { 'so100.buffer.action.q01': [1] }, 'found: so100.buffer.action.q01'],
  ['no actions', { norm_stats: { state: good, action: good } }, 'no section "actions"; found: state, action'],
  [
    'no quantiles',
    withState({ mean: [0], std: [1] }),
    'norm_stats.state has no list "q01"; found: mean, std',
  ],
  [
    'null quantiles',
    withState({ ...good, q99: null }),
    'norm_stats.state has no list "q99"; found: mean, std, q01, q99',
  ],
  ['an empty list', withState({ q01: [], q99: [] }), 'no list "q01"'],
  ['text in a list', withState({ q01: [1, 'x'], q99: [1, 2] }), 'norm_stats.state.q01[1] is "x"'],
  ['NaN written as null', withState({ q01: [1], q99: [null] }), 'norm_stats.state.q99[0] is null'],
  ['two lengths', withState({ q01: [1, 2], q99: [3] }), 'q01 has 2 dimensions, q99 has 1'],
  ['a huge number', JSON.stringify(withState(good)).replace('[1]', '[1e999]'), 'not a finite number'],
  ['lists of other lengths', withState({ ...good, mean: [0, 0] }), 'mean has 2 dimensions, std has 1'],
  ['a negative deviation', withState({ ...good, std: [-1] }), 'norm_stats.state.std[0] = -1 is below 0'],
  ['crossed', withState({ q01: [1, 5], q99: [3, 4] }), 'q99[1] = 4 is below q01[1] = 5'],
])('%s', (_, content, reason) => {
  const path = file(content);
  for (const part of [path, reason]) {
    expect(() => loadNormStats(path)).toThrow(
      expect.objectContaining({ code: 'NORM_STATS_INVALID', message: expect.stringContaining(part) }),
    );
  }
});

test('O-09 a missing file is named with its full path', () => {
  const path = join(folder, 'absent/norm_stats.json');
  expect(() => loadNormStats(path)).toThrow(
    expect.objectContaining({ code: 'NORM_STATS_INVALID', message: expect.stringContaining(path) }),
  );
});

test('a folder and a file of any size are refused, not read', () => {
  expect(() => loadNormStats(folder)).toThrow(expect.objectContaining({ code: 'NORM_STATS_INVALID' }));
  const path = file('');
  truncateSync(path, 1e12); // a sparse file
  expect(() => loadNormStats(path)).toThrow(/1000000000000 bytes, at most/);
});

test('fuzz: 400 damaged files give statistics or NORM_STATS_INVALID', () => {
  const original = readFileSync(join(__dirname, '../data/transforms/norm_stats.json'), 'utf8');
  let readable = 0;
  fc.assert(
    fc.property(mutated(original), text => {
      try {
        const stats = parseNormStats(text, 'fuzz.json');
        for (const list of [stats.state.q01, stats.actions.q99]) {
          expect(list.length).toBeGreaterThan(0);
          expect(list.length).toBeLessThan(text.length);
          expect(list.every(Number.isFinite)).toBe(true);
        }
        readable++;
      } catch (error) {
        if (!(error instanceof OxygenError)) throw error;
        expect(error.code).toBe('NORM_STATS_INVALID');
        expect(error.message.length).toBeLessThan(3000);
      }
    }),
    { seed: 4, numRuns: 400 },
  );
  expect(readable).toBeGreaterThan(20); // damage that is none shows that the reader reads
  expect(readable).toBeLessThan(300);
});
