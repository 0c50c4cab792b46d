/** Which further points are measured with few frames each: the paper's axes. */
import { longest, meanRate, parseArrivals } from './arrivals';
import type { BenchMode, Parts, SweepPoint } from './result';

export const SWEEPS = ['none', 'quick', 'full'] as const;
export type SweepKind = (typeof SWEEPS)[number];

/** A point to be measured. */
export interface Point extends Pick<SweepPoint, 'mode' | 'tokens' | 'denoise_steps' | 'arrivals'> {
  readonly tokens_per_frame: number;
  readonly frames: number;
}

const K = 5;
const LONG = 30;
const PLAIN = 'uniform:1';
const QUICK = { frames: 4, tokens: [5, 10, 20, 30], steps: [1, 2, 5, 10, 30] };
const FULL = {
  frames: 12,
  tokens: [5, 10, 15, 20, 30],
  steps: [1, 2, 3, 5, 6, 10, 15, 30],
  denoise: [5, 10, 15, 20],
  arrivals: [
    ...[0.25, 0.5, 1, 2, 4].map(rate => `uniform:${rate}`),
    ...[0.5, 1, 1.5, 2].map(mean => `poisson:${mean}`),
    'bursty:4/8',
    ...[0.1, 0.3, 0.5, 0.7, 0.9].map(share => `random:5,20@${share}`),
  ],
};

/** The points of a sweep for the modes that are measured, those that are compared next to each other in time. */
export function sweepPoints(kind: SweepKind, modes: readonly BenchMode[], denoiseSteps: number): Point[] {
  if (kind === 'none') return [];
  const { frames, tokens, steps } = kind === 'quick' ? QUICK : FULL;
  const plain = (mode: BenchMode, n: number, k = K, s = denoiseSteps): Point =>
    ({ mode, tokens: n, tokens_per_frame: k, denoise_steps: s, arrivals: PLAIN, frames }); // prettier-ignore
  const points: Point[] = [];
  for (const n of tokens) {
    for (const mode of kind === 'quick' ? (['isolated', 'oxygen'] as const) : modes)
      points.push(plain(mode, n));
    for (const k of steps) if (kind === 'full' || n === LONG) points.push(plain('oxygen', n, k));
  }
  if (kind === 'full') {
    for (const s of FULL.denoise)
      for (const n of tokens) points.push(plain('isolated', n, K, s), plain('oxygen', n, K, s));
    for (const arrivals of FULL.arrivals)
      for (const mode of ['isolated', 'oxygen'] as const) points.push({ ...plain(mode, LONG), arrivals });
  }
  const byName = new Map(points.filter(p => modes.includes(p.mode)).map(p => [pointName(p), p]));
  return [...byName.values()];
}

export const pointName = (p: Point): string =>
  `${p.mode} N ${p.tokens} k ${p.tokens_per_frame} S ${p.denoise_steps} ${p.arrivals}`;

/** What a frame of the point should take, from single runs. */
export function expectedFrameMs(p: Point, parts: Parts): number {
  const arrivals = parseArrivals(p.arrivals);
  const tokens = longest(arrivals, p.tokens);
  const rate = meanRate(arrivals);
  const prefill = parts.vision + parts.prefill;
  const [one, eight] = [parts.decode['1'] ?? 0, parts.decode['8'] ?? 0];
  const rows = (rate * tokens) / p.tokens_per_frame;
  const batched = one + (Math.max(0, rows - 1) * Math.max(0, eight - one)) / 7;
  const decode = p.mode === 'oxygen' ? p.tokens_per_frame * batched : rate * tokens * one;
  const prefills = p.mode === 'isolated' ? 1 + rate : 1;
  return prefills * prefill + p.denoise_steps * parts.denoise_step + decode;
}
