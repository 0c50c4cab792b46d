/** What was said when, and how each text ended. */
import { END_REASONS, type EndReason } from '../../core/types';
import { section, table } from '../../report/blocks';
import { h, type Child, type Markup } from '../../report/markup';
import { grouped } from '../../report/numbers';
import { marker } from '../../report/svg';
import type { ReplayResult, TextEvent } from '../result';
import { ENDINGS, OPEN } from './reasons';
import { timeline } from './timeline';
import { clock, counted, listed } from './words';

/** Texts that a reader is shown at once. */
const SHOWN = 12;

export function textsSection(r: ReplayResult): Markup {
  const { texts, instructions, more_texts } = r.series;
  return section(
    'texts',
    'Texts',
    lead(r),
    texts.length + instructions.length === 0 ? null : [legend(texts), timeline(r)],
    texts.length === 0 ? null : list(texts),
    more_texts === 0
      ? null
      : h('p', { class: 'note-line' }, `${counted(more_texts, 'more text')} came that ${more_texts === 1 ? 'is' : 'are'} not listed.`),
    instructions.length === 0 ? null : instructionList(r),
  );
} // prettier-ignore

function lead({ summary, series }: ReplayResult): string {
  const { finished, by_reason, open } = summary.requests;
  if (finished + open + series.texts.length === 0) return 'Nothing was asked and nothing was said.';
  const ends = END_REASONS.flatMap(reason => {
    const n = by_reason[reason] ?? 0;
    return n === 0 ? [] : [`${grouped(n)} ${reason}`];
  });
  return (
    `${counted(finished, 'text')} ended` +
    (ends.length === 0 ? '' : `: ${listed(ends)}`) +
    `; ${grouped(open)} still open when the bag ended. A bar begins with the first token.`
  );
}

/** Of what occurs only. */
function legend(texts: readonly TextEvent[]): Markup | null {
  const seen = new Set<EndReason | null>(texts.map(t => t.reason));
  if (seen.size === 0) return null;
  const icon = (child: Child) => h('svg', { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' }, child);
  const bar = h('rect', { x: 0.5, y: 1, width: 15, height: 14, rx: 2, class: 'bar' });
  return h(
    'dl',
    { class: 'endings' },
    END_REASONS.filter(reason => seen.has(reason)).map(reason => {
      const { name, marker: shape, says } = ENDINGS[reason];
      return h('div', {}, h('dt', { class: name }, icon([bar, marker(shape, 8, 8, null)]), ` ${reason}`), h('dd', {}, says));
    }),
    seen.has(null) ? h('div', {}, h('dt', { class: OPEN.name }, icon(bar), ' open'), h('dd', {}, OPEN.says)) : null,
  );
} // prettier-ignore

function list(texts: readonly TextEvent[]): Child {
  const ordered = [...texts].sort((a, b) => a.from_s - b.from_s);
  if (ordered.length <= SHOWN) return rows(ordered);
  return h('details', {}, h('summary', {}, `All ${counted(ordered.length, 'text')}`), rows(ordered));
}

const rows = (texts: readonly TextEvent[]): Markup =>
  table(
    ['from', 'to', 'asked and said', 'request', 'reason', 'tokens'],
    texts.map(t => [
      clock(t.from_s),
      t.to_s === null ? 'open' : clock(t.to_s),
      [h('bdi', { class: 'asked' }, t.seed), ' ', h('bdi', { class: 'said' }, t.text)],
      h('bdi', {}, t.id),
      t.reason ?? 'open',
      grouped(t.tokens),
    ]),
    'Texts in the order of time',
  );

function instructionList({ series }: ReplayResult): Markup {
  const items = series.instructions.map(({ t, text }) => [clock(t), h('bdi', { class: 'said' }, text)]);
  return h(
    'details',
    {},
    h('summary', {}, counted(items.length, 'instruction')),
    table(['from', 'instruction'], items, 'Instructions in the order of time'),
  );
}
