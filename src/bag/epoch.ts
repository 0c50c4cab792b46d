/**
 * Stamps far apart: a message with the stamp 0, or a clock that was set in the middle of a recording, would make a
 * replay idle for years. The rule: where no message at all falls on a whole day (UTC), the bag is cut in parts; the part
 * with most messages is read, the others are left out and counted.
 */
import type { StorageFile } from './storage';
import type { BagTopic } from './types';

const DAY_NS = 86_400_000_000_000n;
/** Stamps that are garbage lie on a day of their own each. */
const MAX_DAYS = 10_000;

/** Inclusive on both sides. */
export interface Epoch {
  readonly fromNs: bigint;
  readonly toNs: bigint;
  /** There are messages outside. */
  readonly cut: boolean;
}

/** Null: the bag has no message that is known of. Only a bag with a gap is read for this. */
export async function epochOf(
  files: readonly StorageFile[],
  topics: ReadonlyMap<string, BagTopic>,
): Promise<Epoch | null> {
  const spans = files.flatMap(({ spans }) => spans);
  const days = new Days();
  for (const { fromNs, toNs } of spans) {
    days.add(fromNs);
    days.add(toNs);
  }
  const parts = days.parts();
  const [only] = parts;
  if (only === undefined) return null;
  if (parts.length === 1) return { fromNs: only.fromNs, toNs: only.toNs, cut: false };

  const all = new Days();
  const everything = {
    topics: new Map([...topics].map(([name, { type }]) => [name, type])),
    fromNs: null,
    toNs: null,
  };
  for (const file of files)
    for await (const batch of file.batches(everything)) for (const { logNs } of batch) all.add(logNs);
  const [first, ...others] = all.parts();
  if (first === undefined) return null;
  const largest = others.reduce((most, part) => (part.messages > most.messages ? part : most), first);
  return { fromNs: largest.fromNs, toNs: largest.toNs, cut: others.length > 0 };
}

interface Part {
  readonly fromNs: bigint;
  readonly toNs: bigint;
  readonly messages: number;
}

/** Messages counted by day. */
class Days {
  readonly #days = new Map<bigint, { from: bigint; to: bigint; messages: number }>();

  add(ns: bigint): void {
    const day = this.#days.get(ns / DAY_NS);
    if (!day) {
      if (this.#days.size < MAX_DAYS) this.#days.set(ns / DAY_NS, { from: ns, to: ns, messages: 1 });
    } else {
      if (ns < day.from) day.from = ns;
      if (ns > day.to) day.to = ns;
      day.messages++;
    }
  }

  parts(): readonly Part[] {
    const parts: Part[] = [];
    let before: bigint | null = null;
    for (const [day, { from, to, messages }] of [...this.#days].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const last = parts.at(-1);
      if (last && before !== null && day - before <= 1n)
        parts[parts.length - 1] = { fromNs: last.fromNs, toNs: to, messages: last.messages + messages };
      else parts.push({ fromNs: from, toNs: to, messages });
      before = day;
    }
    return parts;
  }
}
