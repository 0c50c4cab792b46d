import { Beat } from '../../src/ros/beat';

const PERIOD = 14_285_714n;
const at = (calls: readonly number[]) => {
  const beat = new Beat(PERIOD);
  return calls.map(n => beat.ticks({ expectedCallTime: 5n + PERIOD * BigInt(n), actualCallTime: 0n }));
};

test('one tick a call while the timer keeps up', () => {
  expect(at([0, 1, 2, 3])).toEqual([1, 1, 1, 1]);
});
test('makes up for one call that was left out, never for more', () => {
  expect(at([0, 1, 3, 4])).toEqual([1, 1, 2, 1]);
  expect(at([0, 1, 9, 10])).toEqual([1, 1, 2, 1]);
});
test('needs no information', () => {
  const beat = new Beat(PERIOD);
  expect([beat.ticks(undefined), beat.ticks(undefined)]).toEqual([1, 1]);
});
