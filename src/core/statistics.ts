/** The few statistics that measurements need. */

/** The value below which the share q of the values lies (nearest rank); between two for the median of an even count. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (i: number) => sorted[Math.min(sorted.length - 1, Math.max(0, i))] ?? NaN;
  const rank = q * sorted.length;
  return q === 0.5 && Number.isInteger(rank) ? (at(rank - 1) + at(rank)) / 2 : at(Math.ceil(rank) - 1);
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
