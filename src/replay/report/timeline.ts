/** Texts as bars over the time of the bag, instructions above them. Wider than a phone: it is scrolled sideways. */
import { cut, FONT, textWidth } from '../../report/layout';
import { h, type Child, type Markup } from '../../report/markup';
import { between } from '../../report/scale';
import { group, line, marker, text } from '../../report/svg';
import type { ReplayResult, ReplaySeries, TextEvent } from '../result';
import { grouped, lanes, type Bar, type Group } from './lanes';
import { ENDINGS, OPEN } from './reasons';
import { xTicks } from './time-chart';
import { clock, counted } from './words';

/** As wide as the page, and wider where most bars would touch. */
const [NARROWEST, WIDEST] = [972, 4000];
const LEAST = 11;
/** A text of the last moment needs room too. */
const [LEFT, MARGIN] = [8, LEAST + 5];
const [BAR, LANE] = [15, 19];
const [SPAN, NAME] = [20, 17];
const GROUP_GAP = 12;
/** Less of a text says nothing. */
const LEGIBLE = textWidth('x'.repeat(9));

export function timeline(r: ReplayResult): Markup {
  const { bag } = r.summary;
  const { texts, instructions } = r.series;
  const events = grouped(texts);
  const width = wanted(events);
  const x = between(bag.from_s, bag.to_s, LEFT, width - MARGIN, Math.floor(width / 120));
  const within = (time: number): number => x.at(Math.min(bag.to_s, Math.max(bag.from_s, time)));
  const groups = lanes(events, ({ from_s, to_s }) => {
    const start = within(from_s);
    const size = within(to_s ?? bag.to_s) - start;
    return { x: start, width: Math.max(LEAST, size), end: start + Math.max(LEAST / 3, size) };
  });
  let y = instructions.length === 0 ? 4 : SPAN + 30;
  const rows = groups.map(g => {
    const top = y;
    y += NAME + g.lanes.length * LANE + GROUP_GAP;
    return drawn(g, top, width);
  });
  const bottom = y;
  return h(
    'div',
    { class: 'scroll', role: 'region', 'aria-label': 'Timeline of texts', tabindex: 0 },
    h(
      'svg',
      {
        class: 'timeline',
        viewBox: `0 0 ${width} ${bottom + 36}`,
        width,
        height: bottom + 36,
        role: 'img',
        'aria-label': about(r, groups),
      },
      x.ticks.map(t => line(x.at(t.value), instructions.length === 0 ? 0 : SPAN + 20, x.at(t.value), bottom, 'grid')),
      instructionSpans(instructions, within, width, bottom),
      rows,
      line(LEFT, bottom, width - MARGIN, bottom, 'axis'),
      xTicks(x, bottom, width),
      text(LEFT, bottom + 32, 'seconds of the bag', 'axis-title'),
    ),
  );
} // prettier-ignore

/** Room for the marks of the lane with the most texts, if they were evenly spread. */
function wanted(groups: ReadonlyMap<string | null, readonly TextEvent[]>): number {
  const most = Math.max(0, ...[...groups.values()].map(events => events.length));
  return Math.min(WIDEST, Math.max(NARROWEST, most * (LEAST + 3)));
}

function drawn({ name, lanes: rows }: Group, top: number, width: number): Child {
  return [
    text(LEFT, top + FONT, cut(name ?? 'requests', width - LEFT - MARGIN), 'series'),
    rows.map((bars, i) => {
      const y = top + NAME + i * LANE;
      // A short bar may reach a little under the next one: its mark lies above both.
      return [bars.map((bar, k) => drawnBar(bar, bars[k + 1]?.x ?? width, y)), bars.map(bar => mark(bar, y))];
    }),
  ];
}

/** `free`: where the next bar of the lane begins. */
function drawnBar(bar: Bar, free: number, y: number): Markup {
  const { event, x, width } = bar;
  const { name } = event.reason === null ? OPEN : ENDINGS[event.reason];
  return group(
    { class: name },
    h('title', {}, titleOf(event)),
    h('rect', { x, y, width, height: BAR, rx: event.reason === 'end' ? 4 : 1, class: 'bar' }),
    label(bar, free, y + FONT - 0.5),
  );
}

/** What was said, in the bar or beside it, wherever more of it can be read. */
function label({ event, x, width }: Bar, free: number, y: number): Child {
  const words = event.text.trim().replace(/\s+/gu, ' ');
  const [inside, beside] = [width - LEAST - 6, free - x - width - 10];
  const room = Math.max(inside, beside);
  if (words === '' || room < Math.min(textWidth(words), LEGIBLE)) return null;
  return inside >= Math.min(beside, textWidth(words))
    ? text(x + 5, y, cut(words, inside), 'on-bar')
    : text(x + width + 4, y, cut(words, beside), 'said halo');
}

function mark({ event, x, width }: Bar, y: number): Child {
  if (event.reason === null) return null;
  const { name, marker: shape } = ENDINGS[event.reason];
  return group({ class: name }, marker(shape, x + width - LEAST / 2, y + BAR / 2, event.reason));
}

/** All of it, as a tooltip. */
const titleOf = (e: TextEvent): string =>
  `${clock(e.from_s)} to ${e.to_s === null ? 'the end of the bag' : clock(e.to_s)}, ${e.id}: ${e.reason ?? 'open'}, ` +
  `${counted(e.tokens, 'token')}\n${e.seed} → ${e.text}`;

function instructionSpans(
  instructions: ReplaySeries['instructions'],
  within: (time: number) => number,
  width: number,
  bottom: number,
): Child {
  if (instructions.length === 0) return null;
  return [
    text(LEFT, FONT, 'instruction', 'series'),
    instructions.map(({ t, text: words }, i) => {
      const [from, to] = [within(t), within(instructions[i + 1]?.t ?? Infinity)];
      const size = Math.max(0, to - from);
      return group(
        { class: 'instruction' },
        h('title', {}, `from ${clock(t)}: ${words}`),
        line(from, SPAN - 3, from, bottom, 'since'),
        h('rect', { x: from, y: SPAN - 3, width: size, height: SPAN }),
        size > textWidth('xxx') ? text(from + 6, SPAN + 11, cut(words, size - 10), 'instruction-text') : null,
      );
    }),
  ];
} // prettier-ignore

const about = ({ series }: ReplayResult, groups: readonly Group[]): string =>
  `${counted(series.texts.length, 'text')} and ${counted(series.instructions.length, 'instruction')} over time; ` +
  groups
    .map(g => `${g.name ?? 'requests'}: ${counted(g.lanes.reduce((sum, l) => sum + l.length, 0), 'text')}`)
    .join(', '); // prettier-ignore
