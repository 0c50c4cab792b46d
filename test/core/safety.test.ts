import fc from 'fast-check';
import type { ActionDim } from '../../src/core/robot';
import { INITIAL_GATE, lastSafeCommand, resetGate, stepGate } from '../../src/core/safety';
import type { GateConfig, GateInput, GateOutput, GateState } from '../../src/core/safety';

const TICK_NS = 14_285_714n;

const dim = (over: Partial<ActionDim>): ActionDim => ({
  name: 'a',
  joint: 'a',
  kind: 'position',
  min: -1,
  max: 1,
  maxRate: null,
  ...over,
});
const gate = (dims: ActionDim[], over: Partial<GateConfig> = {}): GateConfig => ({
  dims,
  stepSeconds: 0.05,
  rampMs: 0.001,
  faultAfter: 10,
  ...over,
});
const f64 = (...values: number[]): Float64Array => Float64Array.from(values);

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
const stale: GateInput = { command: null, measured: null };
const at = (...values: number[]): GateInput => ({
  command: f64(...values),
  measured: f64(...values.map(() => 0)),
});

test('nothing is published until the pose is known, then it is held', () => {
  const outputs = play(gate([dim({})]), [
    stale,
    { command: null, measured: f64(NaN) },
    { command: null, measured: f64(0.3) },
  ]);
  expect(outputs.map(o => o.action)).toEqual([null, null, f64(0.3)]);
  expect(outputs.map(o => o.state.mode)).toEqual(['off', 'off', 'hold']);
});

test('the held pose does not follow a sagging arm', () => {
  const outputs = play(
    gate([dim({})]),
    [0.3, 0.2, 0.1].map(value => ({ command: null, measured: f64(value) })),
  );
  expect(outputs.map(o => o.action![0])).toEqual([0.3, 0.3, 0.3]);
});

test('a position without a measured joint waits for the first command', () => {
  const outputs = play(gate([dim({})]), [
    { command: null, measured: f64(NaN) },
    { command: f64(0.5), measured: f64(NaN) },
  ]);
  expect(outputs.map(o => o.action)).toEqual([null, f64(0.5)]);
});

test('a stale command: position holds, velocity brakes with its limit, delta is zero, binary stays', () => {
  const dims = [
    dim({}),
    dim({ kind: 'velocity', maxRate: 20 }),
    dim({ kind: 'delta' }),
    dim({ kind: 'binary', min: 0, max: 1 }),
  ];
  const moving = play(
    gate(dims),
    Array.from({ length: 20 }, () => at(0.5, 0.5, 0.1, 1)),
  ).at(-1)!;
  expect(moving.action).toEqual(f64(0.5, 0.5, 0.1, 1));
  let state = moving.state;
  const velocities: number[] = [];
  for (let n = 1n; n <= 3n; n++) {
    const output = stepGate(gate(dims), state, stale, moving.state.atNs + n * TICK_NS);
    expect([output.action![0], output.action![2], output.action![3]]).toEqual([0.5, 0, 1]);
    velocities.push(output.action![1]!);
    state = output.state;
  }
  expect(velocities[0]).toBeCloseTo(0.5 - 20 / 70, 5);
  expect(velocities.slice(1)).toEqual([0, 0]);
});

test('the first chunk is blended in from the held pose', () => {
  const config = gate([dim({})], { rampMs: 99 });
  const outputs = play(config, [
    { command: null, measured: f64(0) },
    ...Array.from({ length: 10 }, () => at(1)),
  ]);
  expect(outputs.map(o => o.state.mode)).toEqual([
    'hold',
    ...Array(7).fill('ramp'),
    ...Array(3).fill('active'),
  ]);
  expect(outputs[1]!.action![0]).toBe(0);
  expect(outputs[4]!.action![0]).toBeCloseTo(0.4329, 3);
  expect(outputs[8]!.action![0]).toBe(1);
});

test('ten non-finite commands in a row latch a fault that only a reset clears', () => {
  const config = gate([dim({})]);
  const bad: GateInput = { command: f64(NaN), measured: null };
  const outputs = play(config, [at(0.5), at(0.5), ...Array.from({ length: 10 }, () => bad), at(0.7)]);
  expect(outputs.slice(2, 11).every(o => o.state.mode === 'hold' && o.nonFinite)).toBe(true);
  expect(outputs[12]!.state.mode).toBe('fault');
  expect(outputs[12]!.action).toEqual(f64(0.5));
  const reset = resetGate(outputs[12]!.state);
  expect(reset.mode).toBe('hold');
  expect(stepGate(config, reset, at(0.7), reset.atNs + TICK_NS).fresh).toBe(true);
});

test('the command left behind on shutdown has no motion', () => {
  const config = gate([dim({}), dim({ kind: 'velocity' })]);
  expect(lastSafeCommand(config, INITIAL_GATE)).toBeNull();
  expect(lastSafeCommand(config, play(config, [at(0.5, 0.5)])[0]!.state)).toEqual(f64(0, 0));
});

test('a clamped dimension is reported', () => {
  const outputs = play(gate([dim({}), dim({})]), [at(0, 0), at(0.5, 7)]);
  expect(outputs[1]!.clamped).toEqual([1]);
  expect(outputs[1]!.action).toEqual(f64(0.5, 1));
});

test('whatever comes in, what goes out is finite, inside the limits and within the rate', () => {
  const number = fc.oneof(fc.double(), fc.constantFrom(NaN, Infinity, -Infinity, 1e308, 0));
  const command = fc.option(fc.tuple(number, number, number), { nil: null });
  const inputs = fc.array(
    fc.record({ command, measured: command, gapMs: fc.integer({ min: -20, max: 200 }) }),
    {
      maxLength: 60,
    },
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
        const output = stepGate(
          config,
          state,
          {
            command: tick.command && f64(...tick.command),
            measured: tick.measured && f64(...tick.measured),
          },
          now,
        );
        state = output.state;
        if (output.action === null) continue;
        const seconds = Math.min(0.05, Math.max(0, tick.gapMs / 1000)) + 1e-9;
        output.action.forEach((value, d) => {
          expect(Number.isFinite(value)).toBe(true);
          expect(Math.abs(value)).toBeLessThanOrEqual(1);
          if (before === null) return;
          const { kind, maxRate } = dims[d]!;
          if (kind === 'delta') expect(Math.abs(value)).toBeLessThanOrEqual(3 * 0.05 + 1e-9);
          else expect(Math.abs(value - before[d]!)).toBeLessThanOrEqual(maxRate! * seconds);
        });
      }
    }),
    { numRuns: 300 },
  );
});
