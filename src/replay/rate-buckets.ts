/** What happened how often, over time: at most MAX_BUCKETS buckets that get twice as long when they run out. */
import type { ReplaySeries } from './result';

export const MAX_BUCKETS = 512;

const FIRST_BUCKET_NS = 1_000_000_000;

interface Bucket {
  readonly chunks: number;
  readonly tokens: number;
  readonly drops: number;
  /** Decode steps, and the rows of them together. */
  readonly steps: number;
  readonly rows: number;
}

const EMPTY: Bucket = { chunks: 0, tokens: 0, drops: 0, steps: 0, rows: 0 };

export class RateBuckets {
  readonly #fromNs: number;
  #buckets: Bucket[] = [];
  #lengthNs = FIRST_BUCKET_NS;

  /** Of what is played; ns since the start, as all times here. */
  constructor(fromNs: number) {
    this.#fromNs = fromNs;
  }

  add(atNs: number, what: Partial<Bucket>): void {
    const sinceNs = Math.max(0, atNs - this.#fromNs);
    this.#makeRoom(sinceNs);
    const at = Math.floor(sinceNs / this.#lengthNs);
    this.#buckets[at] = sum(this.#buckets[at], { ...EMPTY, ...what });
  }

  /** `toNs`: end of what was played. A rest of less than half a bucket belongs to the one before. */
  series(toNs: number): ReplaySeries['rates'] {
    const playedNs = toNs - this.#fromNs;
    this.#makeRoom(playedNs);
    const last = Math.max(1, Math.round(playedNs / this.#lengthNs)) - 1;
    const rest = this.#buckets.slice(last).reduce(sum, EMPTY);
    const buckets = Array.from({ length: last + 1 }, (_, i) =>
      i < last ? (this.#buckets[i] ?? EMPTY) : rest,
    );
    const seconds = (i: number) => (i < last ? this.#lengthNs : playedNs - last * this.#lengthNs) / 1e9;
    const rates = (count: (bucket: Bucket) => number) =>
      buckets.map((bucket, i) => ratio(count(bucket), seconds(i)));
    return {
      every_s: this.#lengthNs / 1e9,
      t: buckets.map((_, i) => (this.#fromNs + i * this.#lengthNs) / 1e9),
      replan_hz: rates(bucket => bucket.chunks),
      tokens_per_s: rates(bucket => bucket.tokens),
      batch: buckets.map(bucket => ratio(bucket.rows, bucket.steps)),
      drops: buckets.map(bucket => bucket.drops),
    };
  }

  #makeRoom(sinceNs: number): void {
    while (sinceNs >= MAX_BUCKETS * this.#lengthNs) {
      const before = this.#buckets;
      this.#buckets = Array.from({ length: Math.ceil(before.length / 2) }, (_, i) =>
        sum(before[2 * i], before[2 * i + 1]),
      );
      this.#lengthNs *= 2;
    }
  }
}

const sum = (a: Bucket = EMPTY, b: Bucket = EMPTY): Bucket => ({
  chunks: a.chunks + b.chunks,
  tokens: a.tokens + b.tokens,
  drops: a.drops + b.drops,
  steps: a.steps + b.steps,
  rows: a.rows + b.rows,
});

/** 0 of 0 is 0. */
export const ratio = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);
