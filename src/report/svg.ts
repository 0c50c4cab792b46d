/** What all charts are made of. */
import { h, type Attributes, type Child, type Markup } from './markup';

/** All charts have this width in SVG units; a phone shows them about one to one. */
export const WIDTH = 400;

/** `label` says to those who cannot see the chart what it shows. */
export const svg = (height: number, label: string, ...children: readonly Child[]): Markup =>
  h('svg', { viewBox: `0 0 ${WIDTH} ${Math.ceil(height)}`, role: 'img', 'aria-label': label }, ...children);

export const group = (attributes: Attributes, ...children: readonly Child[]): Markup =>
  h('g', attributes, ...children);

export const line = (x1: number, y1: number, x2: number, y2: number, name: string): Markup =>
  h('line', { x1, y1, x2, y2, class: name });

export const text = (
  x: number,
  y: number,
  words: string,
  name: string,
  anchor: 'start' | 'middle' | 'end' = 'start',
): Markup => h('text', { x, y, class: name, 'text-anchor': anchor }, words);

export const polyline = (points: readonly (readonly [number, number])[], name: string): Markup =>
  h('polyline', { points: points.map(p => p.map(v => v.toFixed(1)).join(',')).join(' '), class: name });

export const MARKERS = ['circle', 'square', 'diamond', 'triangle', 'down', 'cross', 'plus', 'post'] as const;
export type Marker = (typeof MARKERS)[number];

/** A mark of the same weight in every shape. `title` is shown by a resting pointer; null: that of what is around it. */
export function marker(shape: Marker, x: number, y: number, title: string | null): Markup {
  const at = (points: readonly (readonly [number, number])[]) =>
    points
      .map(([dx, dy], i) => `${i === 0 ? 'M' : 'L'}${(x + dx).toFixed(1)} ${(y + dy).toFixed(1)}`)
      .join('') + 'Z';
  const outlines: Readonly<Record<Exclude<Marker, 'circle'>, string>> = {
    square: at([[-3.4, -3.4], [3.4, -3.4], [3.4, 3.4], [-3.4, 3.4]]),
    diamond: at([[0, -4.8], [4.8, 0], [0, 4.8], [-4.8, 0]]),
    triangle: at([[0, -4.6], [4.4, 3.4], [-4.4, 3.4]]),
    down: at([[0, 4.6], [4.4, -3.4], [-4.4, -3.4]]),
    cross: at([[-4, -2.4], [-2.4, -4], [0, -1.6], [2.4, -4], [4, -2.4], [1.6, 0], [4, 2.4], [2.4, 4], [0, 1.6], [-2.4, 4], [-4, 2.4], [-1.6, 0]]),
    plus: at([[-1.2, -4.6], [1.2, -4.6], [1.2, -1.2], [4.6, -1.2], [4.6, 1.2], [1.2, 1.2], [1.2, 4.6], [-1.2, 4.6], [-1.2, 1.2], [-4.6, 1.2], [-4.6, -1.2], [-1.2, -1.2]]),
    post: at([[-1.5, -5], [1.5, -5], [1.5, 5], [-1.5, 5]]),
  }; // prettier-ignore
  const shown =
    shape === 'circle'
      ? h('circle', { cx: x, cy: y, r: 3.8, class: 'mark' })
      : h('path', { d: outlines[shape], class: 'mark' });
  return group({}, title === null ? null : h('title', {}, title), shown);
}
