/** Lines of the charts over N, k and S: one per mode, or one per value of a second setting. */
import { count, digits, times } from '../../report/numbers';
import { MARKERS } from '../../report/svg';
import { BENCH_MODES, type SweepPoint } from '../result';
import type { Point, Series } from './line-chart';
import { LOOKS } from './modes';
import { some, type Speedup } from './select';

const MAX_SERIES = 4;
const RAMP = 4;

/** One line per mode that was measured. */
export const modeSeries = (points: readonly SweepPoint[], at: (p: SweepPoint) => Point): Series[] =>
  BENCH_MODES.flatMap(mode => {
    const own = points.filter(p => p.mode === mode).map(at);
    return own.length === 0
      ? []
      : [{ label: mode, name: LOOKS[mode].name, marker: LOOKS[mode].marker, points: own }];
  });

/**
 * Speed-ups as one line per value of `group`, at most four, `keep` among them, in a ramp of one hue. A line needs two
 * points.
 */
export function speedupSeries(
  all: readonly Speedup[],
  x: (s: Speedup) => number,
  group: { readonly label: string; readonly of: (s: Speedup) => number; readonly keep: number | 'auto' },
): Series[] {
  const groups = [...new Set(all.map(group.of))]
    .map(value => ({ value, own: all.filter(s => group.of(s) === value) }))
    .filter(({ own }) => new Set(own.map(x)).size > 1);
  const shown = some(
    groups.map(g => g.value),
    MAX_SERIES,
    group.keep === 'auto' ? null : group.keep,
  );
  return shown.map((value, i) => ({
    label: `${group.label} ${value}`,
    name: `ramp-${shown.length === 1 ? RAMP - 1 : 1 + Math.round(((RAMP - 1) * i) / (shown.length - 1))}`,
    marker: MARKERS[i % MARKERS.length] ?? 'circle',
    points: (groups.find(g => g.value === value)?.own ?? []).map(s => ({
      x: x(s),
      y: s.factor,
      title: `N ${s.tokens}, k ${s.perFrame}, S ${s.steps}: ${times(s.factor)}`,
    })),
  }));
}

/** The values of lines, for those who cannot see them. */
export const spoken = (series: readonly Series[]): string =>
  series.map(s => `${s.label} ${s.points.map(p => `${digits(p.y)} at ${count(p.x)}`).join(', ')}`).join('; ');
