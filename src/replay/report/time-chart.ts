/** Curves over the time of the bag. */
import { cut, FONT, textWidth } from '../../report/layout';
import { h, type Markup } from '../../report/markup';
import { between, fromZero, type Scale } from '../../report/scale';
import { group, line, polyline, svg, text, WIDTH } from '../../report/svg';
import { thin, type Dot } from './thin';

export interface Curve {
  /** Class that sets colour and width. */
  readonly name: string;
  /** Runs of [seconds, value]. */
  readonly runs: readonly (readonly Dot[])[];
}

export interface TimeChart {
  /** For those who cannot see the chart. */
  readonly about: string;
  /** Empty: the heading says it. */
  readonly yTitle: string;
  readonly from_s: number;
  readonly to_s: number;
  /** From its coordinates at the bottom and at the top. */
  readonly y: (bottom: number, top: number) => Scale;
  /** The later ones lie on top. */
  readonly curves: readonly Curve[];
  /** Values of y to compare with, within the scale. */
  readonly lines: readonly { readonly y: number; readonly label: string }[];
  /** A curve around 0 in a panel of its own below the others. */
  readonly below: { readonly title: string; readonly curve: Curve } | null;
}

const PLOT = 152;
const RIGHT = WIDTH - 14;
/** Of the panel below: its title, then the curve. */
const [PANEL_TITLE, PANEL] = [24, 40];

export function timeChart(c: TimeChart): Markup {
  const top = c.yTitle === '' ? 8 : 26;
  const y = c.y(PLOT, top);
  const panel = c.below === null ? null : around(c.below.curve, PLOT + PANEL_TITLE, PLOT + PANEL_TITLE + PANEL);
  const bottom = panel === null ? PLOT : PLOT + PANEL_TITLE + PANEL;
  const labels = [...y.ticks, ...(panel?.ticks ?? [])].map(t => textWidth(t.text));
  const left = 10 + Math.max(...labels, 0);
  const x = within(between(c.from_s, c.to_s, left, RIGHT, 5), left, RIGHT);
  const height = bottom + 36;
  return svg(
    height,
    c.about,
    c.yTitle === '' ? null : text(0, FONT, cut(c.yTitle, WIDTH), 'axis-title'),
    yTicks(y, left),
    line(left, PLOT, RIGHT, PLOT, 'axis'),
    c.lines.map(l => limit(l, y, left)),
    c.curves.map(curve => drawn(curve, x, y)),
    c.below === null || panel === null
      ? null
      : [
          text(left, PLOT + 17, c.below.title, 'note'),
          yTicks(panel, left),
          line(left, bottom, RIGHT, bottom, 'axis'),
          drawn(c.below.curve, x, panel),
        ],
    xTicks(x, bottom, WIDTH),
    text((left + RIGHT) / 2, height - 4, 'seconds of the bag', 'axis-title', 'middle'),
  );
} // prettier-ignore

/** What lies before or after the time of the chart stands at its edge. */
const within = ({ at, ticks }: Scale, left: number, right: number): Scale => ({
  at: value => Math.min(right, Math.max(left, at(value))),
  ticks,
});

/** The same distance up and down from 0, with three ticks. */
function around({ runs }: Curve, top: number, bottom: number): Scale {
  const largest = runs.flat().reduce((most, [, value]) => Math.max(most, Math.abs(value)), 0);
  const up = fromZero(largest, (top + bottom) / 2, top, 1);
  const end = up.ticks.at(-1);
  const ticks = end ? [{ value: 0, text: '0' }, end, { value: -end.value, text: `−${end.text}` }] : [];
  return { at: up.at, ticks };
}

const yTicks = (y: Scale, left: number): Markup[] =>
  y.ticks.flatMap(t => [
    line(left, y.at(t.value), RIGHT, y.at(t.value), 'grid'),
    text(left - 6, y.at(t.value) + 4, t.text, 'tick', 'end'),
  ]);

/** Texts below the axis, within the chart and none into its neighbour. */
export function xTicks(x: Scale, y: number, width: number): Markup[] {
  let free = -Infinity;
  return x.ticks.flatMap(t => {
    const at = x.at(t.value);
    const half = textWidth(t.text) / 2;
    const middle = Math.min(width - half, Math.max(half, at));
    const mark = line(at, y, at, y + 4, 'axis');
    if (middle - half < free) return [mark];
    free = middle + half + 6;
    return [mark, text(middle, y + 16, t.text, 'tick', 'middle')];
  });
}

function limit({ y: value, label }: { y: number; label: string }, y: Scale, left: number): Markup {
  const at = y.at(value);
  const above = at - FONT > 12;
  return h(
    'g',
    {},
    line(left, at, RIGHT, at, 'reference'),
    text(RIGHT, above ? at - 4 : at + FONT, label, 'note halo', 'end'),
  );
}

/** A point without neighbours is a dot. */
const drawn = ({ name, runs }: Curve, x: Scale, y: Scale): Markup =>
  group(
    { class: name },
    runs.map(run => {
      const dots = thin(run.map(([time, value]) => [x.at(time), y.at(value)]));
      const [first] = dots;
      return first && dots.length === 1
        ? h('circle', { cx: first[0], cy: first[1], r: 2, class: 'dot' })
        : polyline(dots, 'curve');
    }),
  );
