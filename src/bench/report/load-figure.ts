/** Action rate against language load: the figure that this project exists for. */
import { figure, grid, section } from '../../report/blocks';
import type { Markup } from '../../report/markup';
import { digits, percent, ratio, unit } from '../../report/numbers';
import type { BenchResult, SweepPoint } from '../result';
import { lineChart, type Point, type Series } from './line-chart';
import { allPoints, isOfLoad } from './select';
import { modeSeries, spoken } from './series';

/** Every mode at the k of the run. Nothing with fewer than two N. */
export function loadSection(r: BenchResult): Markup | null {
  const points = allPoints(r).filter(
    p => isOfLoad(r, p) && (p.mode !== 'oxygen' || p.tokens_per_frame === r.settings.tokens_per_frame),
  );
  // a mode with one point is in the ablation
  const lines = (at: (p: SweepPoint) => Point) => modeSeries(points, at).filter(s => s.points.length > 1);
  const actions = lines(p => ({
    x: p.tokens,
    y: p.action_hz,
    title: `${p.mode}, N ${p.tokens}: ${digits(p.action_hz)} actions/s`,
  }));
  if (actions.length === 0) return null;
  const language = lines(p => ({
    x: p.tokens,
    y: p.tokens_per_s,
    title: `${p.mode}, N ${p.tokens}: ${unit(p.tokens_per_s, 'tokens/s')}`,
  }));
  const chart = (yTitle: string, series: readonly Series[]) =>
    lineChart({
      about: `${yTitle} against N: ${spoken(series)}`,
      xTitle: 'N, tokens per request',
      yTitle,
      xScale: 'linear',
      series,
    });
  return section(
    'load',
    'Action rate under language load',
    keptSentence(actions),
    grid(
      figure(
        'Actions',
        chart('actions per second', actions),
        `As the paper counts them: ${r.settings.horizon} actions per chunk, divided by the frame time; k ${r.settings.tokens_per_frame}.`,
      ),
      figure('Language', chart('tokens per second, all requests', language)),
    ),
  );
}

/** How much of the rate at the shortest texts is left at the longest. */
function keptSentence(series: readonly Series[]): string {
  const kept = series.flatMap(s => {
    const sorted = [...s.points].sort((a, b) => a.x - b.x);
    const [first, last] = [sorted[0], sorted.at(-1)];
    const share = first && last && first.x < last.x ? ratio(last.y, first.y) : null;
    return share === null ? [] : [{ label: s.label, share, from: first?.x, to: last?.x }];
  });
  const [best, ...rest] = kept.reverse();
  if (!best) return 'Rates at each number of tokens per request.';
  const others = rest.map(k => `${k.label} ${percent(k.share)}`).join(', ');
  return (
    `When texts grow from ${best.from} to ${best.to} tokens, ${best.label} keeps ${percent(best.share)} of its action rate` +
    (others === '' ? '.' : `; ${others}.`)
  );
}
