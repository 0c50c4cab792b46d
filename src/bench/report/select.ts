/** Which measured points belong to a figure. */
import { ratio } from '../../report/numbers';
import type { BenchMode, BenchResult, SweepPoint } from '../result';

/** The sweep, and the modes at the settings of the run where the sweep has not been there. */
export function allPoints(r: BenchResult): SweepPoint[] {
  const { tokens, tokens_per_frame, denoise_steps, arrivals } = r.settings;
  const measured = Object.entries(r.modes).map(([mode, figures]) => ({
    ...figures,
    mode: mode as BenchMode,
    tokens,
    tokens_per_frame,
    denoise_steps,
    arrivals,
  }));
  const known = new Set(r.sweep.map(key));
  return [...r.sweep, ...measured.filter(p => !known.has(key(p)))];
}

/** k matters in `oxygen` only. */
const key = (p: SweepPoint): string =>
  JSON.stringify([
    p.mode,
    p.tokens,
    p.denoise_steps,
    p.arrivals,
    p.mode === 'oxygen' ? p.tokens_per_frame : null,
  ]);

/** At the run's own denoise steps and arrivals, whatever N and k. */
export const isOfLoad = (r: BenchResult, p: SweepPoint): boolean =>
  p.denoise_steps === r.settings.denoise_steps && p.arrivals === r.settings.arrivals;

/** The point of `mode` with everything but k like `like`. */
export const counterpart = (
  points: readonly SweepPoint[],
  like: SweepPoint,
  mode: BenchMode,
): SweepPoint | undefined =>
  points.find(
    p =>
      p.mode === mode &&
      p.tokens === like.tokens &&
      p.denoise_steps === like.denoise_steps &&
      p.arrivals === like.arrivals,
  );

/** Frame time of `isolated` over that of `oxygen` where all else is equal. */
export interface Speedup {
  readonly tokens: number;
  readonly perFrame: number;
  readonly steps: number;
  readonly factor: number;
}

/** For every point of `oxygen` with a fixed k that has a counterpart. */
export const speedups = (points: readonly SweepPoint[]): Speedup[] =>
  points.flatMap(p => {
    if (p.mode !== 'oxygen' || p.tokens_per_frame === 'auto') return [];
    const isolated = counterpart(points, p, 'isolated');
    const factor = isolated ? ratio(isolated.frame_ms_median, p.frame_ms_median) : null;
    if (factor === null) return [];
    return [{ tokens: p.tokens, perFrame: p.tokens_per_frame, steps: p.denoise_steps, factor }];
  });

/** At most `count` of the sorted values, first and last among them, and `keep` where it is one of them. */
export function some(values: readonly number[], count: number, keep: number | null): number[] {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  if (sorted.length <= count) return sorted;
  const picked = new Set(
    Array.from(
      { length: count },
      (_, i) => sorted[Math.round((i * (sorted.length - 1)) / (count - 1))] as number,
    ),
  );
  if (keep !== null && sorted.includes(keep) && !picked.has(keep)) {
    const inner = [...picked].slice(1, -1).sort((a, b) => Math.abs(a - keep) - Math.abs(b - keep));
    if (inner[0] !== undefined) picked.delete(inner[0]);
    picked.add(keep);
  }
  return [...picked].sort((a, b) => a - b);
}
