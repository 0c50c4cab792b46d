/** The figures that matter most, large. */
import { h, type Markup } from './markup';

export interface Tile {
  readonly label: string;
  /** Number and unit, with a no-break space between them. */
  readonly value: string;
  readonly detail: string;
}

export const tileList = (tiles: readonly Tile[]): Markup => h('dl', { class: 'tiles' }, tiles.map(tile));

function tile(t: Tile): Markup {
  const [number = '', unitName = ''] = t.value.split('\u00a0');
  return h(
    'div',
    {},
    h('dt', {}, t.label),
    h('dd', { class: 'value' }, number, h('small', {}, ` ${unitName}`)),
    h('dd', {}, t.detail),
  );
}
