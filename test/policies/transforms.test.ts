import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { loadNormStats, NO_STATS, type FeatureStats } from '../../src/policies/norm-stats';
import {
  addState,
  normalizeState,
  scaler,
  unnormalizeChunk,
  type Scaler,
} from '../../src/policies/transforms';
import { readSafetensors, type TestTensor } from '../support/safetensors';

const data = join(__dirname, '../data');
const stats = loadNormStats(join(data, 'transforms/norm_stats.json'));
const golden = readSafetensors(join(data, 'transforms/transforms.safetensors'));
const lerobot = readSafetensors(join(data, 'transforms/lerobot_norm.safetensors'));

const one = (q01: number, q99: number, convention: 'openpi' | 'lerobot' = 'openpi'): Scaler =>
  scaler({ ...NO_STATS, q01: Float64Array.of(q01), q99: Float64Array.of(q99) }, 'quantile', convention);
const rows = (tensor: TestTensor, width?: number): number[][] => {
  const [n, dims] = tensor.shape as [number, number];
  const values = Array.from(tensor.data as Float64Array);
  return Array.from({ length: n }, (_, i) => values.slice(i * dims, i * dims + (width ?? dims)));
};
const toModel = (tensor: TestTensor, by: Scaler): number[][] =>
  rows(tensor, by.width).map(row => [...normalizeState(row, by)]);
const toRobot = (tensor: TestTensor, by: Scaler): number[][] => rows(tensor).map(row => row.map(by.toRobot));
const expectClose = (actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number): void => {
  expect(actual.length).toBe(expected.length);
  for (let i = 0; i < actual.length; i++) {
    expect(Math.abs(actual[i]! - expected[i]!)).toBeLessThanOrEqual(
      tolerance * Math.max(1, Math.abs(expected[i]!)),
    );
  }
};

describe.each(['quantile', 'zscore'] as const)('golden numbers of openpi: %s', mode => {
  const state = scaler(stats.state, mode, 'openpi');
  const actions = scaler(stats.actions, mode, 'openpi');

  test('normalise: the same doubles', () => {
    expect(toModel(golden.get('norm.state_in')!, state)).toEqual(rows(golden.get(`norm.${mode}.state`)!));
    expect(toModel(golden.get('norm.actions_in')!, actions)).toEqual(
      rows(golden.get(`norm.${mode}.actions`)!),
    );
  });

  // The reference halves in float32, we in float64: the difference is float32 rounding times the range.
  test('undo: dimensions beyond the statistics pass unchanged', () => {
    const out = toRobot(golden.get('norm.actions_in')!, actions);
    expectClose(out.flat(), golden.get(`unnorm.${mode}.actions32`)!.data as Float64Array, 2e-6);
    const raw = rows(golden.get('norm.actions_in')!);
    expect(out.map(row => row.slice(7))).toEqual(raw.map(row => row.slice(7)));
    const undone = toRobot(golden.get('norm.state_in')!, state);
    expectClose(undone.flat(), golden.get(`unnorm.${mode}.state`)!.data as Float64Array, 1e-6);
  });
});

describe.each([
  ['quantile', 'quantiles'],
  ['zscore', 'mean_std'],
] as const)('golden numbers of lerobot, bit for bit: %s', (mode, name) => {
  test.each(['state', 'actions'] as const)('%s', feature => {
    const by = scaler(stats[feature], mode, 'lerobot');
    const input = lerobot.get(`${feature}_in`)!;
    expect(toModel(input, by)).toEqual(rows(lerobot.get(`${name}.${feature}`)!));
    expect(toRobot(input, by)).toEqual(rows(lerobot.get(`un_${name}.${feature}`)!));
  });
});

describe.each(['tiny', 'odd'])('whole_path of %s', config => {
  const file = loadNormStats(join(data, `golden/${config}/norm_stats.json`));
  const [state, actions] = [file.state, file.actions].map(s => scaler(s, 'quantile', 'openpi')) as [
    Scaler,
    Scaler,
  ];
  const { cases } = JSON.parse(readFileSync(join(data, `golden/${config}/whole_path.json`), 'utf8')) as {
    cases: { case: string; state: number[]; state_normalized: number[] }[];
  };
  const tensors = readSafetensors(join(data, `golden/${config}/whole_path.safetensors`));
  test.each(cases)('$case', c => {
    expect([...normalizeState(c.state, state)]).toEqual(c.state_normalized);
    const model = tensors.get(`${c.case}.actions`)!;
    const expected = tensors.get(`${c.case}.actions_unnormalized`)!;
    const [horizon, modelDims] = model.shape as [number, number];
    const used = expected.shape[1]!;
    const out = unnormalizeChunk(model.data as Float32Array, horizon, modelDims, used, actions);
    // The stored model actions are float32, the expectation was computed from float64.
    expectClose(out, expected.data as Float64Array, 1e-6);
  });
});

describe('relative actions', () => {
  test('golden numbers of openpi: the state is added where the mask says so, step by step', () => {
    const values = Float64Array.from(rows(golden.get('norm.actions_in')!).flat());
    const mask = Array.from({ length: 32 }, (_, i) => (i < 14 && i % 7 !== 6 ? i : null));
    addState(values, mask, golden.get('delta.state')!.data as Float64Array);
    expect([...values]).toEqual([...(golden.get('delta.delta_to_abs32')!.data as Float64Array)]);
  });

  test('the state index need not be that of the action', () => {
    const values = Float64Array.of(1, 2, 3, 4);
    addState(values, [1, null], [10, 20]);
    expect([...values]).toEqual([21, 2, 23, 4]);
  });
});

describe('O-10 a dimension that hardly moved', () => {
  test.each([
    [1.568642928, 1.569622485, 0, -3200.49],
    [1.568642928, 1.569622485, 1.5696, 0.952],
    [1.569, 1.569, 1.569, -1],
    [1.569, 1.569, 0, -3_138_001],
  ])('openpi: q01 %d, q99 %d, x %d', (q01, q99, x, expected) => {
    const [y] = normalizeState([x], one(q01, q99));
    expect(Math.abs(y! / expected - 1)).toBeLessThan(2e-4);
  });

  test('lerobot divides by 1e-8 instead', () => {
    const [y] = normalizeState([5.001], one(5, 5, 'lerobot'));
    expect(Math.abs(y! / 199_999 - 1)).toBeLessThan(1e-3); // its float32 knows 5.001 to 1e-7
    expect([...normalizeState([5], one(5, 5, 'lerobot'))]).toEqual([-1]);
  });

  test.each(['openpi', 'lerobot'] as const)('%s: an action of a constant dimension is that constant', c => {
    expect(one(5, 5, c).toRobot(0.3, 0)).toBeCloseTo(5, 5);
  });
});

describe('O-11 widths', () => {
  const wide: FeatureStats = {
    ...NO_STATS,
    q01: new Float64Array(32).fill(-2),
    q99: new Float64Array(32).fill(2),
  };
  const actions = scaler(stats.actions, 'quantile', 'openpi');

  test('(b) statistics wider than the state are used from the front', () => {
    expect([...normalizeState(new Float64Array(8), scaler(wide, 'quantile', 'openpi'))]).toHaveLength(8);
  });
  test('(c) a state wider than the statistics is refused with both widths', () => {
    expect(() => normalizeState(new Float64Array(8), actions)).toThrow(
      expect.objectContaining({ code: 'STATE_INVALID', message: expect.stringMatching(/8 values.*7/) }),
    );
  });
  test('(d) a chunk holds only the dimensions of the robot', () => {
    const values = new Float32Array(2 * 32);
    values[20] = 9;
    values[32 + 20] = 9;
    const out = unnormalizeChunk(values, 2, 32, 7, actions);
    expect(out).toHaveLength(14);
    expect([...out.slice(0, 7)]).toEqual(new Array(7).fill(0).map(actions.toRobot));
    expect(Math.max(...out)).toBeLessThan(2);
  });
  test('a chunk that is not [horizon, dims] is a bug and said so', () => {
    const values = new Float32Array(63);
    for (const [horizon, dims, used] of [
      [2, 32, 7],
      [9, 7, 8],
    ] as const)
      // prettier-ignore
      expect(() => unnormalizeChunk(values, horizon, dims, used, actions)).toThrow(
        expect.objectContaining({ code: 'INTERNAL' }),
      );
  });
});

test.each(['identity', 'missing'] as const)('%s: numbers of any width pass as they are', mode => {
  const by = scaler(NO_STATS, mode, 'openpi');
  expect([...normalizeState([7, -3], by)]).toEqual([7, -3]);
  expect(by.toRobot(0.3, 40)).toBe(0.3);
});

test.each([[NaN], [Infinity], [-Infinity], [undefined]])(
  '%d in the state is refused, naming the dimension, also without statistics',
  bad => {
    const state = [0, 0, bad] as number[];
    for (const by of [scaler(stats.state, 'quantile', 'openpi'), scaler(NO_STATS, 'missing', 'openpi')])
      expect(() => normalizeState(state, by)).toThrow(
        expect.objectContaining({ code: 'STATE_INVALID', message: expect.stringContaining('Dimension 2') }),
      );
  },
);

test('undoing gives the value back', () => {
  const value = fc.double({ min: -100, max: 100, noNaN: true });
  fc.assert(
    fc.property(value, fc.double({ min: 0.01, max: 50, noNaN: true }), value, (q01, range, x) => {
      const by = one(q01, q01 + range);
      expect(by.toRobot(normalizeState([x], by)[0]!, 0)).toBeCloseTo(x, 8);
    }),
  );
});
