/** Aggregation against the rules of lerobot's queue and of ACT's ensemble, written down here once more. */
import fc from 'fast-check';
import { ChunkTimeline } from '../../src/core/chunk-timeline';
import type { ActionDim } from '../../src/core/robot';
import { AGGREGATIONS } from '../../src/core/types';
import type { ActionChunk, ActionKind, Aggregation } from '../../src/core/types';

const T0 = 1_000_000_000_000n;
const STEP_NS = 50_000_000n; // 20 Hz
const at = (step: number): bigint => T0 + BigInt(Math.round(step * Number(STEP_NS)));
const dim = (kind: ActionKind): ActionDim => ({
  name: kind,
  joint: kind,
  kind,
  min: -1e6,
  max: 1e6,
  maxRate: null,
});
const chunk = (values: readonly number[], observedNs: bigint, epoch = 0): ActionChunk => ({
  observationStampNs: observedNs,
  epoch,
  horizon: values.length,
  dims: 1,
  values: Float64Array.from(values),
});
const timelineOf = (kind: ActionKind, aggregation: Aggregation): ChunkTimeline =>
  new ChunkTimeline([dim(kind)], 20, { aggregation, executeSteps: null });

const PAIRS: Partial<Record<Aggregation, (old: number, fresh: number) => number>> = {
  latest_only: (_, fresh) => fresh,
  weighted_average: (old, fresh) => 0.3 * old + 0.7 * fresh,
  average: (old, fresh) => 0.5 * old + 0.5 * fresh,
  conservative: (old, fresh) => 0.7 * old + 0.3 * fresh,
};

/** What a queue by time step holds after all predictions of a step, oldest first. */
function expected(aggregation: Aggregation, predictions: readonly number[]): number {
  const pair = PAIRS[aggregation];
  if (pair) return predictions.reduce(pair);
  const weights = predictions.map((_, i) => Math.exp(-0.01 * i));
  const total = weights.reduce((a, b) => a + b);
  return predictions.reduce((sum, value, i) => sum + value * weights[i]!, 0) / total;
}

describe.each(AGGREGATIONS)('%s', aggregation => {
  test.each(['position', 'velocity'] as const)('as the step queue says, for %s on one grid', kind => {
    const horizon = 12;
    const chunks = fc.array(
      fc.record({
        gap: fc.integer({ min: 0, max: 8 }),
        values: fc.array(fc.integer({ min: -50, max: 50 }), { minLength: horizon, maxLength: horizon }),
      }),
      { minLength: 1, maxLength: 20 },
    );
    fc.assert(
      fc.property(chunks, list => {
        const timeline = timelineOf(kind, aggregation);
        const predictions = new Map<number, number[]>();
        let step = 0;
        for (const { gap, values } of list) {
          for (let k = 0; k < gap; k++, step++) {
            const { values: played } = timeline.sample(at(step));
            const wanted = predictions.get(step);
            if (wanted === undefined) expect(played).toBeNull();
            else expect(played![0]).toBeCloseTo(expected(aggregation, wanted), 9);
          }
          expect(timeline.accept(chunk(values, at(step)), at(step)).accepted).toBe(true);
          values.forEach((value, k) =>
            predictions.set(step + k, [...(predictions.get(step + k) ?? []), value]),
          );
        }
      }),
    );
  });

  test('deltas and binaries are those of the newest chunk', () => {
    const delta = timelineOf('delta', aggregation);
    delta.accept(chunk([5, 5, 5, 5], at(0)), at(0));
    expect(delta.sample(at(0)).values![0]).toBe(5);
    delta.accept(chunk([9, 7, 7], at(1)), at(1));
    expect([1, 2, 3].map(k => delta.sample(at(k)).values![0])).toEqual([9, 7, 7]);

    const gripper: ActionDim = { ...dim('binary'), min: 0, max: 1 };
    const binary = new ChunkTimeline([gripper], 20, { aggregation, executeSteps: null });
    binary.accept(chunk([0, 0, 0, 0], at(0)), at(0));
    binary.accept(chunk([0.6, 0.6, 0.6], at(1)), at(1));
    expect(binary.sample(at(1)).values![0]).toBe(1);
  });

  test('a chunk of another instruction is not averaged with the one before', () => {
    const timeline = timelineOf('position', aggregation);
    timeline.accept(chunk(new Array(20).fill(0), at(0)), at(0));
    timeline.setEpoch(1, 'continue', at(2));
    timeline.accept(chunk(new Array(20).fill(8), at(2), 1), at(4));
    expect(timeline.sample(at(4)).values![0]).toBe(8);
  });
});

test('where the grids differ, the playing chunk is read between its steps', () => {
  const timeline = timelineOf('position', 'average');
  timeline.accept(chunk([0, 10, 20, 30, 40, 50], at(0)), at(0));
  timeline.accept(chunk([100, 100, 100, 100, 100], at(1.5)), at(1.5));
  expect(timeline.sample(at(1.5)).values![0]).toBeCloseTo((15 + 100) / 2, 9);
  expect(timeline.sample(at(2.5)).values![0]).toBeCloseTo((25 + 100) / 2, 9);
  expect(timeline.sample(at(2)).values![0]).toBeCloseTo((20 + 100) / 2, 9);
});

test('only the part that is played counts as playing', () => {
  const timeline = new ChunkTimeline([dim('velocity')], 20, { aggregation: 'average', executeSteps: 3 });
  timeline.accept(chunk([0, 0, 0, 0, 0, 0], at(0)), at(0));
  timeline.accept(chunk([8, 8, 8, 8, 8, 8], at(2)), at(2));
  expect([2, 3, 4].map(k => timeline.sample(at(k)).values![0])).toEqual([4, 8, 8]);
  expect(timeline.sample(at(5)).source).toBe('hold');
});

test('what plays is told as it is played', () => {
  const timeline = timelineOf('position', 'average');
  expect(timeline.planned(at(0))).toBeNull();
  timeline.accept(chunk([0, 0, 0, 0], at(0)), at(0));
  timeline.accept(chunk([4, 4, 4, 4], at(1)), at(1));
  const planned = timeline.planned(at(2))!;
  expect(planned).toMatchObject({ step: 1, startNs: at(1), stepSeconds: 0.05 });
  expect([...planned.chunk.values]).toEqual([2, 2, 2, 4]);
  expect(timeline.planned(at(5))).toBeNull();
});
