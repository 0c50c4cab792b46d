import fc from 'fast-check';
import { ChunkTimeline } from '../../src/core/chunk-timeline';
import type { ActionDim } from '../../src/core/robot';
import { AGGREGATIONS } from '../../src/core/types';
import type { ActionChunk, ActionKind } from '../../src/core/types';

const TICK_HZ = 70;
const T0 = 1_000_000_000_000n;
const ms = (value: number): bigint => BigInt(Math.round(value * 1e6));
const tick = (n: number): bigint => T0 + BigInt(Math.round((n * 1e9) / TICK_HZ));

const dim = (kind: ActionKind, over: Partial<ActionDim> = {}): ActionDim => ({
  name: kind,
  joint: kind,
  kind,
  min: -1000,
  max: 1000,
  maxRate: null,
  ...over,
});

const chunk = (steps: readonly (readonly number[])[], observedNs: bigint, epoch = 0): ActionChunk => ({
  observationStampNs: observedNs,
  epoch,
  horizon: steps.length,
  dims: steps[0]!.length,
  values: Float64Array.from(steps.flat()),
});

const ramp = (count: number, from = 0): number[][] => Array.from({ length: count }, (_, k) => [from + k]);

/** Chunks that come at random: observed after some ticks, ready after some more, at changing speeds. */
const streams = fc.record({
  hz: fc.integer({ min: 10, max: 140 }),
  aggregation: fc.constantFrom(...AGGREGATIONS),
  executeSteps: fc.option(fc.integer({ min: 1, max: 45 }), { nil: null }),
  arrivals: fc.array(
    fc.record({
      waits: fc.integer({ min: 0, max: 40 }),
      latency: fc.integer({ min: 0, max: 30 }),
      speed: fc.constantFrom(1, 1, 0.5, 0.123, 0),
      stall: fc.constantFrom(0, 0, 3, 14, 30),
    }),
    { maxLength: 12 },
  ),
});

describe('speed of play (O-26)', () => {
  test('a ramp of 50 steps at 50 Hz lasts 1.0 s on a 70 Hz timer', () => {
    const timeline = new ChunkTimeline([dim('position')], 50);
    timeline.accept(chunk(ramp(50), T0), tick(0));
    const samples = Array.from({ length: 80 }, (_, n) => timeline.sample(tick(n)));
    expect(samples.filter(s => s.source === 'chunk')).toHaveLength(70);
    expect(samples[0]!.values![0]).toBe(0);
    expect(samples[35]!.values![0]).toBeCloseTo(25, 3);
    expect(samples[71]!.source).toBe('hold');
    expect(samples[71]!.values).toBeNull();
  });

  test('velocities are held while the chunk lasts, not interpolated', () => {
    const timeline = new ChunkTimeline([dim('velocity')], 50);
    timeline.accept(chunk(ramp(10), T0), T0);
    expect(timeline.sample(T0 + ms(19.9)).values![0]).toBe(0);
    expect(timeline.sample(T0 + ms(20)).values![0]).toBe(1);
    expect(timeline.sample(T0 + ms(200)).source).toBe('hold');
  });

  test('binaries leave as one of the two limits', () => {
    const timeline = new ChunkTimeline([dim('binary', { min: 0, max: 1 })], 10);
    timeline.accept(chunk([[0.49], [0.5], [7]], T0), T0);
    expect([0, 100, 200].map(t => timeline.sample(T0 + ms(t)).values![0])).toEqual([0, 1, 1]);
  });
});

describe('splice and cold start (O-25)', () => {
  test('(a) the first action after a slow first inference is number 0', () => {
    const timeline = new ChunkTimeline([dim('position')], TICK_HZ);
    expect(timeline.accept(chunk(ramp(50), tick(0)), tick(21))).toMatchObject({
      accepted: true,
      firstStep: 0,
    });
    expect(timeline.sample(tick(21)).values![0]).toBe(0);
  });

  test('(b) after six actions sent since the observation the next is number 6', () => {
    const timeline = new ChunkTimeline([dim('position')], TICK_HZ);
    timeline.accept(chunk(ramp(50), tick(79)), tick(90));
    for (let n = 90; n < 106; n++) timeline.sample(tick(n));
    timeline.accept(chunk(ramp(50, 1000), tick(100)), tick(106));
    expect(timeline.sample(tick(106)).values![0]).toBeCloseTo(1006, 3);
  });

  test('(b) only playing time counts: half of the inference spent in hold skips nothing for that half', () => {
    const timeline = new ChunkTimeline([dim('position')], TICK_HZ);
    timeline.accept(chunk(ramp(10), tick(0)), tick(0));
    const second = timeline.accept(chunk(ramp(50, 1000), tick(7)), tick(17));
    expect(second).toMatchObject({ accepted: true });
    expect((second as { firstStep: number }).firstStep).toBeCloseTo(3, 3);
  });

  test('(c) a warm-up of 3 s leaves no trace in later splices', () => {
    const timeline = new ChunkTimeline([dim('position')], 50);
    timeline.accept(chunk(ramp(50), T0), T0 + ms(3000));
    const second = timeline.accept(chunk(ramp(50), T0 + ms(3100)), T0 + ms(3180));
    expect(second).toEqual({ accepted: true, startNs: T0 + ms(3100), stepSeconds: 0.02, firstStep: 4 });
  });

  test('a linear trajectory has no step larger than inside a chunk, whatever arrives when', () => {
    fc.assert(
      fc.property(streams, ({ hz, aggregation, executeSteps, arrivals }) => {
        const timeline = new ChunkTimeline([dim('position')], hz, { aggregation, executeSteps });
        // The robot is where the last command says; a chunk goes on from there with one unit per step.
        let value = 0;
        let resting = true;
        let n = 0;
        let speed = 1;
        const play = (ticks: number): void => {
          for (let i = 0; i < ticks; i++, n++) {
            const { values } = timeline.sample(tick(n));
            const step = (values?.[0] ?? value) - value;
            const ordinary = (hz / TICK_HZ) * speed;
            // The last step of a chunk has no next one to go to: what follows it may be one step away.
            expect(step).toBeLessThanOrEqual(Math.max(ordinary, resting ? 1 : 0) + 1e-5);
            expect(step).toBeGreaterThanOrEqual(-1e-5);
            value += step;
            resting = step < ordinary - 1e-5;
            speed = timeline.speed;
          }
        };
        timeline.accept(chunk(ramp(50), T0), T0);
        for (const { waits, latency, speed: next } of arrivals) {
          play(waits);
          timeline.setSpeed(next, tick(n));
          const observed = { atNs: tick(n), value: timeline.sample(tick(n)).values?.[0] ?? value };
          play(latency);
          timeline.accept(chunk(ramp(50, observed.value), observed.atNs), tick(n));
        }
        play(150);
      }),
    );
  });

  test('a chunk whose steps have all been consumed is refused', () => {
    const timeline = new ChunkTimeline([dim('position')], 50);
    timeline.accept(chunk(ramp(50), T0), T0);
    expect(timeline.accept(chunk(ramp(10), T0), T0 + ms(500))).toEqual({ accepted: false, reason: 'late' });
    expect(timeline.sample(T0 + ms(500)).values![0]).toBeCloseTo(25, 6);
  });

  test('a chunk with a NaN is refused as a whole and the playing one goes on', () => {
    const timeline = new ChunkTimeline([dim('position')], 50);
    timeline.accept(chunk(ramp(50), T0), T0);
    const bad = chunk([[1], [NaN]], T0);
    expect(timeline.accept(bad, T0 + ms(20))).toEqual({ accepted: false, reason: 'non-finite' });
    expect(timeline.sample(T0 + ms(20)).values![0]).toBe(1);
  });
});

describe('execute_steps', () => {
  test('counts from the step at which a chunk enters, so that a slow engine loses none', () => {
    const timeline = new ChunkTimeline([dim('velocity')], 20, {
      aggregation: 'latest_only',
      executeSteps: 5,
    }); // 250 ms of each chunk of 500 ms
    const values = (fromMs: number) =>
      [0, 49, 50, 199, 249].map(t => timeline.sample(T0 + ms(fromMs + t)).values?.[0]);
    timeline.accept(chunk(ramp(10), T0), T0);
    expect(values(0)).toEqual([0, 0, 1, 3, 4]);
    expect(timeline.sample(T0 + ms(250)).source).toBe('hold');
    // Observed as the first began, ready 400 ms later: the 5 steps played meanwhile are skipped.
    expect(timeline.accept(chunk(ramp(10, 100), T0), T0 + ms(400))).toMatchObject({
      accepted: true,
      firstStep: 5,
    });
    expect(values(400)).toEqual([105, 105, 106, 108, 109]);
    expect(timeline.sample(T0 + ms(650)).source).toBe('hold');
  });

  test('deltas: never more than that many of one chunk', () => {
    const timeline = new ChunkTimeline([dim('delta')], 20, { aggregation: 'latest_only', executeSteps: 5 });
    timeline.accept(chunk(ramp(10), T0), T0);
    const sent = Array.from({ length: 70 }, (_, n) => timeline.sample(tick(n)).values?.[0] ?? 0);
    expect(sent.filter(value => value !== 0)).toEqual([1, 2, 3, 4]);
  });
});

describe('deltas', () => {
  const rates = fc.integer({ min: 5, max: 200 });

  test('the sum of what is sent equals the sum of the chunk, at any rate', () => {
    fc.assert(
      fc.property(
        rates,
        fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 1, maxLength: 60 }),
        (hz, steps) => {
          const timeline = new ChunkTimeline([dim('delta')], hz);
          timeline.accept(
            chunk(
              steps.map(s => [s]),
              T0,
            ),
            T0,
          );
          let sum = 0;
          for (let n = 0; n < 70 * 13; n++) sum += timeline.sample(tick(n)).values?.[0] ?? 0;
          expect(sum).toBe(steps.reduce((a, b) => a + b, 0));
        },
      ),
    );
  });

  test('a tick without a due delta sends 0, and none is interpolated', () => {
    const timeline = new ChunkTimeline([dim('delta')], 10);
    timeline.accept(chunk([[5], [7]], T0), T0);
    const sent = Array.from({ length: 16 }, (_, n) => timeline.sample(tick(n)).values?.[0] ?? 0);
    expect(sent.filter(value => value !== 0)).toEqual([5, 7]);
  });

  test('across splices, speeds and stalls every delta is sent once: the n-th of the stream has number n', () => {
    fc.assert(
      fc.property(streams, ({ hz, aggregation, executeSteps, arrivals }) => {
        const timeline = new ChunkTimeline([dim('delta')], hz, { aggregation, executeSteps });
        let n = 0;
        let count = 0;
        let end = 0;
        const play = (ticks: number): void => {
          for (let i = 0; i < ticks; i++, n++) {
            const { values, lostDeltas } = timeline.sample(tick(n));
            count += lostDeltas;
            // What is sent is the sum of the next numbers: none twice, none left out.
            let left = values?.[0] ?? 0;
            while (left > 0) left -= ++count;
            expect(left).toBe(0);
          }
        };
        // The world that an observation sees has moved by what was sent before it.
        const arrive = (observedNs: bigint, observedCount: number): void => {
          if (!timeline.accept(chunk(ramp(40, observedCount + 1), observedNs), tick(n)).accepted) return;
          end = Math.min(observedCount + 40, count + (executeSteps ?? Infinity));
        };
        arrive(T0, 0);
        for (const { waits, latency, speed, stall } of arrivals) {
          play(waits);
          timeline.setSpeed(speed, tick(n));
          const observed = { atNs: tick(n), count };
          play(latency);
          arrive(observed.atNs, observed.count);
          n += stall;
        }
        timeline.setSpeed(1, tick(n));
        play(Math.ceil((41 / hz) * TICK_HZ) + 20);
        expect(count).toBe(end);
      }),
    );
  });

  test('up to 250 ms late they are sent together, later ones are told as lost', () => {
    const timeline = new ChunkTimeline([dim('delta')], 20);
    timeline.accept(chunk(ramp(20, 1), T0), T0);
    expect(timeline.sample(T0 + ms(240))).toMatchObject({ values: Float64Array.of(15), lostDeltas: 0 });
    expect(timeline.sample(T0 + ms(601))).toMatchObject({
      values: Float64Array.of(9 + 10 + 11 + 12 + 13),
      lostDeltas: 3,
    });
  });
});

describe('epochs (O-27)', () => {
  test('the old chunk goes on, an old inference is not started, the new one takes over', () => {
    const timeline = new ChunkTimeline([dim('position')], 70);
    timeline.accept(chunk(ramp(50), tick(190)), tick(190));
    timeline.setEpoch(1, 'continue', tick(200));
    expect(timeline.accept(chunk(ramp(50, 500), tick(198)), tick(203))).toEqual({
      accepted: false,
      reason: 'epoch',
    });
    expect(timeline.sample(tick(206)).values![0]).toBeCloseTo(16, 3);
    timeline.accept(chunk(ramp(50, 1000), tick(201), 1), tick(207));
    expect(timeline.sample(tick(207)).values![0]).toBeCloseTo(1006, 3);
  });

  test('hold stops at once', () => {
    const timeline = new ChunkTimeline([dim('position')], 70);
    timeline.accept(chunk(ramp(50), tick(190)), tick(190));
    timeline.setEpoch(1, 'hold', tick(200));
    expect(timeline.sample(tick(200))).toMatchObject({ values: null, source: 'none' });
  });

  test('after a clear the clock may jump back', () => {
    const timeline = new ChunkTimeline([dim('position')], 70);
    timeline.accept(chunk(ramp(50), tick(900)), tick(900));
    timeline.clear();
    expect(timeline.accept(chunk(ramp(50), tick(0)), tick(2))).toMatchObject({
      accepted: true,
      firstStep: 0,
    });
  });
});
