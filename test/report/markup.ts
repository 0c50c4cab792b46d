/** A strict reader of the report: whatever XML would refuse, it refuses. */

export interface Element {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly (Element | string)[];
}

const TOKEN =
  /<!doctype html>|<\/([a-z][a-zA-Z0-9]*)>|<([a-z][a-zA-Z0-9]*)((?: [a-zA-Z][\w-]*="[^"<>]*")*)(\/?)>|([^<]+)/y;
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** Throws at anything that is not well-formed. */
export function parse(html: string): Element {
  const root: Open = { tag: '', attributes: {}, children: [] };
  const open: Open[] = [root];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < html.length) {
    const at = TOKEN.lastIndex;
    const token = TOKEN.exec(html);
    if (!token) throw new Error(`not well-formed: ${html.slice(at, at + 80)}`);
    const [, closed, tag, attributes = '', empty, words] = token;
    const top = open.at(-1) as Open;
    if (closed !== undefined) {
      if (top.tag !== closed) throw new Error(`</${closed}> closes <${top.tag}>`);
      open.pop();
    } else if (tag !== undefined) {
      const element: Open = { tag, attributes: readAttributes(attributes), children: [] };
      top.children.push(element);
      if (empty === '') open.push(element);
    } else if (words !== undefined) {
      top.children.push(top.tag === 'style' ? words : unescape(words));
    }
  }
  if (open.length !== 1) throw new Error(`<${open.at(-1)?.tag}> is not closed`);
  return root.children.find((c): c is Element => typeof c !== 'string') as Element;
}

interface Open extends Element {
  readonly children: (Element | string)[];
}

function readAttributes(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, name = '', value = ''] of text.matchAll(/ ([\w-]+)="([^"]*)"/g)) {
    if (name in found) throw new Error(`${name} twice`);
    found[name] = unescape(value);
  }
  return found;
}

const unescape = (text: string): string =>
  text.replace(/&([#\w]*;?)/g, (_, entity: string) => {
    const known = NAMED[entity.replace(/;$/, '')];
    if (known === undefined || !entity.endsWith(';')) throw new Error(`&${entity}`);
    return known;
  });

export const elements = (of: Element): Element[] => [
  of,
  ...of.children.flatMap(c => (typeof c === 'string' ? [] : elements(c))),
];

/** What a reader reads, pieces apart; without the style sheet. */
export const words = (of: Element): string[] =>
  of.tag === 'style' ? [] : of.children.flatMap(c => (typeof c === 'string' ? [c] : words(c)));
