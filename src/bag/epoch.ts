/**
 * Stamps far apart: a message with the stamp 0, or a clock that was set in the middle of a recording, would make a
 * replay idle for years. The rule: where no message at all falls on a whole day (UTC), the bag is cut in parts; the part
 * with most messages is read, the others are left out and counted.
 */
import { counted } from '../core/words';
import type { Faults } from './faults';
import type { StorageFile } from './storage';
import type { BagTopic } from './types';

const DAY_NS = 86_400_000_000_000n;
/** Stamps that are garbage lie on a day of their own each. */
const MAX_DAYS = 10_000;

/** Inclusive on both sides. */
export interface Epoch {
  readonly fromNs: bigint;
  readonly toNs: bigint;
  /** Messages outside. */
  readonly far: number;
  /** Messages inside by topic; null: they were not looked at one by one. */
  readonly counts: ReadonlyMap<string, number> | null;
}

/**
 * Null: the bag has no message that can be read. Only a bag with a gap is read for this, or one that does not know its
 * times; what is left out is told.
 */
export async function epochOf(
  files: readonly StorageFile[],
  topics: ReadonlyMap<string, BagTopic>,
  faults: Faults,
): Promise<Epoch | null> {
  const spans = files.map(({ spans }) => spans);
  if (spans.every(each => each !== null)) {
    const days = new Days();
    for (const { fromNs, toNs } of spans.flat()) {
      days.add(fromNs, null);
      days.add(toNs, null);
    }
    const [only, ...others] = days.parts();
    if (only === undefined) return null;
    if (others.length === 0) return { fromNs: only.fromNs, toNs: only.toNs, far: 0, counts: null };
  }

  const all = new Days();
  const everything = {
    topics: new Map([...topics].map(([name, { type }]) => [name, type])),
    fromNs: null,
    toNs: null,
  };
  for (const file of files)
    for await (const batch of file.batches(everything))
      for (const { logNs, topic } of batch) all.add(logNs, topic);
  const parts = all.parts();
  const [first] = parts;
  if (first === undefined) return null;
  const largest = parts.reduce((most, part) => (part.messages > most.messages ? part : most), first);
  if (all.messages > largest.messages)
    tellFar(
      largest,
      parts.filter(part => part !== largest),
      all.messages,
      faults,
    );
  const { fromNs, toNs, counts } = largest;
  return { fromNs, toNs, counts, far: all.messages - largest.messages };
}

/** Parts that are named. */
const MOST_PARTS = 3;

function tellFar(given: Part, others: readonly Part[], all: number, faults: Faults): void {
  const left = all - given.messages;
  const named = others.slice(0, MOST_PARTS).map(part => `${part.messages} ${between(part)}`);
  const more = others.length > MOST_PARTS ? [`${others.length - MOST_PARTS} more parts`] : [];
  faults.put(
    'far',
    'BAG_DISORDER',
    `${counted(left, 'message')} left out: their stamps are days apart from the others, which lie ${between(given)} ` +
      `(${given.messages} of ${all}); left out are ${[...named, ...more].join(', ')}: a clock was set while recording, ` +
      'or stamps are wrong',
    { messages: left },
  );
}

const between = ({ fromNs, toNs }: Part): string =>
  fromNs === toNs ? `at ${dateOf(fromNs)}` : `between ${dateOf(fromNs)} and ${dateOf(toNs)}`;

const dateOf = (ns: bigint): string => {
  const date = new Date(Number(ns / 1_000_000n));
  return Number.isNaN(date.getTime()) ? `${ns} ns` : date.toISOString();
};

interface Part {
  readonly fromNs: bigint;
  readonly toNs: bigint;
  readonly messages: number;
  /** By topic. */
  readonly counts: ReadonlyMap<string, number>;
}

interface Day {
  from: bigint;
  to: bigint;
  readonly counts: Map<string, number>;
}

/** Messages counted by day. */
class Days {
  readonly #days = new Map<bigint, Day>();
  #messages = 0;

  /** Those of days that are too many, too. */
  get messages(): number {
    return this.#messages;
  }

  /** `topic`: null is none. */
  add(ns: bigint, topic: string | null): void {
    this.#messages++;
    let day = this.#days.get(ns / DAY_NS);
    if (!day) {
      if (this.#days.size >= MAX_DAYS) return;
      this.#days.set(ns / DAY_NS, (day = { from: ns, to: ns, counts: new Map() }));
    }
    if (ns < day.from) day.from = ns;
    if (ns > day.to) day.to = ns;
    if (topic !== null) day.counts.set(topic, (day.counts.get(topic) ?? 0) + 1);
  }

  parts(): readonly Part[] {
    const parts: Day[] = [];
    let before: bigint | null = null;
    for (const [number, { from, to, counts }] of [...this.#days].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const last = parts.at(-1);
      if (last && before !== null && number - before <= 1n) {
        last.to = to;
        for (const [topic, count] of counts) last.counts.set(topic, (last.counts.get(topic) ?? 0) + count);
      } else parts.push({ from, to, counts: new Map(counts) });
      before = number;
    }
    return parts.map(({ from, to, counts }) => ({
      fromNs: from,
      toNs: to,
      counts,
      messages: [...counts.values()].reduce((sum, count) => sum + count, 0),
    }));
  }
}
