import fc from 'fast-check';
import { quantile } from '../../src/core/statistics';
import { Curves, MAX_POINTS } from '../../src/replay/curves';
import { ACCURACY, LatencySketch } from '../../src/replay/latency-sketch';
import { MAX_BUCKETS, RateBuckets } from '../../src/replay/rate-buckets';
import { action } from './robots';

const X = [action('position', { min: -2, max: 3 })];
const one = (value: number): Float64Array => Float64Array.of(value);

describe('curves', () => {
  const curve = (points: readonly (readonly [ms: number, replayed: number | null, recorded: number])[]) => {
    const curves = new Curves();
    for (const [ms, replayed, recorded] of points) {
      curves.add(ms * 1e6, replayed === null ? null : one(replayed), one(recorded));
    }
    return curves.series(X)[0]!;
  };

  it('have replayed and recorded values at the same times, null where there is nothing', () => {
    expect(curve([[5000, 1, NaN], [5014, 1.5, 2], [5030, null, 2.5]])).toEqual({
      name: 'position',
      kind: 'position',
      min: -2,
      max: 3,
      t: [5, 5.014, 5.03],
      replayed: [1, 1.5, null],
      recorded: [null, 2, 2.5],
    }); // prettier-ignore
  });

  it('a command is worth more than a moment that only has a recorded one', () => {
    expect(curve([[0, null, 1], [4, 7, 2], [6, 8, 3]])).toMatchObject({ t: [0.004], replayed: [7], recorded: [2] }); // prettier-ignore
  });

  it('keep every command of a short bag, wherever it begins', () => {
    const commands = Array.from({ length: 1400 }, (_, i) => [3_600_000 + (i * 1000) / 70, i, 2 * i] as const);
    const { replayed, recorded } = curve(commands);
    expect(replayed).toEqual(commands.map(([, i]) => i));
    expect(recorded).toEqual(commands.map(([, , i]) => i));
  });

  it('keep the first command of each slot; how long a slot is depends on the length alone', () => {
    const gaps = fc.array(
      fc.oneof(
        { weight: 20, arbitrary: fc.integer({ min: 1, max: 40 }) },
        fc.integer({ min: 1, max: 100_000 }),
      ),
      { minLength: 1, maxLength: 2000, size: 'max' },
    );
    fc.assert(
      fc.property(gaps, fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }), (gaps, moves) => {
        let ms = 0;
        const points = gaps.map((gap, i) => [(ms += gap), moves[i % moves.length] ? i : null, i] as const);
        const { t, replayed, recorded } = curve(points);
        const [from, to] = [points[0]![0], ms];
        let slotMs = 10;
        while (to - from >= slotMs * MAX_POINTS) slotMs *= 2;
        const slotOf = (at: number) => Math.floor((at - from) / slotMs);
        const kept = [...new Set(points.map(([at]) => slotOf(at)))].map(n => {
          const slot = points.filter(([at]) => slotOf(at) === n);
          return slot.find(([, value]) => value !== null) ?? slot[0]!;
        });
        expect(t).toEqual(kept.map(([at]) => at / 1000));
        expect(replayed).toEqual(kept.map(([, value]) => value));
        expect(recorded).toEqual(kept.map(([, , value]) => value));
      }),
      { numRuns: 20 },
    );
  });

  it('are bounded after a day', () => {
    const curves = new Curves();
    for (let i = 0; i < 86_400; i++) curves.add(i * 1e9, one(i), one(NaN));
    const { t } = curves.series(X)[0]!;
    expect(t.length).toBeLessThanOrEqual(MAX_POINTS);
    expect(t.length).toBeGreaterThan(MAX_POINTS / 2);
  });
});

describe('latencies', () => {
  const sketchOf = (values: readonly number[]): LatencySketch => {
    const sketch = new LatencySketch();
    for (const value of values) sketch.add(value);
    return sketch;
  };

  it('quantiles are those of the sorted values, within a thousandth', () => {
    const durations = fc.array(fc.double({ min: 0.001, max: 1e7, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(durations, values => {
        const found = sketchOf(values).quantiles()!;
        expect(found).toMatchObject({ count: values.length, max: Math.max(...values) });
        for (const [name, q] of [['p50', 0.5], ['p95', 0.95], ['p99', 0.99]] as const) {
          const exact = quantile(values, q);
          expect(Math.abs(found[name] - exact)).toBeLessThanOrEqual(ACCURACY * exact * (1 + 1e-9));
        }
        const mean = values.reduce((a, b) => a + b, 0) / values.length;
        expect(Math.abs(found.mean - mean)).toBeLessThanOrEqual(1e-9 * mean);
      }),
    ); // prettier-ignore
  });

  it('equal ones stay as they are', () => {
    expect(sketchOf([412, 412, 412]).quantiles()).toEqual({ count: 3, mean: 412, p50: 412, p95: 412, p99: 412, max: 412 }); // prettier-ignore
    expect(sketchOf([412, 412, 412]).histogram()).toEqual({ from_ms: 410, bin_ms: 5, counts: [3] });
  });

  it('nothing, zero, before zero and ages', () => {
    expect(sketchOf([]).quantiles()).toBeNull();
    expect(sketchOf([]).histogram()).toEqual({ from_ms: 0, bin_ms: 1, counts: [] });
    expect(sketchOf([0, -5]).quantiles()).toEqual({ count: 2, mean: 0, p50: 0, p95: 0, p99: 0, max: 0 });
    expect(sketchOf([0, -5]).histogram()).toEqual({ from_ms: 0, bin_ms: 0.001, counts: [2] });
    expect(sketchOf([1e12]).quantiles()).toMatchObject({ p50: 1e12, max: 1e12 });
  });

  it('a histogram has equal bins, and the last one all that is longer', () => {
    const values = Array.from({ length: 2000 }, (_, i) => 100.25 + (i % 100) * 0.5);
    // 100.25 to 149.75 in bins of 2, which span more than a percent of 150
    expect(sketchOf([...values, 9000]).histogram()).toEqual({
      from_ms: 100,
      bin_ms: 2,
      counts: [...Array<number>(25).fill(80), ...Array<number>(14).fill(0), 1],
    });
  });

  it('a histogram loses nothing, and is short', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { minLength: 1 }), values => {
        const { from_ms, bin_ms, counts } = sketchOf(values).histogram();
        expect(counts.reduce((a, b) => a + b, 0)).toBe(values.length);
        expect(counts.length).toBeLessThanOrEqual(40);
        expect(from_ms).toBeLessThanOrEqual(Math.min(...values));
        expect(bin_ms).toBeGreaterThan(0);
      }),
    );
  });
});

describe('rates', () => {
  it('are per second of each bucket, the last one as long as it is', () => {
    const rates = new RateBuckets(10e9);
    for (let ms = 0; ms < 2400; ms += 100) rates.add(10e9 + ms * 1e6, { chunks: 1 });
    rates.add(10.5e9, { tokens: 6, steps: 3, rows: 6 });
    rates.add(10.6e9, { steps: 1, rows: 4 });
    rates.add(12.3e9, { drops: 2 });
    // 2.4 s: one bucket of 1 s and one of 1.4 s
    const { every_s, t, replan_hz, tokens_per_s, batch, drops } = rates.series(12.4e9);
    expect({ every_s, t, tokens_per_s, batch, drops }).toEqual({
      every_s: 1,
      t: [10, 11],
      tokens_per_s: [6, 0],
      batch: [2.5, 0],
      drops: [0, 2],
    });
    expect(replan_hz[0]).toBeCloseTo(10, 12);
    expect(replan_hz[1]).toBeCloseTo(10, 12);
  });

  it('nothing played is no rate', () => {
    const rates = new RateBuckets(0);
    expect(rates.series(0)).toMatchObject({
      t: [0],
      replan_hz: [0],
      tokens_per_s: [0],
      batch: [0],
      drops: [0],
    });
  });

  it('are quiet where nothing happened', () => {
    const rates = new RateBuckets(0);
    rates.add(0, { chunks: 4 });
    expect(rates.series(3e9).replan_hz).toEqual([4, 0, 0]);
  });

  it('lose nothing, whatever the length', () => {
    const events = fc.array(fc.tuple(fc.integer({ min: 0, max: 4e6 }), fc.integer({ min: 1, max: 9 })), {
      minLength: 1,
    });
    fc.assert(
      fc.property(events, fc.integer({ min: 1, max: 4e6 }), (events, seconds) => {
        const rates = new RateBuckets(0);
        for (const [s, n] of events) rates.add(s * 1e9, { chunks: n, drops: n });
        const series = rates.series(seconds * 1e9);
        const all = events.reduce((sum, [, n]) => sum + n, 0);
        expect(series.drops.reduce((a, b) => a + b, 0)).toBe(all);
        expect(series.t.length).toBeLessThanOrEqual(MAX_BUCKETS);
        expect(series.t.length).toBe(series.replan_hz.length);
        const lengths = series.t.map((t, i) => (series.t[i + 1] ?? seconds) - t);
        const counted = series.replan_hz.reduce((sum, hz, i) => sum + hz * lengths[i]!, 0);
        expect(Math.abs(counted - all)).toBeLessThan(1e-6 * all);
      }),
    ); // prettier-ignore
  });
});
