/** Do all modes say and do the same? */
import { section, table } from '../../report/blocks';
import type { Markup } from '../../report/markup';
import { digits, grouped } from '../../report/numbers';
import { measuredModes, type BenchResult } from '../result';

/** Nothing with fewer than two modes. */
export function equalitySection(r: BenchResult): Markup | null {
  const modes = measuredModes(r);
  if (modes.length < 2) return null;
  const differing = modes.reduce((sum, m) => sum + m.figures.differing, 0);
  const ties = modes.reduce((sum, m) => sum + m.figures.near_ties, 0);
  const chunks = new Set(modes.map(m => m.figures.chunk_hash)).size === 1;
  return section(
    'equality',
    'Same answers',
    [
      differing > 0
        ? `${grouped(differing)} texts differ between modes.`
        : ties > 0
          ? `All texts are equal but for ${grouped(ties)} that part where two tokens were as good as equally likely.`
          : 'All modes gave the same texts.',
      chunks
        ? ' All chunks are equal, bit by bit.'
        : ' Chunks are not equal bit by bit; the table gives the largest distance of an action.',
    ],
    table(
      ['', 'requests', 'texts that differ', 'near ties', 'texts', 'chunks', 'action distance'],
      modes.map(({ mode, figures: f }) => [
        mode,
        grouped(f.requests),
        grouped(f.differing),
        grouped(f.near_ties),
        f.text_hash.slice(0, 10),
        f.chunk_hash.slice(0, 10),
        digits(f.chunk_max_difference),
      ]),
      'Equality of the modes',
    ),
  );
}
