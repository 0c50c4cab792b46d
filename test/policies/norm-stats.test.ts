import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadNormStats } from '../../src/policies/norm-stats';

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
  expect(stats.state).toEqual({ q01: Float64Array.of(-1, 2, 3), q99: Float64Array.of(1, 2, 4) });
  expect(stats.actions.q01).toEqual(Float64Array.of(-1));
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
