import fc from 'fast-check';
import { arrivalsAt, backlog, longest, meanRate, parseArrivals, peakRows } from '../../src/bench/arrivals';
import { sum } from '../../src/core/statistics';

const FIRST = 1_000_000;
const counts = (text: string, frames: number, seed = 0): number[] =>
  Array.from({ length: frames }, (_, i) => arrivalsAt(parseArrivals(text), FIRST + i, 20, seed).length);

it('uniform gives its rate evenly, also below and above 1', () => {
  expect(counts('uniform:1', 4)).toEqual([1, 1, 1, 1]);
  expect(counts('uniform:0.25', 8).join('')).toBe('10001000');
  expect(sum(counts('uniform:2.5', 10))).toBe(25);
  expect(new Set(counts('uniform:2.5', 10))).toEqual(new Set([2, 3]));
});

it('bursty gives all at once, then nothing', () => {
  expect(counts('bursty:4/3', 7)).toHaveLength(7);
  expect(counts('bursty:4/3', 300).filter(n => n === 4)).toHaveLength(100);
  expect(new Set(counts('bursty:4/3', 300))).toEqual(new Set([0, 4]));
});

it.each([0.5, 1, 1.5, 2, 8])('poisson:%d has its mean and its variance', mean => {
  const n = counts(`poisson:${mean}`, 20_000, 7);
  const average = sum(n) / n.length;
  const variance = sum(n.map(x => (x - average) ** 2)) / n.length;
  expect(average).toBeGreaterThan(mean * 0.95);
  expect(average).toBeLessThan(mean * 1.05);
  expect(variance).toBeGreaterThan(mean * 0.92);
  expect(variance).toBeLessThan(mean * 1.08);
});

it('random lengths come in their shares', () => {
  const a = parseArrivals('random:5,20@0.3');
  const lengths = Array.from({ length: 10_000 }, (_, i) => arrivalsAt(a, FIRST + i, 99, 1)).flat();
  expect(lengths).toHaveLength(10_000);
  expect(new Set(lengths)).toEqual(new Set([5, 20]));
  expect(lengths.filter(n => n === 20).length / 10_000).toBeCloseTo(0.3, 1);
  expect(longest(a, 99)).toBe(20);
});

it('the same seed gives the same arrivals, another one others', () => {
  expect(counts('poisson:2', 50, 3)).toEqual(counts('poisson:2', 50, 3));
  expect(counts('poisson:2', 50, 3)).not.toEqual(counts('poisson:2', 50, 4));
});

it.each([
  ['', 'no such pattern'],
  ['often', 'no such pattern'],
  ['normal:1', 'no such pattern'],
  ['uniform:', 'no such pattern'],
  ['uniform:0', 'from 0.01 to 64'],
  ['uniform:-1', 'from 0.01 to 64'],
  ['uniform:1e3', 'from 0.01 to 64'],
  ['uniform:x', 'from 0.01 to 64'],
  ['poisson:1000', 'from 0.01 to 64'],
  ['bursty:4', 'the number of frames'],
  ['bursty:1.5/8', 'must be whole'],
  ['bursty:4/8/2', 'one / too many'],
  ['random:5@0.5', 'the short length'],
  ['random:20,5@0.5', 'larger than the long one'],
  ['random:5,20@2', 'the share'],
])('%j is refused with the cure', (text, why) => {
  expect(() => parseArrivals(text)).toThrow(why);
  expect(() => parseArrivals(text)).toThrow(/wanted is uniform:RATE.*e\.g\. uniform:1/);
});

it('never crashes on any text', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string().map(s => `random:${s}`),
      ),
      text => {
        try {
          parseArrivals(text);
        } catch (error) {
          expect(error).toMatchObject({ code: 'USAGE' });
        }
      },
    ),
  );
});

/** Frame by frame, as the scheduler would: k steps for every active request; the first token takes none. */
function simulate(text: string, frames: number, tokens: number, k: number): number[][] {
  const a = parseArrivals(text);
  let active: number[] = [];
  return Array.from({ length: frames }, (_, i) => {
    active.push(...arrivalsAt(a, FIRST + i, tokens, 0));
    active = active.filter(n => n > 1);
    const rows = [...active];
    active = active.map(n => n - k).filter(n => n > 1);
    return rows;
  });
}

const pattern = fc.constantFrom(
  'uniform:1',
  'uniform:0.3',
  'uniform:3',
  'poisson:1.5',
  'bursty:4/8',
  'random:5,20@0.5',
);

it('the backlog is what a simulation of all earlier frames leaves over', () => {
  fc.assert(
    fc.property(
      pattern,
      fc.integer({ min: 1, max: 30 }),
      fc.integer({ min: 1, max: 31 }),
      (text, tokens, k) => {
        const a = parseArrivals(text);
        const before = Math.max(tokens, 20);
        const rows = simulate(text, before + 1, tokens, k);
        const fresh = arrivalsAt(a, FIRST + before, tokens, 0).filter(n => n > 1);
        const expected = [...backlog(a, FIRST + before, tokens, k, 0), ...fresh];
        expect([...expected].sort()).toEqual([...(rows[before] ?? [])].sort());
      },
    ),
  );
});

it('the cache has a row for every request that is active at a time', () => {
  expect(peakRows(parseArrivals('uniform:1'), FIRST, 20, 20, 5, 0)).toBe(4);
  expect(peakRows(parseArrivals('uniform:1'), FIRST, 20, 30, 1, 0)).toBe(29);
  expect(peakRows(parseArrivals('bursty:4/8'), FIRST, 20, 20, 5, 0)).toBe(4);
  expect(peakRows(parseArrivals('uniform:0.01'), FIRST + 1, 2, 2, 5, 0)).toBe(1);
});

it('knows the mean rate', () => {
  expect(
    ['uniform:0.5', 'poisson:1.5', 'bursty:4/8', 'random:5,20@0.5'].map(t => meanRate(parseArrivals(t))),
  ).toEqual([0.5, 1.5, 0.5, 1]);
});
