/** How long something took: bars of equal width, and marks at the quantiles. */
import { LINE, textWidth } from '../../report/layout';
import { h, type Markup } from '../../report/markup';
import { grouped } from '../../report/numbers';
import { between, fromZero } from '../../report/scale';
import { line, svg, text, WIDTH } from '../../report/svg';
import type { Histogram, Quantiles } from '../result';
import { xTicks } from './time-chart';
import { ms } from './words';

const QUANTILES = ['p50', 'p95', 'p99'] as const;
const HEIGHT = 210;
const BOTTOM = HEIGHT - 36;
/** A line for each mark's text above the bars: no two meet. */
const TOP = 8 + QUANTILES.length * LINE;
const RIGHT = WIDTH - 14;

export function histogram(title: string, bins: Histogram, q: Quantiles): Markup {
  const largest = bins.counts.reduce((a, b) => Math.max(a, b), 0);
  const y = fromZero(Math.max(1, largest), BOTTOM, TOP + 6, 3);
  const ticks = y.ticks.filter(t => Number.isInteger(t.value));
  const left = 10 + Math.max(...ticks.map(t => textWidth(grouped(t.value))));
  const end = bins.from_ms + bins.bin_ms * Math.max(1, bins.counts.length);
  const x = between(bins.from_ms, end, left, RIGHT, 5);
  return svg(
    HEIGHT,
    `${title}: ${grouped(q.count)} measured, mean ${ms(q.mean)}, ${QUANTILES.map(name => `${name} ${ms(q[name])}`).join(', ')}, longest ${ms(q.max)}`,
    ticks.map(t => [
      line(left, y.at(t.value), RIGHT, y.at(t.value), 'grid'),
      text(left - 6, y.at(t.value) + 4, grouped(t.value), 'tick', 'end'),
    ]),
    bins.counts.map((n, i) => {
      if (n === 0) return null;
      const from = bins.from_ms + i * bins.bin_ms;
      const last = i === bins.counts.length - 1;
      const [start, stop] = [x.at(from), x.at(from + bins.bin_ms)];
      return h(
        'g',
        { class: 'c-bar' },
        h('title', {}, `${last ? `${ms(from)} and more` : `${ms(from)} to ${ms(from + bins.bin_ms)}`}: ${grouped(n)}`),
        h('rect', { x: start, y: y.at(n), width: Math.max(0.5, stop - start), height: BOTTOM - y.at(n), class: 'bar' }),
      );
    }),
    line(left, BOTTOM, RIGHT, BOTTOM, 'axis'),
    xTicks(x, BOTTOM, WIDTH),
    text((left + RIGHT) / 2, HEIGHT - 4, 'ms', 'axis-title', 'middle'),
    QUANTILES.map((name, i) => {
      const at = x.at(Math.min(end, Math.max(bins.from_ms, q[name])));
      const top = 4 + i * LINE;
      const words = `${name} ${ms(q[name])}`;
      const leftwards = at + textWidth(words) + 6 > WIDTH;
      return [
        line(at, top, at, BOTTOM, 'quantile'),
        text(leftwards ? at - 5 : at + 5, top + 9, words, 'figure halo', leftwards ? 'end' : 'start'),
      ];
    }),
  );
} // prettier-ignore
