/** Bars below each other: name and figure above, one or more parts, a whisker, a mark to compare with. */
import { cut, FONT, textWidth } from '../../report/layout';
import { h, type Child, type Markup } from '../../report/markup';
import { digits } from '../../report/numbers';
import { fromZero, type Scale } from '../../report/scale';
import { group, line, svg, text, WIDTH } from '../../report/svg';

export interface Part {
  /** Class that sets the colour. */
  readonly name: string;
  readonly value: number;
  /** Shown where it fits. */
  readonly text: string;
  readonly title: string;
}

export interface Row {
  readonly label: string;
  /** Class that sets the colour of the label. */
  readonly name: string;
  /** At the right end of the label's line. */
  readonly figure: string;
  readonly parts: readonly Part[];
  readonly whisker?: { readonly low: number; readonly high: number };
  /** A value to compare with. */
  readonly mark?: { readonly value: number; readonly title: string };
}

export interface RowChart {
  readonly about: string;
  readonly xTitle: string;
  readonly rows: readonly Row[];
}

/** Marks at zero need room too. */
const [LEFT, RIGHT] = [6, WIDTH - 12];
const [ROW, BAR, FIRST] = [48, 18, 21];
const GAP = 10;

export const rowChart = (c: RowChart): Markup =>
  rowsWithAxis(
    { ...c, maxima: c.rows.map(extent) },
    (i, x, y) => bar(c.rows[i] as Row, x, y),
  ); // prettier-ignore

interface Rows {
  readonly about: string;
  readonly xTitle: string;
  readonly rows: readonly Pick<Row, 'label' | 'name' | 'figure'>[];
  /** Largest value of each row. */
  readonly maxima: readonly number[];
}

/** The common frame of charts that have one row per name; `draw` fills row `i`, whose bars lie at `y`. */
export function rowsWithAxis(c: Rows, draw: (i: number, x: Scale, y: number) => Child): Markup {
  const x = fromZero(Math.max(...c.maxima), LEFT, RIGHT);
  const bottom = FIRST + c.rows.length * ROW - 18;
  return svg(
    bottom + 36,
    c.about,
    x.ticks.map(t => line(x.at(t.value), FIRST - 4, x.at(t.value), bottom, t.value === 0 ? 'axis' : 'grid')),
    c.rows.map((row, i) => {
      const y = FIRST + i * ROW;
      return [
        group({ class: row.name }, text(LEFT + 4, y - 6, cut(row.label, RIGHT - LEFT - GAP - textWidth(row.figure)), 'series halo')),
        text(RIGHT, y - 6, row.figure, 'figure halo', 'end'),
        draw(i, x, y),
      ];
    }),
    x.ticks.map((t, i) =>
      text(x.at(t.value), bottom + 14, t.text, 'tick', i === 0 ? 'start' : i === x.ticks.length - 1 ? 'end' : 'middle'),
    ),
    text((LEFT + RIGHT) / 2, bottom + 31, c.xTitle, 'axis-title', 'middle'),
  ); // prettier-ignore
}

const total = (row: Row): number => row.parts.reduce((sum, part) => sum + part.value, 0);
const extent = (row: Row): number => Math.max(total(row), row.whisker?.high ?? 0, row.mark?.value ?? 0);

function bar(row: Row, x: Scale, y: number): Child {
  let end = 0;
  const parts = row.parts.map(part => {
    const start = end;
    end += part.value;
    const [from, to] = [x.at(start), x.at(end)];
    const fits = part.text !== '' && to - from > textWidth(part.text) + 4;
    return group(
      { class: part.name },
      h('title', {}, part.title),
      h('rect', { x: from, y, width: Math.max(0, to - from), height: BAR, class: 'bar' }),
      fits ? text((from + to) / 2, y + BAR / 2 + FONT / 2 - 1.5, part.text, 'on-bar', 'middle') : null,
    );
  });
  return [parts, row.whisker ? whisker(row.whisker, x, y + BAR / 2) : null, row.mark ? mark(row.mark, x, y) : null];
} // prettier-ignore

/** Twice, so that it stands out from the bar and from the paper. */
const outlined = (name: string, title: string, lines: readonly (readonly [number, number, number, number])[]): Markup =>
  group(
    { class: name },
    h('title', {}, title),
    ['under', 'over'].map(layer => lines.map(([x1, y1, x2, y2]) => line(x1, y1, x2, y2, layer))),
  ); // prettier-ignore

function whisker({ low, high }: { low: number; high: number }, x: Scale, y: number): Markup {
  const [from, to] = [x.at(low), x.at(high)];
  return outlined('whisker', `repeats from ${digits(low)} to ${digits(high)}`, [
    [from, y, to, y],
    [from, y - 4, from, y + 4],
    [to, y - 4, to, y + 4],
  ]);
}

const mark = ({ value, title }: { value: number; title: string }, x: Scale, y: number): Markup =>
  outlined('compare', title, [[x.at(value), y - 3, x.at(value), y + BAR + 3]]);
