import { Trickle } from '../../src/ros/trickle';

function setUp(publish: (n: number) => void = () => undefined) {
  const published: number[] = [];
  const turns: (() => void)[] = [];
  const trickle = new Trickle<number>(
    n => {
      published.push(n);
      publish(n);
    },
    call => void turns.push(call),
  );
  const turn = () => turns.splice(0).forEach(call => call());
  return { trickle, published, turn, turns };
}

test('one message per turn, in order, also of what comes meanwhile', () => {
  const { trickle, published, turn, turns } = setUp();
  [1, 2, 3].forEach(n => trickle.push(n));
  expect(published).toEqual([]);
  turn();
  expect(published).toEqual([1]);
  trickle.push(4);
  turn();
  turn();
  turn();
  expect(published).toEqual([1, 2, 3, 4]);
  expect(turns).toEqual([]);
  trickle.push(5);
  turn();
  expect(published).toEqual([1, 2, 3, 4, 5]);
});

test('the end publishes all that waits, once', () => {
  const { trickle, published, turn } = setUp();
  [1, 2, 3].forEach(n => trickle.push(n));
  turn();
  trickle.flush();
  turn();
  expect(published).toEqual([1, 2, 3]);
});

test('a publication that throws does not hold up the others', () => {
  const { trickle, published, turn } = setUp(n => {
    if (n === 1) throw new Error('refused');
  });
  [1, 2].forEach(n => trickle.push(n));
  expect(turn).toThrow('refused');
  turn();
  expect(published).toEqual([1, 2]);
});
