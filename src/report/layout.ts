/** Where labels go, so that none covers another. */

/** Size of the charts' text, and the distance of two lines of it, in SVG units. */
export const FONT = 12;
export const LINE = 15;

/** From here on letters are about square: Hangul, Han, kana, emoji. */
const SQUARE = 0x1100;

const letterWidth = (letter: string): number => FONT * ((letter.codePointAt(0) ?? 0) < SQUARE ? 0.62 : 1);

/** Width of text in the charts' font, rather too much than too little. */
export function textWidth(text: string): number {
  let width = 0;
  for (const letter of text) width += letterWidth(letter);
  return width;
}

/** Cut where it would not fit. */
export function cut(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let shown = '';
  let used = letterWidth('…');
  for (const letter of text) {
    used += letterWidth(letter);
    if (used > width) break;
    shown += letter;
  }
  return `${shown}…`;
}

export interface Extent {
  readonly centre: number;
  readonly size: number;
}

/**
 * Moves intervals apart, as little as that needs and within low..high as far as they fit; the order of their centres
 * stays. Returns the new centres.
 */
export function spread(extents: readonly Extent[], low: number, high: number): number[] {
  const order = extents.map((e, index) => ({ ...e, index })).sort((a, b) => a.centre - b.centre);
  const result = new Array<number>(extents.length).fill(0);
  let edge = low;
  for (const e of order) {
    const centre = Math.max(e.centre, edge + e.size / 2);
    result[e.index] = centre;
    edge = centre + e.size / 2;
  }
  edge = high;
  for (const e of order.reverse()) {
    const centre = Math.min(result[e.index] ?? 0, edge - e.size / 2);
    result[e.index] = Math.max(centre, low + e.size / 2);
    edge = centre - e.size / 2;
  }
  return result;
}
