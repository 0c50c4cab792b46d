/** Pairs the messages of several inputs by their stamps. Pure: no clock, no ROS. */
import { RESTART_NS } from './stamps';

export interface SyncInput {
  readonly name: string;
  /** Messages kept while they wait for the others; the oldest goes first. */
  readonly depth: number;
  /** A state may serve several observations; a picture serves one. */
  readonly reuse: boolean;
}

/**
 * `repeated` and `backwards`: refused, the stamp is the last one again, or older. `restarted`: accepted, and the queue
 * began anew.
 */
export type PushResult = 'accepted' | 'repeated' | 'backwards' | 'restarted';

export interface MatchedSet<T> {
  /** Stamp of the newest part. */
  readonly stampNs: bigint;
  readonly values: ReadonlyMap<string, T>;
}

interface Entry<T> {
  readonly stampNs: bigint;
  readonly value: T;
  used: boolean;
}

interface Queue<T> {
  readonly input: SyncInput;
  /** Ascending stamps. */
  entries: Entry<T>[];
  /** Newest stamp ever seen: guards against messages out of order after their neighbours were used. */
  newestNs: bigint | null;
  /** Messages that went unused. */
  replaced: number;
}

export class InputSync<T> {
  readonly #queues: ReadonlyMap<string, Queue<T>>;
  readonly #toleranceNs: bigint;

  constructor(inputs: readonly SyncInput[], toleranceNs: bigint) {
    this.#queues = new Map(
      inputs.map(input => [input.name, { input, entries: [], newestNs: null, replaced: 0 }]),
    );
    this.#toleranceNs = toleranceNs;
  }

  push(name: string, stampNs: bigint, value: T): PushResult {
    const queue = this.#queue(name);
    const before = queue.newestNs;
    const restarted = before !== null && stampNs < before - RESTART_NS;
    if (restarted) keep(queue, () => false);
    else if (before !== null && stampNs <= before) return stampNs === before ? 'repeated' : 'backwards';
    queue.newestNs = stampNs;
    queue.entries.push({ stampNs, value, used: false });
    if (queue.entries.length > queue.input.depth) keep(queue, entry => entry !== queue.entries[0]);
    return restarted ? 'restarted' : 'accepted';
  }

  /**
   * The newest set of `names` whose stamps lie within the tolerance; its parts and all that are older are gone after.
   */
  take(names: readonly string[]): MatchedSet<T> | null {
    const set = this.#newestSet(names);
    if (set === null) return null;
    for (const [name, taken] of set) {
      const queue = this.#queue(name);
      taken.used = true;
      keep(queue, entry => entry.stampNs > taken.stampNs || (queue.input.reuse && entry === taken));
    }
    const stamps = [...set.values()].map(entry => entry.stampNs);
    return {
      stampNs: stamps.reduce((a, b) => (a > b ? a : b)),
      values: new Map([...set].map(([name, entry]) => [name, entry.value])),
    };
  }

  /** Whether `take` would give a set. */
  complete(names: readonly string[]): boolean {
    return this.#newestSet(names) !== null;
  }

  /** Newest stamp of an input since the start or the last clear. */
  newestStampNs(name: string): bigint | null {
    return this.#queue(name).newestNs;
  }

  /** Messages of an input that no set was made of, because newer ones came or everything began anew. */
  replaced(name: string): number {
    return this.#queue(name).replaced;
  }

  clear(): void {
    for (const queue of this.#queues.values()) {
      keep(queue, () => false);
      queue.newestNs = null;
    }
  }

  /**
   * The set with the latest beginning; for that beginning each input gives its earliest message, so that the set
   * is as narrow as it can be.
   */
  #newestSet(names: readonly string[]): Map<string, Entry<T>> | null {
    const queues = names.map(name => this.#queue(name));
    if (queues.some(queue => queue.entries.length === 0)) return null;
    const begins = queues.flatMap(queue => queue.entries.map(entry => entry.stampNs));
    begins.sort((a, b) => (a < b ? 1 : a > b ? -1 : 0));
    for (const beginNs of begins) {
      const set = new Map<string, Entry<T>>();
      for (const { input, entries } of queues) {
        const entry = earliestFrom(entries, beginNs);
        if (entry === null || entry.stampNs > beginNs + this.#toleranceNs) break;
        set.set(input.name, entry);
      }
      if (set.size === queues.length) return set;
    }
    return null;
  }

  #queue(name: string): Queue<T> {
    const queue = this.#queues.get(name);
    if (!queue) throw new RangeError(`no input named ${name}`);
    return queue;
  }
}

/** Lets go of the other entries, and counts those that served nothing. */
function keep<T>(queue: Queue<T>, wanted: (entry: Entry<T>) => boolean): void {
  const kept = queue.entries.filter(wanted);
  queue.replaced += queue.entries.filter(entry => !entry.used && !wanted(entry)).length;
  queue.entries = kept;
}

/** Scans from the newest end: that is where the answer is. */
function earliestFrom<T>(entries: readonly Entry<T>[], fromNs: bigint): Entry<T> | null {
  let found: Entry<T> | null = null;
  for (let i = entries.length - 1; i >= 0 && entries[i]!.stampNs >= fromNs; i--) found = entries[i]!;
  return found;
}
