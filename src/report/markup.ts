/** HTML and SVG as values: text becomes markup here only, and is escaped on the way. */

export interface Markup {
  readonly html: string;
}

export type Child = Markup | string | null | readonly Child[];

/** Numbers are coordinates, rounded to hundredths. */
export type Attributes = Readonly<Record<string, string | number>>;

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const VOID = new Set(['meta', 'br', 'img', 'hr', 'line', 'rect', 'circle', 'path', 'polyline']);
/** XML knows no other control characters. */
const CONTROLS = /[^\P{Cc}\t\n\r]/gu;

export const escape = (text: string): string =>
  text.replace(CONTROLS, '\ufffd').replace(/[&<>"']/g, c => ESCAPES[c] as string);

/** An element. Strings among the children are text. */
export function h(tag: string, attributes: Attributes, ...children: readonly Child[]): Markup {
  const written = Object.entries(attributes).map(([name, value]) => ` ${name}="${attribute(value)}"`);
  const open = `<${tag}${written.join('')}`;
  return { html: VOID.has(tag) ? `${open}/>` : `${open}>${children.map(inner).join('')}</${tag}>` };
}

/** For what this program wrote itself: the style sheet. */
export const raw = (html: string): Markup => ({ html });

const attribute = (value: string | number): string =>
  typeof value === 'number' ? String(Math.round(value * 100) / 100) : escape(value);

function inner(child: Child): string {
  if (child === null) return '';
  if (typeof child === 'string') return escape(child);
  return 'html' in child ? child.html : child.map(inner).join('');
}
