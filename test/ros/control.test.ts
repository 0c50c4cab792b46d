import type { ActionKind } from '../../src/core/types';
import { Control } from '../../src/ros/control';
import { parseRobot } from '../../src/ros/robot-file';

const T0 = 1_000_000_000_000n;
const TICK_NS = 10_000_000n; // 100 Hz

/** What leaves in 60 ticks after a chunk of 10 steps at 20 Hz with the values 1..10. */
function played(kind: ActionKind, executeSteps: number | null): number[] {
  const control = new Control(
    parseRobot(
      `name: r
cameras: { a: {} }
state: { joints: [j] }
actions: [{ name: j, kind: ${kind}, min: -100, max: 100 }]
rates: { train_hz: 20${executeSteps === null ? '' : `, execute_steps: ${executeSteps}`} }`,
      'r.yaml',
    ),
  );
  const play = (values: Float64Array, from: number, count: number): number[] => {
    const nowNs = T0 + BigInt(from) * TICK_NS;
    const chunk = { observationStampNs: nowNs, epoch: 0, horizon: 10, dims: 1, values };
    expect(control.accept(chunk, nowNs).accepted).toBe(true);
    return Array.from({ length: count }, (_, n) => {
      const tick = control.tick(nowNs + BigInt(n) * TICK_NS, null);
      return tick.kind === 'step' ? (tick.output.action?.[0] ?? NaN) : NaN;
    });
  };
  control.tick(T0 - 1n, Float64Array.of(0));
  play(new Float64Array(10), 0, 60); // the first chunk ramps in
  return play(
    Float64Array.from({ length: 10 }, (_, i) => i + 1),
    60,
    60,
  );
}
const largest = (values: readonly number[]): number => Math.max(...values);

test('execute_steps: of a chunk at most that many steps are played, then its kind says what stopping is', () => {
  expect(largest(played('position', null))).toBe(10);
  const position = played('position', 4);
  expect(largest(position)).toBe(4);
  expect(position.slice(20)).toEqual(new Array(40).fill(4)); // holds

  expect(played('velocity', null)[24]).toBe(5);
  const velocity = played('velocity', 4);
  expect(largest(velocity)).toBe(4);
  expect(velocity.slice(30).every(v => v >= 0 && v <= 4)).toBe(true);
  expect(velocity.at(-1)).toBe(0); // stops

  const sum = (kind: ActionKind, steps: number | null) => played(kind, steps).reduce((a, b) => a + b, 0);
  expect(sum('delta', null)).toBeCloseTo(55);
  expect(sum('delta', 4)).toBeCloseTo(1 + 2 + 3 + 4);
});
