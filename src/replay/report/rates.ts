/** Whether the rates held, from the first second to the last. */
import { figure, grid, section } from '../../report/blocks';
import type { Markup } from '../../report/markup';
import { digits, unit } from '../../report/numbers';
import { fromZero } from '../../report/scale';
import type { ReplayResult } from '../result';
import type { Dot } from './thin';
import { timeChart } from './time-chart';

export function ratesSection(r: ReplayResult): Markup | null {
  const { rates } = r.series;
  if (rates.t.length === 0) return null;
  const chart = (title: string, yTitle: string, values: readonly number[]) =>
    figure(title, rateChart(r, title, yTitle, values));
  return section(
    'rates',
    'Rates over time',
    `Per ${rates.every_s === 1 ? 'second' : unit(rates.every_s, 's')} of the bag.`,
    grid(
      chart('New chunks', 'chunks per second', rates.replan_hz),
      chart('Language', 'tokens per second', rates.tokens_per_s),
      chart('Texts at once', 'mean batch of a decode step', rates.batch),
      chart('Drops', 'dropped', rates.drops),
    ),
  );
}

function rateChart(r: ReplayResult, title: string, yTitle: string, values: readonly number[]): Markup {
  const { t, every_s } = r.series.rates;
  const { from_s, to_s } = r.summary.bag;
  const high = values.reduce((a, b) => Math.max(a, b), 0);
  const low = values.reduce((a, b) => Math.min(a, b), high);
  const within = (time: number) => Math.min(to_s, Math.max(from_s, time));
  const steps = values.flatMap((value, i): Dot[] => {
    const start = t[i] ?? 0;
    return [[within(start), value], [within(start + every_s), value]];
  });
  return timeChart({
    about: `${title}, ${yTitle}: from ${digits(low)} to ${digits(high)}`,
    yTitle,
    from_s,
    to_s,
    y: (bottom, top) => fromZero(high, bottom, top, 3),
    curves: [{ name: 'c-rate', runs: [steps] }],
    lines: [],
    below: null,
  });
} // prettier-ignore
