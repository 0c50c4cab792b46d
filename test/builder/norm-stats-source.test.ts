import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { findNormStats, type NormStatsRequest } from '../../src/builder/norm-stats-source';
import { OxygenError } from '../../src/core/errors';
import { loadNormStats } from '../../src/policies/norm-stats';
import { normalizeState, scaler } from '../../src/policies/transforms';
import { mutated } from '../support/mutate';

const TMP = join(__dirname, '../.tmp');
const OPENPI = join(__dirname, '../data/transforms/norm_stats.json');
const stats = loadNormStats(OPENPI);
const NORMALIZER = 'policy_preprocessor_step_3_normalizer_processor.safetensors';

let root: string;
let dir: string;
beforeEach(() => {
  mkdirSync(TMP, { recursive: true });
  root = mkdtempSync(join(TMP, 'stats-'));
  dir = join(root, 'checkpoint');
  mkdirSync(dir);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const put = (path: string, content: string | Uint8Array = readFileSync(OPENPI)): string => {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), content);
  return join(dir, path);
};
const find = (over: Partial<NormStatsRequest> = {}) =>
  findNormStats({ dir, family: 'openpi', file: null, assetId: null, ...over });
const found = (over: Partial<NormStatsRequest> = {}) => {
  const result = find(over);
  if ('missing' in result) throw new Error(`nothing in ${result.missing.join(' ')}`);
  return result;
};
const refused = (over: Partial<NormStatsRequest> = {}): string => {
  try {
    find(over);
  } catch (error) {
    expect((error as OxygenError).code).toBe('NORM_STATS_INVALID');
    return (error as Error).message;
  }
  throw new Error('nothing was thrown');
};

/** float32 tensors, as lerobot saves them. */
function safetensors(tensors: Readonly<Record<string, ArrayLike<number>>>): Uint8Array {
  const header: Record<string, object> = {};
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const [name, values] of Object.entries(tensors)) {
    const bytes = new Uint8Array(Float32Array.from(values).buffer);
    header[name] = { dtype: 'F32', shape: [values.length], data_offsets: [at, at + bytes.length] };
    at += bytes.length;
    parts.push(bytes);
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...parts]);
}
const lerobotTensors = (): Record<string, ArrayLike<number>> =>
  Object.fromEntries(
    (['mean', 'std', 'q01', 'q99'] as const).flatMap(name => [
      [`observation.state.${name}`, stats.state[name]],
      [`action.${name}`, stats.actions[name]],
    ]),
  );
const QUANTILES = { VISUAL: 'IDENTITY', STATE: 'QUANTILES', ACTION: 'QUANTILES' };
const preprocessor = (
  config: object = { eps: 1e-8, norm_map: QUANTILES },
  stateFile: string | null = NORMALIZER,
) =>
  put(
    'policy_preprocessor.json',
    JSON.stringify({
      name: 'policy_preprocessor',
      steps: [
        { registry_name: 'rename_observations_processor', config: { rename_map: {} } },
        {
          registry_name: 'relative_actions_processor',
          config: { enabled: false, exclude_joints: [], action_names: null },
        },
        { registry_name: 'normalizer_processor', config, ...(stateFile && { state_file: stateFile }) },
      ],
    }),
  );

describe('openpi (O-09)', () => {
  test('(d) the folder itself; the formula is that of quantiles', () => {
    const source = put('norm_stats.json');
    const normalization = { convention: 'openpi', state: 'quantile', actions: 'quantile' };
    expect(found()).toEqual({ stats, normalization, source, notes: [] });
  });

  test.each(['droid', 'physical-intelligence/libero'])('assets/%s', id => {
    const path = put(`assets/${id}/norm_stats.json`);
    expect(found()).toMatchObject({ source: path, stats });
    expect(found({ assetId: id }).source).toBe(path);
  });

  test('beside the converted weights', () => {
    const path = put('../assets/trossen/norm_stats.json');
    expect(found()).toMatchObject({ source: path, stats });
  });

  test('(a) none: every full path that was looked for', () => {
    put('assets/README.md', 'no statistics');
    expect(find()).toEqual({
      missing: [
        join(dir, 'norm_stats.json'),
        join(dir, 'assets/<asset id>/norm_stats.json'),
        join(root, 'assets/<asset id>/norm_stats.json'),
      ],
    });
    expect(find({ dir: null })).toEqual({ missing: [] });
  });

  test('(b) two asset ids: both are listed, and the option', () => {
    const path = put('assets/droid/norm_stats.json');
    put('assets/physical-intelligence/libero/norm_stats.json');
    expect(refused()).toMatch(/droid, physical-intelligence\/libero.*--asset-id/);
    expect(found({ assetId: 'droid' }).source).toBe(path);
    expect(refused({ assetId: 'aloha' })).toMatch(/asset id aloha; in .*assets: droid, physical/);
  });

  test('an asset id that is nowhere is an error, not a guess', () => {
    put('norm_stats.json');
    expect(refused({ assetId: 'droid' })).toMatch(/asset id droid; none in .*checkpoint\/assets and /);
  });

  test('--norm-stats goes before everything; a file that is not there is named', () => {
    put('norm_stats.json', '{}');
    const file = put('mine.json');
    expect(found({ file }).source).toBe(file);
    expect(refused({ file: join(dir, 'nowhere.json') })).toContain(join(dir, 'nowhere.json'));
    expect(refused()).toMatch(/no section "norm_stats"; found: nothing/);
  });
});

describe('lerobot (O-09)', () => {
  test('(e) the same statistics as openpi’s file, by its own formula', () => {
    preprocessor();
    const path = put(NORMALIZER, safetensors(lerobotTensors()));
    const { stats: mine, normalization, source } = found({ family: 'lerobot' });
    expect(source).toBe(path);
    expect(normalization).toEqual({ convention: 'lerobot', state: 'quantile', actions: 'quantile' });
    expect(mine.state.q01).toEqual(stats.state.q01.map(Math.fround));
    expect(mine.actions.std).toEqual(stats.actions.std.map(Math.fround));
    const joints = [0.1, 0.2, -1, 0.25, 2, 0.40000005, 0, 3];
    const [theirs, ours] = [mine, stats].map((s, i) =>
      normalizeState(joints, scaler(s.state, 'quantile', i === 0 ? 'lerobot' : 'openpi')),
    );
    [0, 1, 2, 4, 6, 7].forEach(i => expect(theirs![i]).toBeCloseTo(ours![i]!, 5)); // 3 and 5 hardly moved
  });

  test('the modes are those of the pipeline', () => {
    preprocessor({ norm_map: { STATE: 'MEAN_STD' } }); // what is not named is left alone
    const tensors = Object.entries(lerobotTensors()).filter(([name]) => /state\.(mean|std)/.test(name));
    put(NORMALIZER, safetensors(Object.fromEntries(tensors)));
    const { stats: mine, normalization } = found({ family: 'lerobot' });
    expect(normalization).toEqual({ convention: 'lerobot', state: 'zscore', actions: 'identity' });
    expect(mine.actions.q01).toHaveLength(0);
  });

  test('actions are undone by the postprocessor, where there is one', () => {
    preprocessor();
    put(NORMALIZER, safetensors(lerobotTensors()));
    const other = { ...lerobotTensors(), 'action.q99': stats.actions.q99.map(v => v + 1) };
    const state_file = 'policy_postprocessor_step_0_unnormalizer_processor.safetensors';
    put(state_file, safetensors(other));
    const steps = [{ registry_name: 'unnormalizer_processor', config: { norm_map: QUANTILES }, state_file }];
    put('policy_postprocessor.json', JSON.stringify({ steps }));
    const mine = found({ family: 'lerobot' }).stats;
    expect(mine.actions.q99[0]).toBeCloseTo(stats.actions.q99[0]! + 1, 5);
    expect(mine.state.q99[0]).toBeCloseTo(stats.state.q99[0]!, 5);
  });

  test('(c) keys of a data set: they are listed', () => {
    preprocessor();
    put(NORMALIZER, safetensors({ 'so100.buffer.action.q01': [1] }));
    expect(refused({ family: 'lerobot' })).toMatch(
      /no observation\.state\.q01; found: so100\.buffer\.action\.q01/,
    );
    const file = put('other.safetensors', safetensors({ 'so100.buffer.action.q01': [1] }));
    expect(refused({ file })).toMatch(/found: so100\.buffer\.action\.q01/);
  });

  test('(a) a base model without statistics is missing them; openpi’s file beside it is taken', () => {
    const path = preprocessor(undefined, null);
    expect(find({ family: 'lerobot' })).toEqual({
      missing: expect.arrayContaining([path, join(dir, 'norm_stats.json')]),
    });
    put('norm_stats.json');
    const { normalization } = found({ family: 'lerobot' });
    expect(normalization).toEqual({ convention: 'lerobot', state: 'quantile', actions: 'quantile' });
  });

  test('the modes of config.json count where no pipeline says any', () => {
    put('config.json', JSON.stringify({ normalization_mapping: { STATE: 'MEAN_STD', ACTION: 'QUANTILES' } }));
    const file = put('s.safetensors', safetensors(lerobotTensors()));
    expect(found({ family: 'lerobot', file }).normalization.state).toBe('zscore');
  });

  test('relative actions are told', () => {
    const path = preprocessor();
    const text = readFileSync(path, 'utf8').replace(
      '"enabled":false,"exclude_joints":[]',
      '"enabled":true,"exclude_joints":["gripper"]',
    );
    writeFileSync(path, text);
    put(NORMALIZER, safetensors(lerobotTensors()));
    expect(found({ family: 'lerobot' }).notes[0]).toMatch(/relative_to_state: true .* all but gripper/);
  });

  test.each<[string, object, RegExp]>([
    [
      'MIN_MAX',
      { norm_map: { ...QUANTILES, ACTION: 'MIN_MAX' } },
      /ACTION is normalised by MIN_MAX; supported are QUANTILES/,
    ],
    ['toString', { norm_map: { ...QUANTILES, STATE: 'toString' } }, /STATE is normalised by toString/],
    ['another eps', { norm_map: QUANTILES, eps: 1e-6 }, /eps 0.000001/],
    ['a map of numbers', { norm_map: { STATE: 1 } }, /norm_map/],
  ])('refused: %s', (_, config, message) => {
    preprocessor(config);
    put(NORMALIZER, safetensors(lerobotTensors()));
    expect(refused({ family: 'lerobot' })).toMatch(message);
  });

  test('a file of statistics that is elsewhere, absent, cut or absurdly wide', () => {
    const path = preprocessor(undefined, '../other.safetensors');
    expect(refused({ family: 'lerobot' })).toContain(path);
    preprocessor();
    expect(refused({ family: 'lerobot' })).toContain(join(dir, NORMALIZER));
    put(NORMALIZER, safetensors(lerobotTensors()).subarray(0, -8));
    expect(refused({ family: 'lerobot' })).toContain(join(dir, NORMALIZER));
    put(NORMALIZER, safetensors({ ...lerobotTensors(), 'action.q99': new Float32Array(100_000) }));
    expect(refused({ family: 'lerobot' })).toMatch(/action\.q99 holds 100000 values/);
  });

  test('statistics of an older lerobot, among the weights, are refused with the way out', () => {
    put('model.safetensors', safetensors({ 'normalize_inputs.buffer_observation_state.mean': [0] }));
    expect(refused({ family: 'lerobot' })).toMatch(/normalize_inputs\.buffer.*migrate_policy_normalization/);
  });

  test('fuzz: a damaged pipeline gives statistics, nothing, or NORM_STATS_INVALID', () => {
    const original = readFileSync(preprocessor(), 'utf8');
    put(NORMALIZER, safetensors(lerobotTensors()));
    fc.assert(
      fc.property(mutated(original), text => {
        put('policy_preprocessor.json', text);
        try {
          find({ family: 'lerobot' });
        } catch (error) {
          if (!(error instanceof OxygenError)) throw error;
          expect(error.code).toBe('NORM_STATS_INVALID');
        }
      }),
      { seed: 4, numRuns: 200 },
    );
  });
});
