/** The action stream in virtual time: chunks, ticks, settings and switches; O-25 to O-27 as a robot sees them. */
import { AGGREGATIONS } from '../../src/core/types';
import type { ActionChunk, ActionKind } from '../../src/core/types';
import { Control } from '../../src/ros/control';
import type { ControlFixed, ControlSettings, Tick } from '../../src/ros/control';
import { parseRobot } from '../../src/ros/robot-file';

const T0 = 1_000_000_000_000n;

class Stream {
  readonly settings: ControlSettings;
  readonly control: Control;
  readonly #tickHz: number;
  n = 0;

  constructor(
    kind: ActionKind,
    {
      hz = 70,
      tickHz = 70,
      executeSteps = null as number | null,
      limits = 'min: -10000, max: 10000',
      settings = {} as Partial<ControlSettings>,
      fixed = {} as Partial<ControlFixed>,
    } = {},
  ) {
    const robot = parseRobot(
      `name: r
cameras: { a: {} }
state: { joints: [j] }
actions: [{ name: j, kind: ${kind}, ${limits} }]
rates: { train_hz: ${hz}${executeSteps === null ? '' : `, execute_steps: ${executeSteps}`} }`,
      'r.yaml',
    );
    this.#tickHz = tickHz;
    this.settings = {
      aggregation: 'latest_only',
      executionHorizon: null,
      speedScale: 1,
      rampMs: 300,
      limits: robot.actions,
      ...settings,
    };
    this.control = new Control(robot, { faultAfter: 10, maxStartJump: 0.2, ...fixed }, this.settings);
  }

  at(n: number): bigint {
    return T0 + BigInt(Math.round((n * 1e9) / this.#tickHz));
  }

  get nowNs(): bigint {
    return this.at(this.n);
  }

  change(settings: Partial<ControlSettings>): void {
    this.control.change({ ...this.settings, ...settings });
  }

  tick(measured: number | null = null): Tick {
    const steadyMs = (this.n * 1e3) / this.#tickHz;
    return this.control.tick(
      this.at(this.n++),
      steadyMs,
      measured === null ? null : Float64Array.of(measured),
    );
  }

  /** Commands of as many ticks, NaN where nothing was published. */
  play(count: number, measured: number | null = null): number[] {
    return Array.from({ length: count }, () => {
      const tick = this.tick(measured);
      return tick.kind === 'step' ? (tick.output.action?.[0] ?? NaN) : NaN;
    });
  }

  chunk(values: readonly number[], observed = this.n, epoch = 0): ActionChunk {
    const { length } = values;
    return { observationStampNs: this.at(observed), epoch, horizon: length, dims: 1, values: Float64Array.from(values) }; // prettier-ignore
  }

  accept(values: readonly number[], observed = this.n, epoch = 0): ReturnType<Control['accept']> {
    return this.control.accept(this.chunk(values, observed, epoch), this.nowNs);
  }

  /** At rest at 0, with the ramp behind it. */
  ready(): this {
    this.play(1, 0);
    this.accept([0]);
    this.play(40);
    return this;
  }
}
const ramp = (count: number, from = 0): number[] => Array.from({ length: count }, (_, k) => from + k);
const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
const steps = (values: readonly number[]): number[] => values.slice(1).map((value, i) => value - values[i]!);
const largest = (values: readonly number[]): number => Math.max(...values);

describe('O-25 splice and cold start', () => {
  test('(a) the first inference takes 21 ticks: the first action is number 0, and none is skipped', () => {
    const stream = new Stream('position');
    stream.play(21, 0);
    stream.accept(ramp(50), 0);
    const sent = stream.play(60);
    expect(sent[0]).toBe(0);
    sent.slice(0, 50).forEach((value, k) => expect(value).toBeCloseTo(k, 5));
  });

  test('(b) after six actions sent since the observation the next is number 6', () => {
    const stream = new Stream('position').ready();
    stream.accept(ramp(50));
    stream.play(20);
    stream.play(6);
    stream.accept(ramp(50, 20), stream.n - 6);
    expect(stream.play(1)[0]).toBeCloseTo(26, 5);
  });

  test('(c) a first inference of 3 s leaves no trace in the later splices of 80 ms', () => {
    const stream = new Stream('position', { hz: 50 });
    stream.play(210, 0);
    expect(stream.accept(ramp(50), 0)).toMatchObject({ firstStep: 0 });
    stream.play(28);
    const second = stream.control.accept(stream.chunk(ramp(50, 20)), stream.nowNs + 80_000_000n);
    expect(second).toMatchObject({ accepted: true, firstStep: 4 });
  });

  test.each(AGGREGATIONS)('no step of the trace is larger than inside a chunk, with %s', aggregation => {
    const stream = new Stream('position', { hz: 50, settings: { aggregation } });
    let seed = 1;
    const latency = (): number => 4 + ((seed = (seed * 48271) % 2147483647) % 25);
    const trace = stream.play(210, 0);
    stream.accept(ramp(50), 0);
    for (let i = 0; i < 30; i++) {
      trace.push(...stream.play(1));
      const observed = { n: stream.n - 1, value: trace.at(-1)! };
      trace.push(...stream.play(latency()));
      stream.accept(ramp(50, observed.value), observed.n);
    }
    expect(largest(steps(trace))).toBeLessThanOrEqual(50 / 70 + 1e-5);
    expect(Math.min(...steps(trace))).toBeGreaterThanOrEqual(-1e-5);
    expect(trace.at(-1)).toBeGreaterThan(200);
  });
});

describe('O-26 speed of play', () => {
  test('50 steps of 50 Hz on a timer of 70 Hz last 1.0 s, by interpolation', () => {
    const stream = new Stream('position', { hz: 50 });
    stream.play(1, 0);
    stream.accept(ramp(50));
    const ticks = Array.from({ length: 80 }, () => stream.tick());
    const fresh = ticks.map(tick => tick.kind === 'step' && tick.output.fresh);
    expect(fresh.lastIndexOf(true)).toBe(69);
    expect(fresh.indexOf(false)).toBe(70);
    const value = (n: number): number => (ticks[n] as Extract<Tick, { kind: 'step' }>).output.action![0]!;
    expect(value(35)).toBeCloseTo(25, 3);
    expect(value(79)).toBe(49);
    expect(stream.control).toMatchObject({ mode: 'hold', reason: 'the last action chunk has ended' });
  });

  test('speed_scale: half the speed is twice the time, and a change never jumps', () => {
    const stream = new Stream('position', { hz: 50 }).ready();
    stream.accept(ramp(50));
    const trace = [...stream.play(20)];
    for (const speedScale of [0.5, 0.1, 1, 0.25]) {
      stream.change({ speedScale });
      trace.push(...stream.play(14));
    }
    stream.change({ speedScale: 1 });
    trace.push(...stream.play(60));
    expect(largest(steps(trace))).toBeLessThanOrEqual(50 / 70 + 1e-5);
    expect(Math.min(...steps(trace))).toBe(0);
    // The change counts from the tick after it on.
    expect(trace[20 + 14]).toBeCloseTo((50 / 70) * (20 + 14 * 0.5), 4);
    expect(trace.at(-1)).toBe(49);
  });

  test('speed_scale 0 stands still for as long as it takes, and then goes on where it was', () => {
    const stream = new Stream('position', { hz: 50 }).ready();
    stream.accept(ramp(50));
    stream.play(14);
    stream.change({ speedScale: 0 });
    const [, ...standing] = stream.play(700);
    expect(new Set(standing).size).toBe(1);
    expect(stream.control).toMatchObject({ mode: 'hold', reason: 'speed_scale is 0' });
    // What came meanwhile does not move it either.
    expect(stream.accept(ramp(50, 13))).toMatchObject({ accepted: true });
    expect(new Set([...standing, ...stream.play(70)]).size).toBe(1);
    stream.change({ speedScale: 1 });
    const trace = [standing[0]!, ...stream.play(60)];
    expect(largest(steps(trace))).toBeLessThanOrEqual(1.2);
    expect(trace.at(-1)).toBeGreaterThan(50);
  });

  test('speed_scale scales velocities, and sends deltas at a slower rate, each once', () => {
    const velocity = new Stream('velocity', { hz: 50, settings: { speedScale: 0.25 } }).ready();
    velocity.accept(new Array(50).fill(8));
    expect(velocity.play(100).slice(30)).toEqual(new Array(70).fill(2));
    velocity.change({ speedScale: 0 });
    expect(velocity.play(3).slice(1)).toEqual([0, 0]);
    expect(velocity.control.settled).toBe(true);

    const delta = new Stream('delta', { hz: 50 });
    delta.play(1);
    delta.accept(ramp(50, 1));
    const sent = [1, 0.3, 0, 0.7].flatMap(speedScale => {
      delta.change({ speedScale });
      return delta.play(25);
    });
    expect(sent.slice(52, 75)).toEqual(new Array(23).fill(0));
    delta.change({ speedScale: 0.2 });
    expect(sum([...sent, ...delta.play(400)])).toBe(sum(ramp(50, 1)));
  });

  test('the start of a chunk is told in ROS time, as if the speed had always been that of now', () => {
    const stream = new Stream('position', { hz: 50, tickHz: 100, settings: { speedScale: 0.5 } }).ready();
    stream.accept(ramp(50));
    stream.play(40); // 0.4 s, 10 steps
    const again = stream.accept(ramp(50), stream.n - 40);
    expect(again).toMatchObject({
      accepted: true,
      firstStep: 10,
      stepSeconds: 0.04,
      startNs: stream.at(stream.n - 40),
    });
    expect(stream.control.planned(stream.nowNs)).toMatchObject({
      step: 10,
      startNs: stream.at(stream.n - 40),
    });
  });
});

describe('O-27 new instruction, old actions', () => {
  const atTick200 = (playing: 'continue' | 'hold'): Stream => {
    const stream = new Stream('position').ready();
    stream.n = 190;
    stream.accept(ramp(50));
    stream.play(10); // 40 actions are left
    stream.control.newEpoch(1, playing, stream.nowNs);
    return stream;
  };

  test('continue: the old chunk goes on until the first new one; an old inference is not used', () => {
    const stream = atTick200('continue');
    const sent = stream.play(3);
    expect(stream.accept(ramp(50, 500), 198, 0)).toEqual({ accepted: false, reason: 'epoch' });
    sent.push(...stream.play(4));
    sent.forEach((value, k) => expect(value).toBeCloseTo(10 + k, 4));
    expect(stream.accept(ramp(50, 1000), 201, 1)).toMatchObject({ accepted: true });
    stream.play(30).forEach((value, k) => expect(value).toBeCloseTo(1006 + k, 4));
  });

  test('hold: the pose is held until then', () => {
    const stream = atTick200('hold');
    const held = stream.control.command![0]!;
    expect(stream.play(3)).toEqual([held, held, held]);
    expect(stream.control.reason).toBe('a new instruction: no action chunk of it yet');
    expect(stream.accept(ramp(50, 500), 198, 0)).toEqual({ accepted: false, reason: 'epoch' });
    expect(stream.play(4)).toEqual([held, held, held, held]);
    stream.accept(ramp(50, 1000), 201, 1);
    expect(stream.play(1)[0]).toBe(1000);
  });
});

describe('execution horizon', () => {
  /** What leaves in 60 ticks after a chunk of 10 steps at 20 Hz with the values 1..10. */
  const played = (kind: ActionKind, executeSteps: number | null, executionHorizon: number | null = null) => {
    const stream = new Stream(kind, {
      hz: 20,
      tickHz: 100,
      executeSteps,
      settings: { executionHorizon },
    }).ready();
    expect(stream.accept(ramp(10, 1)).accepted).toBe(true);
    return stream.play(60);
  };

  test('at most that many steps are played, then the kind says what stopping is', () => {
    expect(largest(played('position', null))).toBe(10);
    const position = played('position', 4);
    expect(largest(position)).toBe(4);
    expect(position.slice(20)).toEqual(new Array(40).fill(4)); // holds
    expect(played('velocity', null)[24]).toBe(5);
    const velocity = played('velocity', 4);
    expect(largest(velocity)).toBe(4);
    expect(velocity.at(-1)).toBe(0); // stops
    expect(sum(played('delta', null))).toBe(55);
    expect(sum(played('delta', 4))).toBe(1 + 2 + 3 + 4);
  });

  test('the setting goes before the robot file, and may change from chunk to chunk', () => {
    expect(largest(played('position', 4, 7))).toBe(7);
    const stream = new Stream('position', { hz: 20, tickHz: 100, executeSteps: 4 }).ready();
    for (const [executionHorizon, last] of [
      [2, 2],
      [9, 9],
      [null, 4],
    ] as const) {
      // prettier-ignore
      stream.change({ executionHorizon });
      stream.accept(ramp(10, 1));
      expect(largest(stream.play(60))).toBe(last);
    }
  });
});

describe('~/enable', () => {
  test('off: what plays stops, the pose is held, chunks are refused', () => {
    const stream = new Stream('position').ready();
    stream.accept(ramp(50));
    stream.play(10);
    stream.control.enable(false, stream.nowNs);
    const held = stream.control.command![0]!;
    expect(stream.accept(ramp(50))).toEqual({ accepted: false, reason: 'disabled' });
    expect(stream.play(5)).toEqual(new Array(5).fill(held));
    expect(stream.control).toMatchObject({ mode: 'hold', reason: 'disabled by ~/enable', enabled: false });
    expect(stream.control.planned(stream.nowNs)).toBeNull();
  });

  test('a velocity brakes', () => {
    const stream = new Stream('velocity', { limits: 'min: -1, max: 1, max_rate: 14' }).ready();
    stream.accept(new Array(100).fill(1));
    stream.play(50);
    stream.control.enable(false, stream.nowNs);
    const trace = stream.play(6);
    [0.8, 0.6, 0.4, 0.2, 0, 0].forEach((value, n) => expect(trace[n]).toBeCloseTo(value, 6));
    expect(stream.control.settled).toBe(true);
  });

  test('on: waits for a measured pose, starts there, and ramps the next chunk in', () => {
    const stream = new Stream('position', { settings: { rampMs: 100 } }).ready();
    stream.control.enable(false, stream.nowNs);
    stream.play(5);
    stream.control.enable(true, stream.nowNs);
    expect(stream.play(2)).toEqual([0, 0]);
    expect(stream.control.needsPose).toBe(true);
    expect(stream.control.reason).toMatch(/no measured position of j/);
    expect(stream.accept(ramp(50))).toEqual({ accepted: false, reason: 'no-pose' });
    expect(stream.play(1, NaN)).toEqual([0]);
    expect(stream.play(1, 3.5)).toEqual([3.5]);
    expect(stream.accept(new Array(50).fill(4)).accepted).toBe(true);
    const trace = stream.play(10);
    expect(trace[0]).toBe(3.5);
    expect(largest(steps(trace))).toBeLessThanOrEqual(0.5 / 7 + 1e-3);
    expect(trace.at(-1)).toBe(4);
  });

  test('the same again changes nothing; a reset and a new start leave it as it is', () => {
    const stream = new Stream('position').ready();
    stream.accept(ramp(50));
    stream.play(5);
    stream.control.enable(true, stream.nowNs);
    expect(stream.play(1)[0]).toBeCloseTo(5, 4);
    stream.control.enable(false, stream.nowNs);
    stream.control.reset(1, stream.nowNs);
    stream.control.activate(stream.nowNs);
    stream.play(2, 0);
    expect(stream.accept(ramp(50), stream.n, 1)).toEqual({ accepted: false, reason: 'disabled' });
  });
});

describe('faults', () => {
  const bad = [NaN, 1];

  test('bad chunks in a row latch one; a good one in between clears the row', () => {
    const stream = new Stream('position', { fixed: { faultAfter: 3 } }).ready();
    stream.accept(bad);
    stream.control.badChunk(stream.nowNs);
    stream.accept(ramp(200));
    stream.accept(bad);
    stream.control.badChunk(stream.nowNs);
    expect(stream.play(20).at(-1)).toBeGreaterThan(15);
    stream.control.badChunk(stream.nowNs);
    const held = stream.control.command![0]!;
    expect(stream.play(5)).toEqual(new Array(5).fill(held));
    expect(stream.control).toMatchObject({
      mode: 'fault',
      reason: '3 chunks in a row held NaN or infinity; a reset clears this',
    });
    expect(stream.accept(ramp(50))).toEqual({ accepted: false, reason: 'fault' });
    stream.control.enable(false, stream.nowNs);
    stream.control.enable(true, stream.nowNs);
    stream.play(5, 0);
    expect(stream.control.mode).toBe('fault');
  });

  test.each(['reset', 'activate'] as const)('%s clears it, and the next chunk ramps in', how => {
    const stream = new Stream('position', { fixed: { faultAfter: 1 } }).ready();
    stream.control.badChunk(stream.nowNs);
    stream.play(1);
    if (how === 'reset') stream.control.reset(0, stream.nowNs);
    else stream.control.activate(stream.nowNs);
    stream.play(1, 0);
    expect(stream.accept(new Array(50).fill(1)).accepted).toBe(true);
    const trace = stream.play(30);
    expect(trace[0]).toBe(0);
    expect(largest(steps(trace))).toBeLessThan(0.05);
  });
});

test('startOver: the pose is measured again and the next chunk ramps in; a fault and disabled stay', () => {
  const stream = new Stream('position', { fixed: { faultAfter: 1 } }).ready();
  stream.accept(ramp(50));
  stream.play(5);
  stream.control.startOver(stream.nowNs);
  expect(stream.play(2, 3.5)).toEqual([3.5, 3.5]);
  stream.accept(new Array(50).fill(4));
  expect(stream.play(1)).toEqual([3.5]);
  expect(stream.control.mode).toBe('ramp');
  stream.control.badChunk(stream.nowNs);
  stream.control.enable(false, stream.nowNs);
  stream.control.startOver(stream.nowNs);
  stream.play(2, 0);
  expect(stream.control).toMatchObject({ mode: 'fault', enabled: false });
});

describe('clock', () => {
  const tickAt = (stream: Stream, ms: number, steadyMs: number): Tick =>
    stream.control.tick(T0 + BigInt(Math.round(ms * 1e6)), steadyMs, Float64Array.of(0));

  test('standing still is a pause, and so is a clock that has not begun', () => {
    const stream = new Stream('position');
    expect(stream.control.tick(0n, 0, null)).toEqual({ kind: 'paused' });
    expect(tickAt(stream, 0, 10).kind).toBe('step');
    expect(tickAt(stream, 0, 5000)).toEqual({ kind: 'paused' });
    expect(tickAt(stream, 14, 5014).kind).toBe('step');
  });

  test('a clock of 40 Hz does not stand still between its ticks: commands keep their rate', () => {
    const stream = new Stream('position');
    const kinds = Array.from(
      { length: 70 },
      (_, i) => tickAt(stream, Math.floor(i / 1.75) * 25, i * 14.286).kind,
    );
    expect(new Set(kinds)).toEqual(new Set(['step']));
  });

  test('back by more than 100 ms is a jump, less is a correction', () => {
    const stream = new Stream('position');
    tickAt(stream, 0, 0);
    expect(tickAt(stream, -100, 14).kind).toBe('step');
    expect(tickAt(stream, -201, 28)).toEqual({ kind: 'jump', byNs: 101_000_000n });
    expect(tickAt(stream, -187, 42).kind).toBe('step');
  });

  test('more than 5 s ahead of real time is a jump; a process that stood still for as long is none', () => {
    const stream = new Stream('position');
    tickAt(stream, 0, 0);
    expect(tickAt(stream, 20_000, 20_000).kind).toBe('step');
    expect(tickAt(stream, 25_014, 20_014).kind).toBe('step');
    expect(tickAt(stream, 30_029, 20_028)).toEqual({ kind: 'jump', byNs: -5_001_000_000n });
    expect(tickAt(stream, 30_043, 20_042).kind).toBe('step');
  });
});

test('stopPlaying: what plays stops at once, a later chunk plays again', () => {
  const stream = new Stream('position').ready();
  stream.accept(ramp(50));
  stream.play(5);
  stream.control.stopPlaying(stream.nowNs);
  const [held] = stream.play(1);
  expect(held).toBeCloseTo(4, 4);
  expect(stream.control.reason).toBe('stopped: no action chunk since');
  expect(stream.control.lastSafe()).toEqual(Float64Array.of(held!));
  stream.accept(ramp(50, 4));
  expect(stream.play(2)[1]).toBeCloseTo(5, 4);
});
