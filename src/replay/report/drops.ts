/** What was not used, and why. */
import { ERROR_CODES } from '../../core/errors';
import { mono, section, table } from '../../report/blocks';
import type { Markup } from '../../report/markup';
import { grouped } from '../../report/numbers';
import type { ReplaySummary } from '../result';

export function dropsSection({ drops }: ReplaySummary): Markup {
  const counts = Object.entries(drops).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  return section(
    'drops',
    'Drops',
    counts.length === 0
      ? 'Nothing was dropped.'
      : 'Inputs, chunks and requests that were refused or limited, by error code. Pictures that only waited for a busy engine are not among them.',
    counts.length === 0
      ? null
      : table(
          ['', 'count', 'meaning'],
          counts.map(([code, n]) => [mono(code), grouped(n), meaning(code)]),
          'Drops by code',
        ),
  );
} // prettier-ignore

const meaning = (code: string): string =>
  Object.hasOwn(ERROR_CODES, code) ? ERROR_CODES[code as keyof typeof ERROR_CODES] : '';
