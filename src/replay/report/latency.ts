/** How long the robot waits for its actions, and the listener for the text. */
import { figure, grid, section, table } from '../../report/blocks';
import type { Markup } from '../../report/markup';
import { grouped, NONE } from '../../report/numbers';
import type { Quantiles, ReplayResult } from '../result';
import { histogram } from './histogram';
import { ms } from './words';

const KINDS = [
  { key: 'chunk_ms', title: 'From observation to chunk', none: 'no chunk came' },
  { key: 'first_token_ms', title: 'From request to first token', none: 'no text began' },
  { key: 'request_ms', title: 'From request to its end', none: 'no text ended' },
] as const;

const COLUMNS = ['mean', 'p50', 'p95', 'p99', 'max'] as const;

export function latencySection({ summary, series }: ReplayResult): Markup {
  const measured = KINDS.flatMap(kind => {
    const quantiles = summary.latency[kind.key];
    return quantiles === null ? [] : [{ ...kind, quantiles, bins: series.latency[kind.key] }];
  });
  const missing = KINDS.filter(({ key }) => summary.latency[key] === null).map(k => k.none);
  return section(
    'latency',
    'Latency',
    measured.length === 0
      ? `Nothing to measure: ${missing.join(', ')}.`
      : 'Half is at or below p50, 95 % at or below p95. The last bar holds all that took longer.' +
          (missing.length === 0 ? '' : ` Not measured: ${missing.join(', ')}.`),
    grid(measured.map(m => figure(m.title, histogram(m.title, m.bins, m.quantiles)))),
    measured.length === 0
      ? null
      : table(
          ['', ...COLUMNS.map(c => (c === 'max' ? 'longest' : c)), 'measured'],
          measured.map(m => [m.title, ...COLUMNS.map(c => shown(m.quantiles, c)), grouped(m.quantiles.count)]),
          'Latency',
        ),
  );
} // prettier-ignore

const shown = (q: Quantiles, column: (typeof COLUMNS)[number]): string =>
  q.count === 0 ? NONE : ms(q[column]);
