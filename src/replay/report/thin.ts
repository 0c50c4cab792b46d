/** Curves with no more points than a chart can show. */

export type Dot = readonly [x: number, y: number];

/** Seconds without a value that are a gap in any case worth seeing. */
const GAP_S = 0.3;
/** Gaps of a thinned series are longer than its own spacing. */
const SPACINGS = 2.5;

/**
 * Known points in runs: a curve is broken where it has no value for longer than a moment. `t` ascends. Single nulls of
 * a series that shares its times with a faster one break nothing.
 */
export function runs(t: readonly number[], values: readonly (number | null)[]): Dot[][] {
  const steps = t.slice(1).map((time, i) => time - (t[i] ?? 0));
  const usual = steps.sort((a, b) => a - b)[steps.length >> 1] ?? 0;
  const gap = Math.max(GAP_S, SPACINGS * usual);
  const found: Dot[][] = [];
  let last = -Infinity;
  for (const [i, y] of values.entries()) {
    const x = t[i];
    if (y === null || x === undefined) continue;
    if (x - last > gap) found.push([]);
    found.at(-1)?.push([x, y]);
    last = x;
  }
  return found;
}

/** Of each column one unit wide the first, lowest, highest and last point: drawn, it looks the same. */
export function thin(dots: readonly Dot[]): Dot[] {
  const kept: Dot[] = [];
  for (let i = 0; i < dots.length;) {
    const column = Math.floor(dots[i]![0]);
    const start = i;
    let [low, high] = [i, i];
    for (; i < dots.length && Math.floor(dots[i]![0]) === column; i += 1) {
      if (dots[i]![1] < dots[low]![1]) low = i;
      if (dots[i]![1] > dots[high]![1]) high = i;
    }
    const picked = [...new Set([start, low, high, i - 1])].sort((a, b) => a - b);
    kept.push(...picked.map(k => dots[k]!));
  }
  return kept;
}
