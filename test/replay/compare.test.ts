import fc from 'fast-check';
import type { ActionDim } from '../../src/core/robot';
import { Comparer } from '../../src/replay/compare';
import { ErrorSums } from '../../src/replay/error-sums';
import { action, at, chunkOf, START } from './robots';

const X = [action('position')];

/** Recorded values of one action: [ms, value]. */
function recording(comparer: Comparer, ...points: readonly (readonly [ms: number, ...values: number[]])[]) {
  for (const [ms, ...values] of points) comparer.recorded(values, at(ms));
}

describe('commands', () => {
  it('are compared with the recorded one in force', () => {
    const comparer = new Comparer(X, START);
    comparer.recorded([1], at(0));
    comparer.command([1.5], true, at(0));
    comparer.command([1.5], true, at(50));
    comparer.recorded([2], at(100));
    comparer.command([1], true, at(100));
    comparer.end();
    // +0.5, +0.5, -1
    const [joint] = comparer.joints();
    expect(joint).toMatchObject({ name: 'position', kind: 'position', max: 1, count: 3 });
    expect(joint!.mae).toBeCloseTo(2 / 3, 12);
    expect(joint!.rmse).toBeCloseTo(Math.sqrt(0.5), 12);
  });

  it('half a second after the last recorded one there is nothing to compare with', () => {
    const comparer = new Comparer(X, START);
    comparer.recorded([1], at(0));
    comparer.command([3], true, at(500));
    comparer.command([9], true, at(500.000001));
    comparer.end();
    expect(comparer.joints()).toMatchObject([{ mae: 2, count: 1 }]);
  });

  it('that only hold do not count, and before the first recorded one nothing does', () => {
    const comparer = new Comparer(X, START);
    comparer.command([5], true, at(0));
    comparer.recorded([1], at(10));
    comparer.command([5], false, at(20));
    comparer.end();
    expect(comparer.joints()).toMatchObject([{ mae: null, rmse: null, max: null, count: 0 }]);
  });

  it('an action that a message does not know keeps the value before', () => {
    const comparer = new Comparer([action('position'), action('velocity')], START);
    recording(comparer, [0, 1, 10], [100, NaN, 20]);
    comparer.command([2, 20], true, at(200));
    comparer.end();
    expect(comparer.joints()).toMatchObject([{ mae: 1, count: 1 }, { mae: 0, count: 1 }]); // prettier-ignore
  });

  it('an older time counts as now', () => {
    const comparer = new Comparer(X, START);
    recording(comparer, [100, 1], [40, 2]);
    comparer.command([2], true, at(110));
    comparer.end();
    expect(comparer.joints()).toMatchObject([{ mae: 0, count: 1 }]);
  });
});

describe('the horizon', () => {
  const STEP_S = 0.05;
  const horizonOf = (
    dim: ActionDim,
    recorded: readonly [number, number][],
    steps: number[],
    startMs = 50,
  ) => {
    const comparer = new Comparer([dim], START);
    comparer.chunk(chunkOf(steps.map(value => [value])), at(startMs), STEP_S);
    recording(comparer, ...recorded);
    comparer.end();
    return comparer.horizon();
  };
  const LINE: [number, number][] = [[0, 1], [100, 2], [200, 4]]; // prettier-ignore

  it.each(['position', 'velocity'] as const)('of a %s: on the line between two recorded ones', kind => {
    // at 50, 100 and 150 ms the line has 1.5, 2 and 3
    expect(horizonOf(action(kind), LINE, [1, 1, 1])).toMatchObject([
      { step: 0, mae: [0.5], rmse: [0.5], count: 1 },
      { step: 1, mae: [1], rmse: [1], count: 1 },
      { step: 2, mae: [2], rmse: [2], count: 1 },
    ]);
  });

  it('of a delta: the recorded one in force', () => {
    expect(horizonOf(action('delta'), LINE, [1, 1, 1]).map(step => step.mae)).toEqual([[0], [1], [1]]);
  });

  it('of a binary: the limit that would play', () => {
    const grip = action('binary', { min: 0, max: 0.08 });
    const recorded: [number, number][] = [[0, 0], [100, 0.08], [200, 0.08]]; // prettier-ignore
    expect(horizonOf(grip, recorded, [0.03, 0.05, 0.03]).map(step => step.mae)).toEqual([[0], [0], [0.08]]);
  });

  it('ends with the recording, and begins with it', () => {
    const late = horizonOf(action('position'), LINE, [2, 2, 2, 2], 150);
    expect(late.map(step => step.count)).toEqual([1, 1, 0, 0]);
    expect(late[2]).toEqual({ step: 2, mae: [null], rmse: [null], count: 0 });
    const early = horizonOf(action('position'), LINE, [2, 2, 2], -50);
    expect(early.map(step => step.mae)).toEqual([[null], [1], [0.5]]);
  });

  it('no line over a gap', () => {
    expect(horizonOf(action('position'), [[0, 1], [500, 2]], [1], 250)).toMatchObject([{ mae: [0.5] }]); // prettier-ignore
    expect(horizonOf(action('position'), [[0, 1], [500.001, 2]], [1], 250)).toMatchObject([{ count: 0 }]); // prettier-ignore
  });

  it('a chunk that was seen long before its end counts once its steps are over', () => {
    const comparer = new Comparer(X, START);
    comparer.chunk(chunkOf([[0], [0], [0]]), at(0), 1);
    for (let ms = 0; ms <= 3000; ms += 100) comparer.recorded([ms / 1000], at(ms));
    expect(comparer.horizon().map(step => step.mae)).toEqual([[0], [1], [2]]);
  });
});

it('remembers eight seconds of a stream of 1 kHz, and not much more', () => {
  const comparer = new Comparer(X, START);
  for (let ms = 0; ms < 20_000; ms++) comparer.recorded([1], at(ms));
  comparer.chunk(chunkOf([[3]]), at(12_000), 0.05);
  comparer.chunk(chunkOf([[7]]), at(3_000), 0.05);
  comparer.end();
  expect(comparer.horizon()).toEqual([{ step: 0, mae: [2], rmse: [2], count: 1 }]);
});

type Event =
  | { readonly ms: number; readonly kind: 'command'; readonly values: number[]; readonly fresh: boolean }
  | { readonly ms: number; readonly kind: 'recorded'; readonly values: number[] }
  | { readonly ms: number; readonly kind: 'chunk'; readonly steps: number[][]; readonly startMs: number };

const DIMS = [action('position'), action('velocity'), action('delta'), action('binary', { min: 0, max: 1 })];
const value = fc.oneof({ weight: 5, arbitrary: fc.integer({ min: -50, max: 50 }) }, fc.constant(NaN));
const row = fc.tuple(value, value, value, fc.constantFrom(0, 1));
const sure = fc.tuple(fc.integer(), fc.integer(), fc.integer(), fc.constantFrom(0, 1));
const ms = fc.integer({ min: 0, max: 100 }).map(n => n * 20);
const events = fc
  .array(
    fc.oneof(
      fc.record({ ms, kind: fc.constant('command' as const), values: sure, fresh: fc.boolean() }),
      fc.record({ ms, kind: fc.constant('recorded' as const), values: row }),
      fc.record({ ms, kind: fc.constant('chunk' as const), steps: fc.array(sure, { minLength: 5, maxLength: 5 }), startMs: ms })
        .map(event => ({ ...event, startMs: Math.min(event.startMs, event.ms) })),
    ),
    { maxLength: 60 },
  )
  .map(list => (list as Event[]).sort((a, b) => a.ms - b.ms)); // prettier-ignore

function tell(list: readonly Event[]): Comparer {
  const comparer = new Comparer(DIMS, START);
  for (const event of list) {
    if (event.kind === 'command') comparer.command(event.values, event.fresh, at(event.ms));
    else if (event.kind === 'recorded') comparer.recorded(event.values, at(event.ms));
    else comparer.chunk(chunkOf(event.steps), at(event.startMs), 0.1);
  }
  comparer.end();
  return comparer;
}

/** All errors as lists, by looking at everything every time. */
function naively(list: readonly Event[]): { joints: number[][]; horizon: number[][][] } {
  const heard = list.filter(event => event.kind !== 'chunk');
  const endMs = Math.max(...heard.map(event => event.ms));
  const known = (d: number) =>
    heard
      .filter(e => e.kind === 'recorded' && !Number.isNaN(e.values[d]))
      // of two at the same time, the later one
      .filter((e, i, all) => all[i + 1]?.ms !== e.ms);
  const force = (d: number, t: number): number => {
    const last = known(d).findLast(event => event.ms <= t);
    return last && t - last.ms <= 500 ? last.values[d]! : NaN;
  };
  const line = (d: number, t: number): number => {
    const left = known(d).findLast(event => event.ms <= t);
    const right = known(d).find(event => event.ms > t);
    if (!left) return NaN;
    if (left.ms === t) return left.values[d]!;
    if (!right || right.ms - left.ms > 500) return NaN;
    const slope = (right.values[d]! - left.values[d]!) / (right.ms - left.ms);
    return left.values[d]! + slope * (t - left.ms);
  };
  const errors = (values: number[]) => values.filter(error => !Number.isNaN(error));
  const joints = DIMS.map((_, d) =>
    errors(heard.map(e => (e.kind === 'command' && e.fresh ? e.values[d]! - force(d, e.ms) : NaN))),
  );
  const chunks = list.filter(event => event.kind === 'chunk');
  const horizon = [0, 1, 2, 3, 4].map(step =>
    DIMS.map((dim, d) =>
      errors(
        chunks.map(({ startMs, steps }) => {
          const t = startMs + 100 * step;
          const recorded = dim.kind === 'position' || dim.kind === 'velocity' ? line(d, t) : force(d, t);
          return t > endMs ? NaN : steps[step]![d]! - recorded;
        }),
      ),
    ),
  );
  return { joints, horizon };
}

const mae = (errors: number[]): number | null =>
  errors.length === 0 ? null : errors.reduce((sum, e) => sum + Math.abs(e), 0) / errors.length;
const rmse = (errors: number[]): number | null =>
  errors.length === 0 ? null : Math.sqrt(errors.reduce((sum, e) => sum + e * e, 0) / errors.length);

function expectNear(got: number | null, want: number | null): void {
  if (want === null || got === null) expect(got).toBe(want);
  else expect(Math.abs(got - want)).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(want)));
}

it('is what looking at everything every time gives', () => {
  fc.assert(
    fc.property(events, list => {
      const comparer = tell(list);
      const naive = naively(list);
      for (const [d, joint] of comparer.joints().entries()) {
        expect(joint.count).toBe(naive.joints[d]!.length);
        expectNear(joint.mae, mae(naive.joints[d]!));
        expectNear(joint.rmse, rmse(naive.joints[d]!));
      }
      for (const { step, mae: maes, rmse: rmses } of comparer.horizon()) {
        DIMS.forEach((_, d) => {
          expectNear(maes[d]!, mae(naive.horizon[step]![d]!));
          expectNear(rmses[d]!, rmse(naive.horizon[step]![d]!));
        });
      }
    }),
    { numRuns: 500 },
  );
});

it('does not mind which of commands, chunks and recorded ones is told first at equal times', () => {
  const kinds = ['command', 'recorded', 'chunk'];
  fc.assert(
    fc.property(events, fc.shuffledSubarray(kinds, { minLength: 3 }), (list, order) => {
      const shuffled = [...list].sort((a, b) => a.ms - b.ms || order.indexOf(a.kind) - order.indexOf(b.kind));
      const [a, b] = [tell(list), tell(shuffled)];
      expect(b.joints()).toEqual(a.joints());
      expect(b.horizon()).toEqual(a.horizon());
    }),
  );
});

it('a replay that equals the recording has no error, and one that is off by c is off by c', () => {
  const stream = fc.array(fc.double({ min: -1e3, max: 1e3, noNaN: true }), { minLength: 1, maxLength: 100 });
  fc.assert(
    fc.property(stream, fc.double({ min: -10, max: 10, noNaN: true }), (values, c) => {
      for (const shift of [0, c]) {
        const comparer = new Comparer(X, START);
        values.forEach((value, i) => {
          comparer.command([value + shift], true, at(20 * i));
          comparer.recorded([value], at(20 * i));
        });
        comparer.chunk(chunkOf(values.map(value => [value + shift])), at(0), 0.02);
        comparer.end();
        const [joint] = comparer.joints();
        const horizon = comparer.horizon();
        expect(joint!.count).toBe(values.length);
        expect(horizon.map(step => step.count)).toEqual(values.map(() => 1));
        const size = Math.abs(shift);
        for (const error of [joint!.mae, joint!.rmse, joint!.max, ...horizon.flatMap(step => step.mae)]) {
          if (shift === 0) expect(error).toBe(0);
          else expect(Math.abs(error! - size)).toBeLessThan(1e-12 * 1e3);
        }
      }
    }),
  );
});

it('tells of every time that is over, with the recorded command beside the replayed one', () => {
  const told: unknown[] = [];
  const comparer = new Comparer(X, START, (ns, replayed, recorded) =>
    told.push([ns, replayed && [...replayed], [...recorded]]),
  );
  comparer.command([7], false, at(10));
  comparer.command([8], true, at(20));
  comparer.recorded([1], at(20));
  comparer.recorded([2], at(30));
  comparer.end();
  expect(told).toEqual([
    [10e6, [7], [NaN]],
    [20e6, [8], [1]],
    [30e6, null, [2]],
  ]);
});

describe('sums of errors', () => {
  const sums = (...errors: number[]): ErrorSums => {
    const all = new ErrorSums();
    for (const error of errors) all.add(error);
    return all;
  };

  it('are null for nothing, and ignore what is not known', () => {
    expect(sums()).toMatchObject({ mae: null, rmse: null, max: null, count: 0 });
    expect(sums(NaN, 3, NaN, -4)).toMatchObject({ mae: 3.5, rmse: Math.sqrt(12.5), max: 4, count: 2 });
    expect(sums(0, 0)).toMatchObject({ mae: 0, rmse: 0, max: 0, count: 2 });
  });

  it('stay finite, whatever comes', () => {
    const { mae, rmse, max } = sums(1e308, -1e308, Infinity, 1e-308, -Infinity);
    for (const figure of [mae, rmse, max]) expect(Number.isFinite(figure)).toBe(true);
    expect(sums(3e200, 4e200).rmse).toBeCloseTo(Math.sqrt(12.5) * 1e200, -190);
    expect(sums(3e-200, 4e-200).rmse! / 1e-200).toBeCloseTo(Math.sqrt(12.5), 9);
  });
});

it('does not get slower with time, with a recording that has stopped', () => {
  const comparer = new Comparer(X, START);
  const chunk = chunkOf(Array.from({ length: 50 }, () => [0]));
  recording(comparer, [0, 1]);
  const secondsOf = (from: number): number => {
    const start = process.hrtime.bigint();
    for (let i = from; i < from + 25_000; i++) {
      comparer.command([i], true, at(i * 14));
      if (i % 14 === 0) comparer.chunk(chunk, at(i * 14), 0.05);
    }
    return Number(process.hrtime.bigint() - start) / 1e9;
  };
  const [first, , , last] = [0, 1, 2, 3].map(i => secondsOf(i * 25_000));
  comparer.end();
  expect(comparer.joints()).toMatchObject([{ count: 36 }]);
  expect(last!).toBeLessThan(5 * Math.max(0.2, first!));
});
