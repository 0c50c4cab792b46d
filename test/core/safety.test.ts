import fc from 'fast-check';
import type { ActionDim } from '../../src/core/robot';
import {
  INITIAL_GATE,
  isSettled,
  lastSafeCommand,
  latchFault,
  limitedDims,
  poseAgain,
  resetGate,
  stepGate,
} from '../../src/core/safety';
import type { GateConfig, GateInput, GateOutput, GateState } from '../../src/core/safety';

const TICK_NS = 14_285_714n;
const STALE = { none: 'nothing plays' };

const dim = (over: Partial<ActionDim> = {}): ActionDim => ({
  name: 'a',
  joint: 'a',
  kind: 'position',
  min: -1,
  max: 1,
  maxRate: null,
  ...over,
});
const gate = (dims: readonly ActionDim[], over: Partial<GateConfig> = {}): GateConfig => ({
  dims: limitedDims(dims, dims),
  stepSeconds: 0.05,
  rampMs: 0,
  faultAfter: 10,
  maxStartJump: 0.2,
  ...over,
});
const f64 = (...values: number[]): Float64Array => Float64Array.from(values);
const at = (...values: number[]): GateInput => ({ command: f64(...values), measured: null, speed: 1 });
const measured = (...values: number[]): GateInput => ({ command: STALE, measured: f64(...values), speed: 1 });
const stale: GateInput = { command: STALE, measured: null, speed: 1 };
const repeat = (count: number, input: GateInput): GateInput[] => new Array<GateInput>(count).fill(input);

/** Plays inputs at 70 Hz. */
function play(
  config: GateConfig,
  inputs: readonly GateInput[],
  from: GateState = INITIAL_GATE,
): GateOutput[] {
  let state = from;
  return inputs.map((input, n) => {
    const output = stepGate(config, state, input, 1_000_000_000n + from.atNs + BigInt(n) * TICK_NS);
    state = output.state;
    return output;
  });
}
const modes = (outputs: readonly GateOutput[]): string[] => outputs.map(o => o.state.mode);
const first = (outputs: readonly GateOutput[]): (number | undefined)[] => outputs.map(o => o.action?.[0]);

describe('start', () => {
  test('nothing is published until the pose is measured; the first command is that pose, then it is held', () => {
    const outputs = play(gate([dim()]), [stale, at(0.5), measured(NaN), measured(0.3), stale]);
    expect(outputs.map(o => o.action)).toEqual([null, null, null, f64(0.3), f64(0.3)]);
    expect(modes(outputs)).toEqual(['off', 'off', 'off', 'hold', 'hold']);
    expect(outputs[0]!.state.reason).toBe('no measured position of a: is the joint state published?');
  });

  test('a command of the very first tick does not replace the pose', () => {
    const outputs = play(gate([dim()]), [{ ...measured(0.3), command: f64(0.9) }, at(0.9)]);
    expect(first(outputs)).toEqual([0.3, 0.9]);
  });

  test('the held pose does not follow a sagging arm', () => {
    expect(first(play(gate([dim()]), [measured(0.3), measured(0.2), measured(0.1)]))).toEqual([
      0.3, 0.3, 0.3,
    ]);
  });

  test('far outside its limits: off, and the reason names joint, value and limits, until it is inside', () => {
    const config = gate([dim(), dim({ name: 'lift', joint: 'z' })]);
    const outputs = play(config, [measured(0, 1.5), measured(0, -1.21), measured(0, -1.2), measured(0, 0)]);
    expect(outputs.map(o => o.action)).toEqual([null, null, f64(0, -1.2), expect.anything()]);
    expect(outputs[0]!.state.reason).toBe(
      'z (action lift) is at 1.5, more than max_start_jump (0.2) outside its limits -1..1: move it inside',
    );
  });

  test('a little outside: from where it is back to the limit with the rate limit, whatever the command', () => {
    const config = gate([dim({ maxRate: 0.7 })]);
    const outputs = play(config, [measured(1.02), ...repeat(3, stale), ...repeat(2, at(1))]);
    first(outputs).forEach((value, n) => expect(value).toBeCloseTo([1.02, 1.01, 1, 1, 1, 1][n]!, 6));
  });

  test('robots without positions need no measurement', () => {
    const dims = [
      dim({ kind: 'velocity' }),
      dim({ kind: 'delta' }),
      dim({ kind: 'binary', min: -1, max: 1 }),
    ];
    expect(play(gate(dims), [stale])[0]!.action).toEqual(f64(0, 0, -1));
    expect(play(gate(dims), [measured(5, 5, 0.1)])[0]!.action).toEqual(f64(0, 0, 1));
  });
});

describe('ramp', () => {
  test('the first chunk is blended in from the held pose', () => {
    const outputs = play(gate([dim()], { rampMs: 99 }), [measured(0), ...repeat(10, at(1))]);
    expect(modes(outputs)).toEqual(['hold', ...Array(7).fill('ramp'), ...Array(3).fill('active')]);
    expect(outputs[1]!.action![0]).toBe(0);
    expect(outputs[4]!.action![0]).toBeCloseTo(0.4329, 3);
    expect(outputs[8]!.action![0]).toBe(1);
    expect(outputs.map(o => o.state.reason === '')).toEqual(outputs.map(o => o.fresh));
  });

  test('a chunk that begins at the held pose is played as it is', () => {
    const line = Array.from({ length: 10 }, (_, n) => at(0.1 + n / 100));
    const outputs = play(gate([dim()], { rampMs: 99 }), [measured(0.1), ...line]);
    line.forEach(({ command }, n) =>
      expect(outputs[n + 1]!.action![0]).toBeCloseTo((command as Float64Array)[0]!, 12),
    );
  });

  test('velocities grow from 0, deltas are sent whole, binaries at once', () => {
    const dims = [dim({ kind: 'velocity' }), dim({ kind: 'delta' }), dim({ kind: 'binary', min: 0, max: 1 })];
    const outputs = play(gate(dims, { rampMs: 99 }), [stale, ...repeat(9, at(0.7, 0.1, 1))]);
    expect(outputs[1]!.action).toEqual(f64(0, 0.1, 1));
    expect(outputs[4]!.action![0]).toBeCloseTo((0.7 * 3 * 14.2857) / 99, 3);
    expect(outputs[8]!.action).toEqual(f64(0.7, 0.1, 1));
  });

  test.each([
    ['a reset', resetGate, stale],
    ['an enable', poseAgain, measured(0.5)],
    ['speed 0', (state: GateState) => state, { ...at(-0.5), speed: 0 }],
  ] as const)('again after %s', (_, change, pause) => {
    const config = gate([dim()], { rampMs: 99 });
    const before = play(config, [measured(0), ...repeat(9, at(0.5))]).at(-1)!;
    expect(before.state.mode).toBe('active');
    const outputs = play(config, [pause, ...repeat(9, at(-0.5))], change(before.state));
    expect(modes(outputs)).toEqual(['hold', ...Array(7).fill('ramp'), 'active', 'active']);
    first(outputs).forEach((value, n) => {
      const ramp = Math.min(1, Math.max(0, ((n - 1) * 14.285714) / 99));
      expect(value).toBeCloseTo(0.5 - ramp, 6);
    });
  });
});

test('a stale command: position holds, velocity brakes with its limit, delta is zero, binary stays', () => {
  const dims = [dim(), dim({ kind: 'velocity', maxRate: 20 }), dim({ kind: 'delta' }), dim({ kind: 'binary', min: 0, max: 1 })]; // prettier-ignore
  const config = gate(dims);
  const moving = play(config, [measured(0, 0, 0, 0), ...repeat(20, at(0.5, 0.5, 0.1, 1))]).at(-1)!;
  expect(moving.action).toEqual(f64(0.5, 0.5, 0.1, 1));
  expect(isSettled(config, moving.state)).toBe(false);
  let state = moving.state;
  const velocities: number[] = [];
  for (let n = 1n; n <= 3n; n++) {
    const output = stepGate(config, state, stale, moving.state.atNs + n * TICK_NS);
    expect([output.action![0], output.action![2], output.action![3]]).toEqual([0.5, 0, 1]);
    expect(output.state.reason).toBe('nothing plays');
    velocities.push(output.action![1]!);
    state = output.state;
    expect(isSettled(config, state)).toBe(n > 1n);
  }
  expect(velocities[0]).toBeCloseTo(0.5 - 20 / 70, 5);
  expect(velocities.slice(1)).toEqual([0, 0]);
});

describe('faults', () => {
  const config = gate([dim()], { rampMs: 99 });
  const bad: GateInput = { command: f64(NaN), measured: null, speed: 1 };

  test('ten non-finite commands in a row latch one that only a reset clears', () => {
    const outputs = play(config, [measured(0.5), at(0.5), ...repeat(10, bad), at(0.7)]);
    expect(outputs.slice(2, 11).every(o => o.state.mode === 'hold' && o.nonFinite)).toBe(true);
    const fault = outputs.at(-1)!;
    expect(fault.state).toMatchObject({
      mode: 'fault',
      reason: '10 commands in a row held NaN or infinity; a reset clears this',
    });
    expect(fault.action).toEqual(f64(0.5));
    expect(poseAgain(fault.state).mode).toBe('fault');
    const outputsAfter = play(config, [at(0.7), at(0.7)], resetGate(fault.state));
    expect(modes(outputsAfter)).toEqual(['ramp', 'ramp']);
    expect(outputsAfter[0]!.action).toEqual(f64(0.5));
  });

  test('nine and a good one do not', () => {
    const outputs = play(config, [measured(0), ...repeat(9, bad), at(0), ...repeat(9, bad)]);
    expect(modes(outputs)).not.toContain('fault');
  });

  test('a fault while off publishes nothing, and the first reason stays', () => {
    const state = latchFault(latchFault(INITIAL_GATE, 'one'), 'two');
    const [waiting, posed] = play(config, [stale, measured(0.1)], state);
    expect(waiting).toMatchObject({ action: null, state: { mode: 'fault', reason: 'one' } });
    expect(posed).toMatchObject({ action: f64(0.1), state: { mode: 'fault', reason: 'one' } });
  });
});

describe('limits', () => {
  test('a clamped dimension of a command is reported; one of a hold is not', () => {
    const outputs = play(gate([dim(), dim()]), [measured(0, 1.1), at(0.5, 7), stale]);
    expect(outputs.map(o => o.clamped)).toEqual([[], [1], []]);
  });

  test('narrower ones lead a held pose inside with the rate limit, or over 5 s for the whole range', () => {
    const dims = [dim({ maxRate: 0.7 }), dim(), dim({ kind: 'velocity', maxRate: 7 })];
    const [held] = play(gate(dims), [measured(0.9, 0.9, 0)]);
    const moving = { ...held!.state, last: f64(0.9, 0.9, 0.9) };
    const narrow = gate(dims, {
      dims: limitedDims(
        dims,
        dims.map(({ maxRate }) => ({ min: -0.5, max: 0.5, maxRate })),
      ),
    });
    const outputs = play(narrow, repeat(100, at(0.9, 0.9, 0.9)), moving).map(o => o.action!);
    let before = outputs[0]!;
    outputs.slice(1).forEach(action => {
      expect(before[0]! - action[0]!).toBeLessThanOrEqual(0.7 / 70 + 1e-6);
      expect(before[1]! - action[1]!).toBeLessThanOrEqual(2 / 5 / 70 + 1e-6);
      before = action;
    });
    expect(outputs.at(-1)).toEqual(f64(0.5, 0.5, 0.5));
    expect(outputs[60]![0]).toBe(0.5);
  });

  test('settings stay inside those of the robot file, and a binary keeps its two values', () => {
    const dims = [dim({ maxRate: 2 }), dim(), dim({ kind: 'binary', min: 0, max: 1 })];
    const wide = { min: -9, max: 9, maxRate: 9 };
    expect(
      limitedDims(dims, [wide, { ...wide, maxRate: null }, { min: 0.2, max: 0.4, maxRate: 1 }]),
    ).toMatchObject([
      { min: -1, max: 1, maxRate: 2 },
      { min: -1, max: 1, maxRate: null },
      { min: 0, max: 1, maxRate: null },
    ]);
  });
});

test('speed 0 holds, half speed grants a position half of its rate', () => {
  const config = gate([dim({ maxRate: 7 }), dim()]);
  const slow = (speed: number): GateInput => ({ ...at(1, 1), speed });
  const outputs = play(config, [measured(0, 0), slow(0), slow(0.5), slow(1)]);
  expect(outputs[1]).toMatchObject({ action: f64(0, 0), fresh: false });
  expect(outputs[1]!.state).toMatchObject({ mode: 'hold', reason: 'speed_scale is 0' });
  expect(outputs[2]!.action![0]).toBeCloseTo(0.05, 6);
  expect(outputs[3]!.action![0]).toBeCloseTo(0.15, 6);
});

test('the command left behind on shutdown has no motion', () => {
  const config = gate([dim(), dim({ kind: 'velocity' })]);
  expect(lastSafeCommand(config, INITIAL_GATE)).toBeNull();
  const moving = play(config, [measured(0, 0), at(0.5, 0.5)]).at(-1)!;
  expect(moving.action).toEqual(f64(0.5, 0.5));
  expect(lastSafeCommand(config, moving.state)).toEqual(f64(0.5, 0));
});

test('whatever comes in, what goes out is finite, inside the limits and within the rate', () => {
  const number = fc.oneof(fc.double(), fc.double({ min: -1.3, max: 1.3 }), fc.constantFrom(NaN, Infinity, -Infinity, 1e308, 0)); // prettier-ignore
  const command = fc.option(fc.tuple(number, number, number), { nil: null });
  const inputs = fc.array(
    fc.record({
      command,
      measured: command,
      gapMs: fc.integer({ min: -20, max: 200 }),
      speed: fc.constantFrom(1, 0.3, 0),
    }),
    { maxLength: 60 },
  );
  const dims = [
    dim({ maxRate: 2 }),
    dim({ kind: 'velocity', maxRate: 5 }),
    dim({ kind: 'delta', maxRate: 3 }),
  ];
  fc.assert(
    fc.property(inputs, ticks => {
      const config = gate(dims, { rampMs: 100 });
      let state = INITIAL_GATE;
      let now = 5_000_000_000n;
      for (const tick of ticks) {
        now += BigInt(tick.gapMs) * 1_000_000n;
        const before = state.last;
        const input = {
          command: tick.command ? f64(...tick.command) : STALE,
          measured: tick.measured && f64(...tick.measured),
          speed: tick.speed,
        };
        const output = stepGate(config, state, input, now);
        state = output.state;
        if (output.action === null) {
          expect(['off', 'fault']).toContain(state.mode);
          continue;
        }
        if (before === null) {
          expect(output.action[0]).toBe(tick.measured![0]);
          expect(Math.abs(output.action[0]!)).toBeLessThanOrEqual(1.2);
          continue;
        }
        const seconds = Math.min(0.05, Math.max(0, tick.gapMs / 1000));
        const [position, velocity, delta] = output.action;
        // A pose that began outside is on its way back.
        expect(Math.abs(position!)).toBeLessThanOrEqual(Math.max(1, Math.abs(before[0]!)));
        expect(Math.abs(position! - before[0]!)).toBeLessThanOrEqual(2 * seconds * tick.speed + 1e-9);
        expect(Math.abs(velocity!)).toBeLessThanOrEqual(1);
        expect(Math.abs(velocity! - before[1]!)).toBeLessThanOrEqual(5 * seconds + 1e-9);
        expect(Math.abs(delta!)).toBeLessThanOrEqual(3 * 0.05 + 1e-9);
        expect(output.action.every(Number.isFinite)).toBe(true);
      }
    }),
    { numRuns: 300 },
  );
});
