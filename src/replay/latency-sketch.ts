/**
 * Quantiles and a histogram of any number of durations, in constant memory: a counter for each 0.2 % of duration.
 * Values come back within ACCURACY of the true ones (below 1 µs within that).
 */
import type { Histogram, Quantiles } from './result';

export const ACCURACY = 0.001;

const GROWTH = Math.log((1 + ACCURACY) / (1 - ACCURACY));
const LEAST_MS = 1e-3;
const MOST_MS = 1e8;
const COUNTERS = Math.ceil(Math.log(MOST_MS / LEAST_MS) / GROWTH) + 1;

const MAX_BINS = 40;

export class LatencySketch {
  readonly #counts = new Uint32Array(COUNTERS);
  #count = 0;
  #mean = 0;
  #min = Infinity;
  #max = 0;

  /** A duration that is negative, because two clocks differ, is none. */
  add(ms: number): void {
    const value = Math.max(0, ms);
    const counter = Math.ceil(Math.log(value / LEAST_MS) / GROWTH);
    this.#counts[Math.min(Math.max(0, counter), COUNTERS - 1)]! += 1;
    this.#count += 1;
    this.#mean += (value - this.#mean) / this.#count;
    this.#min = Math.min(this.#min, value);
    this.#max = Math.max(this.#max, value);
  }

  /** Null: nothing was added. */
  quantiles(): Quantiles | null {
    if (this.#count === 0) return null;
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map(q => this.#quantile(q)) as [number, number, number];
    return { count: this.#count, mean: this.#mean, p50, p95, p99, max: this.#max };
  }

  /** About thirty bins from the smallest value to the 99th percentile. */
  histogram(): Histogram {
    if (this.#count === 0) return { from_ms: 0, bin_ms: 1, counts: [] };
    const most = this.#quantile(0.99);
    // Not so narrow that the counters, which are not exact, show as gaps.
    const bin = roundUp(Math.max((most - this.#min) / 30, most / 100, LEAST_MS));
    const from = Math.floor(this.#min / bin);
    const bins = Math.min(MAX_BINS, Math.floor(this.#max / bin) - from + 1);
    const counts = new Array<number>(bins).fill(0);
    this.#counts.forEach((count, counter) => {
      if (count === 0) return;
      const at = Math.floor(this.#value(counter) / bin) - from;
      counts[Math.min(Math.max(0, at), bins - 1)]! += count;
    });
    return { from_ms: exact(from * bin), bin_ms: bin, counts };
  }

  /** By nearest rank; the median of an even count lies between two. */
  #quantile(q: number): number {
    const rank = q * this.#count;
    if (q === 0.5 && Number.isInteger(rank)) return (this.#ranked(rank) + this.#ranked(rank + 1)) / 2;
    return this.#ranked(Math.ceil(rank));
  }

  /** The value of this rank, from 1. */
  #ranked(rank: number): number {
    let left = rank;
    return this.#value(this.#counts.findIndex(count => (left -= count) <= 0));
  }

  #value(counter: number): number {
    // In the middle of what the counter holds, as seen from both of its ends.
    const middle = LEAST_MS * Math.exp(counter * GROWTH) * (1 - ACCURACY);
    return Math.min(this.#max, Math.max(this.#min, middle));
  }
}

/** To 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return exact(power * ([1, 2, 5].find(step => step * power >= value) ?? 10));
}

/** Without the dust of binary fractions. */
const exact = (value: number): number => Number(value.toPrecision(12));
