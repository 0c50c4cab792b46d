import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { loadNormStats, type QuantileStats } from '../../src/policies/norm-stats';
import { normalizeQuantile, unnormalizeChunk, unnormalizeQuantile } from '../../src/policies/transforms';
import { readSafetensors, type TestTensor } from '../support/safetensors';

const data = join(__dirname, '../data');
const stats = loadNormStats(join(data, 'transforms/norm_stats.json'));
const golden = readSafetensors(join(data, 'transforms/quantile.safetensors'));

const one = (q01: number, q99: number): QuantileStats => ({
  q01: Float64Array.of(q01),
  q99: Float64Array.of(q99),
});
const rows = (tensor: TestTensor): number[][] => {
  const [n, width] = tensor.shape as [number, number];
  const values = Array.from(tensor.data as Float64Array);
  return Array.from({ length: n }, (_, i) => values.slice(i * width, (i + 1) * width));
};
const expectClose = (actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number): void => {
  expect(actual.length).toBe(expected.length);
  for (let i = 0; i < actual.length; i++) {
    expect(Math.abs(actual[i]! - expected[i]!)).toBeLessThanOrEqual(
      tolerance * Math.max(1, Math.abs(expected[i]!)),
    );
  }
};

describe('golden numbers of openpi', () => {
  test('normalise: the same doubles', () => {
    const state = rows(golden.get('norm.state_in')!).map(row => [...normalizeQuantile(row, stats.state)]);
    expect(state).toEqual(rows(golden.get('norm.quantile.state')!));
    const actions = rows(golden.get('norm.actions_in')!).map(row => [
      ...normalizeQuantile(row.slice(0, 7), stats.actions),
    ]);
    expect(actions).toEqual(rows(golden.get('norm.quantile.actions')!));
  });

  // The reference halves in float32, we in float64: the difference is float32 rounding times the range.
  test('undo: dimensions beyond the statistics pass unchanged', () => {
    const expected = rows(golden.get('unnorm.quantile.actions32')!);
    rows(golden.get('norm.actions_in')!).forEach((row, i) => {
      const out = unnormalizeQuantile(row, stats.actions);
      expectClose(out, expected[i]!, 1e-6);
      expect([...out.slice(7)]).toEqual(row.slice(7));
    });
    const state = rows(golden.get('unnorm.quantile.state')!);
    rows(golden.get('norm.state_in')!).forEach((row, i) =>
      expectClose(unnormalizeQuantile(row, stats.state), state[i]!, 1e-6),
    );
  });

  describe.each(['tiny', 'odd'])('whole_path of %s', config => {
    const { state, actions } = loadNormStats(join(data, `golden/${config}/norm_stats.json`));
    const { cases } = JSON.parse(readFileSync(join(data, `golden/${config}/whole_path.json`), 'utf8')) as {
      cases: { case: string; state: number[]; state_normalized: number[] }[];
    };
    const tensors = readSafetensors(join(data, `golden/${config}/whole_path.safetensors`));
    test.each(cases)('$case', c => {
      expect([...normalizeQuantile(c.state, state)]).toEqual(c.state_normalized);
      const model = tensors.get(`${c.case}.actions`)!;
      const expected = tensors.get(`${c.case}.actions_unnormalized`)!;
      const [horizon, modelDims] = model.shape as [number, number];
      const used = expected.shape[1]!;
      const out = unnormalizeChunk(model.data as Float32Array, horizon, modelDims, used, actions);
      // The stored model actions are float32, the expectation was computed from float64.
      expectClose(out, expected.data as Float64Array, 1e-6);
    });
  });
});

describe('O-10 a dimension that hardly moved', () => {
  test.each([
    [1.568642928, 1.569622485, 0, -3200.49],
    [1.568642928, 1.569622485, 1.5696, 0.952],
    [1.569, 1.569, 1.569, -1],
    [1.569, 1.569, 0, -3_138_001],
  ])('q01 %d, q99 %d, x %d', (q01, q99, x, expected) => {
    const [y] = normalizeQuantile([x], one(q01, q99));
    expect(Math.abs(y! / expected - 1)).toBeLessThan(2e-4);
  });

  test('an action of a constant dimension is that constant', () => {
    expect(unnormalizeQuantile([0.3], one(5, 5))[0]).toBeCloseTo(5, 5);
  });
});

describe('O-11 widths', () => {
  const wide: QuantileStats = { q01: new Float64Array(32).fill(-2), q99: new Float64Array(32).fill(2) };

  test('statistics wider than the state are used from the front', () => {
    expect(normalizeQuantile(new Float64Array(8), wide)).toHaveLength(8);
  });
  test('a state wider than the statistics is refused with both widths', () => {
    const narrow: QuantileStats = { q01: new Float64Array(7), q99: new Float64Array(7) };
    expect(() => normalizeQuantile(new Float64Array(8), narrow)).toThrow(
      expect.objectContaining({ code: 'STATE_INVALID', message: expect.stringMatching(/8 values.*7/) }),
    );
  });
  test('a chunk holds only the dimensions of the robot', () => {
    const values = new Float32Array(2 * 32);
    values[20] = 9;
    values[32 + 20] = 9;
    const out = unnormalizeChunk(values, 2, 32, 7, stats.actions);
    expect(out).toHaveLength(14);
    expect([...out.slice(0, 7)]).toEqual([...unnormalizeQuantile(new Float64Array(7), stats.actions)]);
    expect(Math.max(...out)).toBeLessThan(2);
  });
  test('a chunk that is not [horizon, dims] is a bug and said so', () => {
    const values = new Float32Array(63);
    expect(() => unnormalizeChunk(values, 2, 32, 7, stats.actions)).toThrow(
      expect.objectContaining({ code: 'INTERNAL' }),
    );
    expect(() => unnormalizeChunk(values, 9, 7, 8, stats.actions)).toThrow(
      expect.objectContaining({ code: 'INTERNAL' }),
    );
  });
});

test.each([[NaN], [Infinity], [-Infinity], [undefined]])(
  '%d in the state is refused, naming the dimension',
  bad => {
    const state = [0, 0, bad] as number[];
    expect(() => normalizeQuantile(state, stats.state)).toThrow(
      expect.objectContaining({ code: 'STATE_INVALID', message: expect.stringContaining('Dimension 2') }),
    );
  },
);

test('undoing gives the value back', () => {
  const value = fc.double({ min: -100, max: 100, noNaN: true });
  fc.assert(
    fc.property(value, fc.double({ min: 0.01, max: 50, noNaN: true }), value, (q01, range, x) => {
      const s = one(q01, q01 + range);
      expect(unnormalizeQuantile(normalizeQuantile([x], s), s)[0]).toBeCloseTo(x, 8);
    }),
  );
});
