/** Action rate when requests do not come evenly. */
import { figure, grid, key, section } from '../../report/blocks';
import type { Child, Markup } from '../../report/markup';
import { digits, ratio, times } from '../../report/numbers';
import type { Scale } from '../../report/scale';
import { group, line, marker } from '../../report/svg';
import type { BenchResult, SweepPoint } from '../result';
import { LOOKS } from './modes';
import { inWords, patternOf } from './arrivals-words';
import { rowsWithAxis } from './row-chart';
import { allPoints, counterpart } from './select';

interface Pair {
  readonly arrivals: string;
  readonly oxygen: SweepPoint;
  readonly isolated: SweepPoint;
}

/**
 * Over the whole time: where requests come in some frames only, the median frame says nothing of the others, and a rate
 * made of it (as the paper has it) would not either.
 */
const actionsPerSecond = (p: SweepPoint, horizon: number): number => p.replan_hz * horizon;

/** Nothing with fewer than two patterns. */
export function arrivalsSection(r: BenchResult): Markup | null {
  const pairs = pairsOf(r);
  if (pairs.length < 2) return null;
  const kinds = Object.keys(TITLES).filter(kind => pairs.some(p => kindOf(p.arrivals) === kind));
  const gains = pairs.flatMap(p => ratio(p.oxygen.replan_hz, p.isolated.replan_hz) ?? []);
  const first = pairs[0] as Pair;
  return section(
    'arrivals',
    'Uneven language load',
    gains.length === 0
      ? 'Requests that come in other patterns than one per frame.'
      : `Whatever the pattern, oxygen gives ${times(Math.min(...gains))} to ${times(Math.max(...gains))} the actions of isolated, ` +
          `counted over all frames ` +
          `(N ${first.oxygen.tokens}, k ${first.oxygen.tokens_per_frame}).`,
    key([
      [LOOKS.isolated.name, 'isolated'],
      [LOOKS.oxygen.name, 'oxygen'],
    ]),
    grid(kinds.map(kind => kindFigure(kind, pairs.filter(p => kindOf(p.arrivals) === kind), r.settings.horizon))), // prettier-ignore
  );
}

function kindOf(arrivals: string): string {
  const { kind } = patternOf(arrivals);
  return Object.hasOwn(TITLES, kind) ? kind : 'other';
}

/** Of every pattern the pair with most language; the sweep measures all at the same N and k. */
function pairsOf(r: BenchResult): Pair[] {
  const points = allPoints(r).filter(p => p.denoise_steps === r.settings.denoise_steps);
  const byPattern = new Map<string, Pair>();
  const longest = Math.max(0, ...r.sweep.filter(p => p.arrivals !== r.settings.arrivals).map(p => p.tokens));
  for (const oxygen of points) {
    if (oxygen.mode !== 'oxygen' || oxygen.tokens !== longest) continue;
    const isolated = counterpart(points, oxygen, 'isolated');
    const own = r.settings.tokens_per_frame === oxygen.tokens_per_frame;
    if (isolated && (own || !byPattern.has(oxygen.arrivals)))
      byPattern.set(oxygen.arrivals, { arrivals: oxygen.arrivals, oxygen, isolated });
  }
  const weight = (p: Pair) => patternOf(p.arrivals).values.at(-1) ?? 0;
  return [...byPattern.values()].sort((a, b) => weight(a) - weight(b));
}

/** In the order of the page. */
const TITLES: Readonly<Record<string, string>> = {
  uniform: 'Evenly',
  poisson: 'At random (Poisson)',
  bursty: 'In bursts',
  random: 'Short and long texts',
  other: 'Other patterns',
};

function kindFigure(kind: string, pairs: readonly Pair[], horizon: number): Markup {
  const rate = (p: SweepPoint) => actionsPerSecond(p, horizon);
  const rates = (p: Pair) => `${digits(rate(p.isolated))} → ${digits(rate(p.oxygen))}/s`;
  return figure(
    TITLES[kind] ?? kind,
    rowsWithAxis(
      {
        about: `Actions per second, isolated and oxygen: ${pairs.map(p => `${inWords(p.arrivals)} ${rates(p)}`).join('; ')}`,
        xTitle: 'actions per second',
        rows: pairs.map(p => ({ label: inWords(p.arrivals), name: 'plain', figure: rates(p) })),
        maxima: pairs.map(p => Math.max(rate(p.oxygen), rate(p.isolated))),
      },
      (i, x, y) => pair(pairs[i] as Pair, rate, x, y + 8),
    ),
  );
}

function pair({ oxygen, isolated }: Pair, rate: (p: SweepPoint) => number, x: Scale, y: number): Child {
  const at = (p: SweepPoint) => {
    const { name, marker: shape } = LOOKS[p.mode];
    return group({ class: name }, marker(shape, x.at(rate(p)), y, `${p.mode}: ${digits(rate(p))} actions/s`));
  }; // prettier-ignore
  return [line(x.at(rate(isolated)), y, x.at(rate(oxygen)), y, 'link'), at(isolated), at(oxygen)];
}
