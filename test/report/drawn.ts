/** Where things lie in the charts of a report, as its reader finds them. */
import { textWidth } from '../../src/report/layout';
import { elements, words, type Element } from './markup';

/** What a page of numbers must not say. */
export const FAULTS = /NaN|undefined|Infinity|\[object/;

export const svgs = (page: Element): Element[] => elements(page).filter(e => e.tag === 'svg');
export const textOf = (page: Element): string => words(page).join(' ');

/** Numbers of the attributes that place something, by axis. */
function coordinates(e: Element): { x: number[]; y: number[] } {
  const at = (name: string) => (e.attributes[name] === undefined ? [] : [Number(e.attributes[name])]);
  const x = ['x', 'x1', 'x2', 'cx'].flatMap(at);
  const y = ['y', 'y1', 'y2', 'cy'].flatMap(at);
  if (e.tag === 'rect') {
    x.push(Number(e.attributes['x']) + Number(e.attributes['width']));
    y.push(Number(e.attributes['y']) + Number(e.attributes['height']));
  }
  const pairs = (e.attributes['points'] ?? e.attributes['d'] ?? '').match(/-?[\d.e]+|[^-\d.e, MLZ]+/g) ?? [];
  pairs.map(Number).forEach((v, i) => (i % 2 === 0 ? x : y).push(v));
  return { x, y };
}

/** Where a text lies, by the estimate that the charts use. */
function extent(e: Element): readonly [number, number] {
  const [x, width] = [Number(e.attributes['x']), textWidth(words(e).join(''))];
  const start = { start: x, middle: x - width / 2, end: x - width }[e.attributes['text-anchor'] ?? 'start'] as number;
  return [start, start + width];
} // prettier-ignore

/** What lies outside of its chart. */
export function outside(page: Element): string[] {
  return svgs(page).flatMap(svg => {
    const [, , width = 0, height = 0] = (svg.attributes['viewBox'] ?? '').split(' ').map(Number);
    return elements(svg).flatMap(e => {
      const { x, y } = coordinates(e);
      if (e.tag === 'text') x.push(...extent(e));
      const fits = (values: number[], end: number) => values.every(v => v >= -2 && v <= end + 2);
      return fits(x, width) && fits(y, height) ? [] : [`${e.tag} ${JSON.stringify(e.attributes)} ${words(e).join('')}`];
    });
  });
} // prettier-ignore

/** Labels of one chart that cover each other. */
export function covered(page: Element): string[] {
  return svgs(page).flatMap(svg => {
    const boxes = elements(svg)
      .filter(e => e.tag === 'text')
      .map(e => ({ what: words(e).join(''), x: extent(e), y: Number(e.attributes['y']) }));
    return boxes.flatMap((a, i) =>
      boxes
        .slice(i + 1)
        .filter(b => a.x[1] > b.x[0] + 1 && b.x[1] > a.x[0] + 1 && Math.abs(a.y - b.y) < 11)
        .map(b => `${a.what} | ${b.what}`),
    );
  });
}
