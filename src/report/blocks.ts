/** Sections, figures and tables of the page. */
import { h, type Child, type Markup } from './markup';

/** A chart, with the key of its colours if it needs one, and how to read it below. */
export const figure = (title: string, chart: Child, note: Child = null): Markup =>
  h('figure', {}, h('h3', {}, title), chart, note === null ? null : h('figcaption', {}, note));

/** `lead` says in words what the figures show. */
export const section = (id: string, title: string, lead: Child, ...content: readonly Child[]): Markup =>
  h('section', { id }, h('h2', {}, title), h('p', { class: 'lead' }, lead), ...content);

export const grid = (...figures: readonly Child[]): Markup => h('div', { class: 'grid' }, ...figures);

/** What the colours of a stacked chart mean. */
export const key = (entries: readonly (readonly [name: string, label: string])[]): Markup =>
  h(
    'p',
    { class: 'key' },
    entries.map(([name, label]) => [h('span', { class: name }, label), ' ']),
  );

export const mono = (words: string): Markup => h('code', {}, words);

/** First column: names of the rows; the others are figures. */
export function table(heads: readonly string[], rows: readonly (readonly Child[])[], about: string): Markup {
  return h(
    'div',
    { class: 'scroll', role: 'region', 'aria-label': about, tabindex: 0 },
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          heads.map(head => h('th', { scope: 'col' }, head)),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map(([name = '', ...cells]) =>
          h(
            'tr',
            {},
            h('th', { scope: 'row' }, name),
            cells.map(c => h('td', {}, c)),
          ),
        ),
      ),
    ),
  );
}
