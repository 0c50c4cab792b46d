// The arithmetic of the measurements: statistics, verdicts and the table. Pure.
import { quantile } from '../../dist/core/statistics.js';

/** Least squares slope of `ys` over `xs`; 0 of less than two different places. */
export const slope = (xs, ys) => {
  const mean = values => values.reduce((a, b) => a + b, 0) / values.length;
  const [x, y] = [mean(xs), mean(ys)];
  const square = xs.reduce((all, each) => all + (each - x) ** 2, 0);
  return square > 0 ? xs.reduce((all, each, i) => all + (each - x) * (ys[i] - y), 0) / square : 0;
};

/**
 * Of times (ms) at which something periodic happened: its rate, p99 of how much an interval missed the period, and how
 * many of the periods in between are without their event.
 */
export const regularity = (timesMs, hz) => {
  const period = 1000 / hz;
  const span = timesMs.at(-1) - timesMs[0];
  const errors = timesMs.slice(1).map((t, i) => Math.abs(t - timesMs[i] - period));
  return {
    hz: ((timesMs.length - 1) * 1000) / span,
    p99Ms: quantile(errors, 0.99),
    maxMs: Math.max(...errors),
    missed: Math.max(0, Math.round(span / period) - (timesMs.length - 1)),
  };
};

const same = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);

/**
 * Time (ms) from an event to the first command from which on all commands are the same until `windowMs` after the
 * event; Infinity if none comes or they still change at the end. `commands`: [{at, values}], in order.
 */
export const timeToHold = (commands, eventMs, windowMs) => {
  const after = commands.filter(({ at }) => at >= eventMs && at <= eventMs + windowMs);
  const held = after.at(-1)?.values;
  if (held === undefined || held.some(value => value === null)) return Infinity;
  let first = after.length - 1;
  while (first > 0 && same(after[first - 1].values, held)) first -= 1;
  return after.length - first >= LEAST_HELD ? after[first].at - eventMs : Infinity;
};
const LEAST_HELD = 3;

/**
 * Growth in percent from the tenth of the readings that follows the first tenth to the last tenth, medians of both:
 * single readings jump with the garbage collector.
 */
export const growthPercent = readings => {
  const tenth = Math.max(1, Math.round(readings.length / 10));
  const before = quantile(readings.slice(tenth, 2 * tenth), 0.5);
  const after = quantile(readings.slice(-tenth), 0.5);
  return (100 * (after - before)) / before;
};

/** Limits as data: [kind, bound(s), decimals]. `info` has none. */
const KINDS = {
  near: ([middle, off], value) => Math.abs(value - middle) <= off,
  most: (bound, value) => value <= bound,
  least: (bound, value) => value >= bound,
  info: () => true,
};
const LIMIT_TEXT = {
  near: ([middle, off]) => `${middle} ± ${off}`,
  most: bound => `≤ ${bound}`,
  least: bound => `${bound}`,
  info: () => '',
};

/** What could not be had is never within a limit. */
const isMet = (kind, bound, value) =>
  kind === 'info' || (Number.isFinite(value) && KINDS[kind](bound, value));

/** A figure with its verdict. `limit`: {near: [middle, off]} | {most} | {least} | {info: true}. */
export const judged = ({ name, value, limit, note = '' }) => {
  const [[kind, bound]] = Object.entries(limit);
  return { name, value, limit: LIMIT_TEXT[kind](bound), bound, kind, note, ok: isMet(kind, bound, value) };
};

const DECIMALS = 3;
/** A value that could not be had is null: JSON has no infinity. */
const rounded = value => (Number.isFinite(value) ? Number(value.toFixed(DECIMALS)) : null);

/** {name: {value, limit, ok}}; limit: the number, `70 ± 0.2`, or null where there is none. */
export const asJson = figures =>
  Object.fromEntries(
    figures.map(({ name, value, limit, bound, kind, ok }) => [
      name,
      {
        value: rounded(value),
        limit: { near: limit, info: null }[kind] ?? (kind === 'info' ? null : bound),
        ok,
      },
    ]),
  );

/** Markdown rows. */
export const table = figures => [
  '| name | value | limit | ok | what |',
  '|---|---|---|---|---|',
  ...figures.map(({ name, value, limit, kind, ok, note }) => {
    const verdict = kind === 'info' ? '' : ok ? 'yes' : '**no**';
    return `| \`${name}\` | ${rounded(value) ?? 'none'} | ${limit} | ${verdict} | ${note} |`;
  }),
];
