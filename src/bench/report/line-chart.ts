/** Lines over a few measured values of x, each named at its end. */
import { FONT, LINE, spread, textWidth } from '../../report/layout';
import type { Markup } from '../../report/markup';
import { fromZero, throughValues, type Scale } from '../../report/scale';
import { group, line, marker, polyline, svg, text, WIDTH, type Marker } from '../../report/svg';

export interface Point {
  readonly x: number;
  readonly y: number;
  readonly title: string;
}

export interface Series {
  readonly label: string;
  /** Class that sets the colour. */
  readonly name: string;
  readonly marker: Marker;
  readonly points: readonly Point[];
}

export interface LineChart {
  /** For those who cannot see the chart. */
  readonly about: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly xScale: 'linear' | 'logarithmic';
  readonly series: readonly Series[];
  /** A value of y to compare with. */
  readonly reference?: { readonly y: number; readonly label: string };
}

const HEIGHT = 250;
const [TOP, BOTTOM] = [30, HEIGHT - 38];
const MIN_GAP = 6;

export function lineChart(c: LineChart): Markup {
  const points = c.series.flatMap(s => s.points);
  const labels = c.series.map(s => textWidth(s.label));
  const y = fromZero(Math.max(...points.map(p => p.y), c.reference?.y ?? 0), BOTTOM, TOP);
  const left = 10 + Math.max(...y.ticks.map(t => textWidth(t.text)));
  const right = WIDTH - 16 - Math.max(...labels);
  const x = throughValues(
    points.map(p => p.x),
    left + 8,
    right - 8,
    c.xScale,
  );
  return svg(
    HEIGHT,
    c.about,
    text(0, FONT, c.yTitle, 'axis-title'),
    y.ticks.map(t => [
      line(left, y.at(t.value), right, y.at(t.value), t.value === 0 ? 'axis' : 'grid'),
      text(left - 6, y.at(t.value) + 4, t.text, 'tick', 'end'),
    ]),
    xAxis(x, c.xTitle, (left + right) / 2),
    c.reference ? reference(c.reference, y, left, right) : null,
    c.series.map(s => drawn(s, x, y)),
    endLabels(c.series, x, y, right),
  );
}

function xAxis(x: Scale, title: string, middle: number): Markup[] {
  let free = -Infinity;
  const shown = x.ticks.filter(t => {
    const half = textWidth(t.text) / 2;
    if (x.at(t.value) - half < free) return false;
    free = x.at(t.value) + half + MIN_GAP;
    return true;
  });
  return [
    ...x.ticks.map(t => line(x.at(t.value), BOTTOM, x.at(t.value), BOTTOM + 4, 'axis')),
    ...shown.map(t => text(x.at(t.value), BOTTOM + 16, t.text, 'tick', 'middle')),
    text(middle, HEIGHT - 5, title, 'axis-title', 'middle'),
  ];
}

const reference = (r: { y: number; label: string }, y: Scale, left: number, right: number): Markup[] => [
  line(left, y.at(r.y), right, y.at(r.y), 'reference'),
  text(left + 4, y.at(r.y) + FONT + 2, r.label, 'note'),
];

function drawn(s: Series, x: Scale, y: Scale): Markup {
  const sorted = [...s.points].sort((a, b) => a.x - b.x);
  return group(
    { class: s.name },
    polyline(
      sorted.map(p => [x.at(p.x), y.at(p.y)] as const),
      'curve',
    ),
    sorted.map(p => marker(s.marker, x.at(p.x), y.at(p.y), p.title)),
  );
}

/** Names beside the last points; a thin line leads to those that had to move. */
function endLabels(series: readonly Series[], x: Scale, y: Scale, right: number): Markup[] {
  const ends = series.map(s => s.points.reduce((a, b) => (b.x >= a.x ? b : a)));
  const wanted = ends.map(p => y.at(p.y));
  const placed = spread(
    wanted.map(centre => ({ centre, size: LINE })),
    TOP - LINE / 2,
    BOTTOM + LINE / 2,
  );
  return series.map((s, i) => {
    const [from, to] = [wanted[i] ?? 0, placed[i] ?? 0];
    const start = x.at(ends[i]?.x ?? 0) + 7;
    const moved = Math.abs(from - to) > 3 || right - start > 2;
    return group(
      { class: s.name },
      moved ? line(start, from, right + 6, to, 'leader') : null,
      text(right + 9, to + 4, s.label, 'series'),
    );
  });
}
