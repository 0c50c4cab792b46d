/** What the model saw, with what it said at that moment. */
import { section } from '../../report/blocks';
import { h, type Markup } from '../../report/markup';
import type { Thumbnail } from '../result';
import { clock } from './words';

export const camerasSection = (pictures: readonly Thumbnail[]): Markup | null =>
  pictures.length === 0
    ? null
    : section(
        'cameras',
        'Cameras',
        'Pictures as the model saw them, with its caption and the instruction of that moment.',
        h('ol', { class: 'pictures' }, [...pictures].sort((a, b) => a.t - b.t).map(picture)),
      );

const picture = (p: Thumbnail): Markup =>
  h(
    'li',
    {},
    h('img', { src: p.url, width: p.width, height: p.height, alt: `${p.camera} at ${clock(p.t)}` }),
    h('p', { class: 'when' }, h('strong', {}, clock(p.t)), ' ', h('bdi', {}, p.camera)),
    p.caption === '' ? null : h('p', { title: p.caption }, h('bdi', {}, p.caption)),
    p.instruction === ''
      ? null
      : h('p', { class: 'told', title: p.instruction }, h('bdi', {}, p.instruction)),
  );
