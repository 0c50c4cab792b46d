/** The page around a report: one HTML file that needs nothing else. */
import { h, raw, type Child } from './markup';

export function page(title: string, style: string, ...content: readonly Child[]): string {
  const html = h(
    'html',
    { lang: 'en' },
    h(
      'head',
      {},
      h('meta', { charset: 'utf-8' }),
      h('meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' }),
      h('meta', { name: 'color-scheme', content: 'light dark' }),
      h('title', {}, title),
      h('style', {}, raw(style)),
    ),
    h('body', {}, h('main', {}, ...content)),
  );
  return `<!doctype html>\n${html.html}\n`;
}
