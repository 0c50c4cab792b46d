import { Beat } from '../../src/ros/beat';

const PERIOD = 14_285_714n;
const ONE = { make: 1, missed: 0 };
const at = (calls: readonly number[]) => {
  const beat = new Beat(PERIOD);
  return calls.map(n => beat.ticks({ expectedCallTime: 5n + PERIOD * BigInt(n) }));
};

test('one tick a call while the timer keeps up', () => {
  expect(at([0, 1, 2, 3])).toEqual([ONE, ONE, ONE, ONE]);
});
test('makes up for one call that was left out, never for more, and counts those', () => {
  expect(at([0, 1, 3, 4])).toEqual([ONE, ONE, { make: 2, missed: 0 }, ONE]);
  expect(at([0, 1, 9, 10])).toEqual([ONE, ONE, { make: 2, missed: 6 }, ONE]);
});
test('needs no information', () => {
  const beat = new Beat(PERIOD);
  expect([beat.ticks(undefined), beat.ticks(undefined)]).toEqual([ONE, ONE]);
});
