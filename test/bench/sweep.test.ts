import { BENCH_MODES, type Parts } from '../../src/bench/result';
import { expectedFrameMs, pointName, sweepPoints, type Point } from '../../src/bench/sweep';

const values = (
  points: readonly Point[],
  mode: string,
  key: 'tokens' | 'tokens_per_frame' | 'denoise_steps',
) => [...new Set(points.filter(p => p.mode === mode).map(p => p[key]))].sort((a, b) => a - b);

it('quick: isolated and oxygen over N, oxygen over k', () => {
  const points = sweepPoints('quick', BENCH_MODES, 10);
  expect(new Set(points.map(p => p.mode))).toEqual(new Set(['isolated', 'oxygen']));
  expect(values(points, 'isolated', 'tokens')).toEqual([5, 10, 20, 30]);
  expect(values(points, 'oxygen', 'tokens')).toEqual([5, 10, 20, 30]);
  expect(values(points.filter(p => p.tokens === 30), 'oxygen', 'tokens_per_frame')).toEqual([1, 2, 5, 10, 30]); // prettier-ignore
  expect(points).toHaveLength(12);
  expect(sweepPoints('none', BENCH_MODES, 10)).toEqual([]);
});

it("full: the paper's axes, its 14 arrival patterns and bursts, no point twice", () => {
  const points = sweepPoints('full', BENCH_MODES, 10);
  expect(values(points, 'oxygen', 'tokens')).toEqual([5, 10, 15, 20, 30]);
  expect(values(points, 'oxygen', 'tokens_per_frame')).toEqual([1, 2, 3, 5, 6, 10, 15, 30]);
  expect(values(points, 'oxygen', 'denoise_steps')).toEqual([5, 10, 15, 20]);
  expect(values(points, 'shared', 'tokens')).toEqual([5, 10, 15, 20, 30]);
  expect(new Set(points.map(p => p.arrivals)).size).toBe(15);
  expect(new Set(points.map(pointName)).size).toBe(points.length);
  expect(points.some(p => p.mode === 'oxygen' && p.tokens === 20 && p.tokens_per_frame === 10)).toBe(true);
});

it('measures only the modes that were asked for', () => {
  expect(new Set(sweepPoints('full', ['oxygen'], 10).map(p => p.mode))).toEqual(new Set(['oxygen']));
  expect(sweepPoints('quick', ['shared'], 10)).toEqual([]);
});

const parts: Parts = {
  vision: 20, prefill: 80, denoise: 30, denoise_step: 3, seed: 5, decode: { '1': 5, '4': 6, '8': 8.5 },
  frame_without_language: 130, isolated_expected: 330,
}; // prettier-ignore
const point = { mode: 'oxygen', tokens: 20, tokens_per_frame: 5, denoise_steps: 10, arrivals: 'uniform:1', frames: 4 } as const; // prettier-ignore

it('expects of a frame what its runs cost', () => {
  expect(expectedFrameMs({ ...point, mode: 'isolated' }, parts)).toBeCloseTo(330, 9);
  expect(expectedFrameMs({ ...point, mode: 'shared' }, parts)).toBeCloseTo(230, 9);
  expect(expectedFrameMs(point, parts)).toBeCloseTo(100 + 30 + 5 * 6.5, 9);
  expect(expectedFrameMs({ ...point, mode: 'isolated', arrivals: 'uniform:4' }, parts)).toBeCloseTo(930, 9);
});
