/** The promises of the action stream, whatever comes in whatever order. */
import fc from 'fast-check';
import { GATE_MODES } from '../../src/core/safety';
import type { GateMode } from '../../src/core/safety';
import { AGGREGATIONS } from '../../src/core/types';
import { Control } from '../../src/ros/control';
import type { ControlSettings } from '../../src/ros/control';
import { parseRobot } from '../../src/ros/robot-file';

const robot = parseRobot(
  `name: r
cameras: { a: {} }
state: { joints: [arm, lift] }
actions:
  - { name: arm, kind: position, min: -1, max: 1, max_rate: 2 }
  - { name: lift, kind: position, min: 0, max: 0.5 }
  - { name: wheel, kind: velocity, min: -1, max: 1, max_rate: 5 }
  - { name: nudge, kind: delta, min: -0.3, max: 0.3, max_rate: 3 }
  - { name: grip, kind: binary, min: 0, max: 1 }
rates: { train_hz: 20 }`,
  'r.yaml',
);
const { length } = robot.actions;
const FAULT_AFTER = 3;
const MAX_START_JUMP = 0.2;
const RETURN_SECONDS = 5;

const number = fc.oneof(
  { weight: 20, arbitrary: fc.double({ min: -1.3, max: 1.3, noNaN: true }) },
  fc.constantFrom(1e300, -1e300),
);
const measured = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(fc.double({ min: -0.4, max: 0.4, noNaN: true }), fc.constantFrom(0.1, 0.2)),
  },
  fc.constant(null),
  fc.tuple(
    fc.oneof(fc.double({ min: -1.5, max: 1.5, noNaN: true }), fc.constantFrom(NaN, Infinity)),
    fc.oneof(fc.double({ min: -0.1, max: 0.6, noNaN: true }), fc.constant(NaN)),
  ),
);
const settings: fc.Arbitrary<ControlSettings> = fc.record({
  aggregation: fc.constantFrom(...AGGREGATIONS),
  executionHorizon: fc.option(fc.integer({ min: 1, max: 12 })),
  speedScale: fc.constantFrom(1, 1, 0.5, 0.1, 0),
  rampMs: fc.constantFrom(0, 100, 300),
  limits: fc
    .tuple(
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.boolean(),
    )
    .map(([a, b, slow]) =>
      robot.actions.map(({ min, max, maxRate }) => ({
        min: min * a,
        max: max * b,
        maxRate: slow ? (maxRate ?? 4) / 2 : maxRate,
      })),
    ),
});

type Event =
  | { do: 'ticks'; count: number; gapMs: number; measured: [number, number] | null }
  | { do: 'chunk'; values: number[]; bad: boolean; ageMs: number; old: boolean }
  | { do: 'change'; settings: ControlSettings }
  | { do: 'enable'; on: boolean }
  | { do: 'reset' | 'activate' | 'bad' | 'stop' | 'epoch' };

const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('ticks' as const),
      count: fc.integer({ min: 1, max: 20 }),
      gapMs: fc.constantFrom(14, 14, 14, 1, 60, 400, -50),
      measured,
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('chunk' as const),
      values: fc.integer({ min: 1, max: 10 }).chain(n => fc.array(number, { minLength: n * length, maxLength: n * length })), // prettier-ignore
      bad: fc.constantFrom(false, false, false, true),
      ageMs: fc.integer({ min: 0, max: 600 }),
      old: fc.constantFrom(false, false, false, true),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('change' as const), settings }) },
  fc.record({ do: fc.constant('enable' as const), on: fc.constantFrom(true, true, false) }),
  fc.record({ do: fc.constantFrom('reset' as const, 'activate' as const, 'bad' as const, 'stop' as const, 'epoch' as const) }), // prettier-ignore
);

/** Jest's expect takes its time, and there are a million of them. */
function check(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}
const inside = (value: number, min: number, max: number): boolean => value >= min && value <= max;
/** What the rate limit grants for a gap between two ticks. */
const seconds = (gapMs: number): number => Math.min(0.05, Math.max(0, gapMs / 1000));

/** Plays the events and checks every tick. */
class Watch {
  readonly #control: Control;
  #settings: ControlSettings;
  /** A new one counts from the tick after the next on. */
  #speed: number;
  #nowNs = 1_000_000_000_000n;
  #steadyMs = 0;
  #epoch = 0;
  #last: Float64Array | null = null;
  #repose = true;
  #fault = false;
  readonly seen: Record<GateMode, number> = { off: 0, hold: 0, ramp: 0, active: 0, fault: 0 };

  constructor(first: ControlSettings) {
    this.#settings = first;
    this.#speed = first.speedScale;
    this.#control = new Control(robot, { faultAfter: FAULT_AFTER, maxStartJump: MAX_START_JUMP }, first);
  }

  apply(e: Event): void {
    const control = this.#control;
    switch (e.do) {
      case 'ticks':
        for (let i = 0; i < e.count; i++) this.#tick(i === 0 ? e.gapMs : 14, e.measured);
        return;
      case 'chunk': {
        const values = Float64Array.from(e.values);
        if (e.bad) values[0] = NaN;
        const chunk = {
          observationStampNs: this.#nowNs - BigInt(e.ageMs) * 1_000_000n,
          epoch: this.#epoch - Number(e.old),
          horizon: values.length / length,
          dims: length,
          values,
        };
        const { accepted } = control.accept(chunk, this.#nowNs);
        if (e.bad || e.old || this.#fault || !control.enabled || this.#last === null)
          expect(accepted).toBe(false);
        this.#fault ||= control.mode === 'fault';
        return;
      }
      case 'change':
        this.#settings = e.settings;
        return control.change(e.settings);
      case 'enable':
        if (e.on && !control.enabled) this.#repose = true;
        return control.enable(e.on, this.#nowNs);
      case 'reset':
        this.#fault = false;
        return control.reset(++this.#epoch, this.#nowNs);
      case 'activate':
        this.#fault = false;
        this.#repose = true;
        this.#last = null;
        return control.activate(this.#nowNs);
      case 'bad':
        control.badChunk(this.#nowNs);
        this.#fault ||= control.mode === 'fault';
        return;
      case 'stop':
        return control.stopPlaying(this.#nowNs);
      case 'epoch':
        return control.newEpoch(++this.#epoch, this.#epoch % 2 === 0 ? 'hold' : 'continue', this.#nowNs);
    }
  }

  /** Nothing comes any more: all motion ends. */
  die(): void {
    this.#control.stopPlaying(this.#nowNs);
    for (let i = 0; i < 40; i++) this.#tick(14, null);
    check(this.#control.settled, 'something still moves');
    if (this.#last !== null) check(this.#last[2] === 0 && this.#last[3] === 0, 'it says that nothing moves');
  }

  #tick(gapMs: number, pose: [number, number] | null): void {
    this.#nowNs += BigInt(gapMs) * 1_000_000n;
    this.#steadyMs += Math.max(0, gapMs);
    const given = pose && Float64Array.of(...pose, NaN, NaN, NaN);
    const tick = this.#control.tick(this.#nowNs, this.#steadyMs, given);
    if (tick.kind !== 'step') throw new Error(`a ${tick.kind} that is none`);
    const speed = this.#speed;
    this.#speed = this.#settings.speedScale;
    const { action, fresh } = tick.output;
    const { mode, reason, needsPose } = this.#control;
    check((mode === 'ramp' || mode === 'active') === (reason === ''), `mode ${mode}, reason ${reason}`);
    check(fresh === (reason === ''), `fresh, though ${reason}`);
    check(!this.#fault || mode === 'fault', `the fault became ${mode}`);
    this.#fault = mode === 'fault';
    this.seen[mode] += 1;
    if (action === null) {
      check(this.#last === null && (mode === 'off' || mode === 'fault'), `nothing published in ${mode}`);
      return;
    }
    check(mode !== 'off', 'published while off');
    check(action.every(Number.isFinite), 'not finite');
    if (this.#repose && !needsPose) this.#first(action, pose);
    else if (this.#last !== null) this.#positions(action, this.#last, seconds(gapMs), speed);
    if (this.#last !== null) this.#motions(action, this.#last, seconds(gapMs));
    check(action[4] === 0 || action[4] === 1, 'half a grip');
    this.#last = action;
  }

  #first(action: Float64Array, pose: [number, number] | null): void {
    this.#repose = false;
    for (const d of [0, 1]) {
      const { min, max } = this.#settings.limits[d]!;
      check(action[d] === pose?.[d], 'the first command is not the measured pose');
      check(inside(action[d]!, min - MAX_START_JUMP, max + MAX_START_JUMP), 'it begins too far outside');
    }
  }

  #positions(action: Float64Array, last: Float64Array, elapsed: number, speed: number): void {
    for (const d of [0, 1]) {
      const [value, before] = [action[d]!, last[d]!];
      const { min, max, maxRate } = this.#settings.limits[d]!;
      const { actions } = robot;
      const moved = Math.abs(value - before);
      const outside = !inside(before, min, max);
      const back = (actions[d]!.max - actions[d]!.min) / RETURN_SECONDS;
      const most = maxRate === null && !outside ? Infinity : (maxRate ?? back) * elapsed * speed + 1e-9;
      check(moved <= (speed === 0 ? 0 : most), `position ${d} moved by ${moved}`);
      const holds = this.#fault || !this.#control.enabled;
      check(!holds || outside || moved === 0, `position ${d} does not hold`);
      check(inside(value, Math.min(min, before), Math.max(max, before)), `position ${d} leaves its limits`);
    }
  }

  #motions(action: Float64Array, last: Float64Array, elapsed: number): void {
    const [, , wheel, nudge] = this.#settings.limits;
    const [, , velocity, delta] = action as unknown as [number, number, number, number];
    const before = last[2]!;
    check(Math.abs(velocity - before) <= wheel!.maxRate! * elapsed + 1e-9, 'the velocity jumps');
    check(inside(velocity, Math.min(wheel!.min, before), Math.max(wheel!.max, before)), 'too fast');
    check(inside(delta, nudge!.min, nudge!.max), 'a delta outside its limits');
    check(Math.abs(delta) <= nudge!.maxRate! * 0.05 + 1e-9, 'a delta above its rate');
  }
}

test('random chunks, poses, settings and switches: every command is safe, and a dead stream comes to rest', () => {
  const seen: Record<GateMode, number> = { off: 0, hold: 0, ramp: 0, active: 0, fault: 0 };
  fc.assert(
    fc.property(settings, fc.array(event, { maxLength: 80, size: 'max' }), (first, events) => {
      const watch = new Watch(first);
      for (const e of events) watch.apply(e);
      watch.die();
      for (const mode of GATE_MODES) seen[mode] += watch.seen[mode];
    }),
    { numRuns: 250 },
  );
  // The schedules get everywhere.
  for (const mode of GATE_MODES) expect([mode, seen[mode] > 500]).toEqual([mode, true]);
});
