/** Pairs the messages of several inputs by their stamps. Pure: no clock, no ROS. */

export interface SyncInput {
  readonly name: string;
  /** Messages kept while they wait for the others; the oldest goes first. */
  readonly depth: number;
  /** A state may serve several observations; a picture serves one. */
  readonly reuse: boolean;
}

export type PushResult = 'accepted' | 'backwards' | 'restarted';

export interface MatchedSet<T> {
  /** Stamp of the newest part. */
  readonly stampNs: bigint;
  readonly values: ReadonlyMap<string, T>;
}

interface Entry<T> {
  readonly stampNs: bigint;
  readonly value: T;
}

interface Queue<T> {
  readonly input: SyncInput;
  /** Ascending stamps. */
  entries: Entry<T>[];
  /** Newest stamp ever seen: guards against messages out of order after their neighbours were used. */
  newestNs: bigint | null;
}

/** A stamp that is this much older than the newest means that its source began anew (a bag in a loop). */
const RESTART_NS = 1_000_000_000n;

export class InputSync<T> {
  readonly #queues: ReadonlyMap<string, Queue<T>>;
  readonly #toleranceNs: bigint;

  constructor(inputs: readonly SyncInput[], toleranceNs: bigint) {
    this.#queues = new Map(inputs.map(input => [input.name, { input, entries: [], newestNs: null }]));
    this.#toleranceNs = toleranceNs;
  }

  /** `backwards`: refused, not newer than the last one. `restarted`: accepted, and the queue began anew. */
  push(name: string, stampNs: bigint, value: T): PushResult {
    const queue = this.#queue(name);
    const restarted = queue.newestNs !== null && stampNs < queue.newestNs - RESTART_NS;
    if (restarted) queue.entries = [];
    else if (queue.newestNs !== null && stampNs <= queue.newestNs) return 'backwards';
    queue.newestNs = stampNs;
    queue.entries.push({ stampNs, value });
    if (queue.entries.length > queue.input.depth) queue.entries.shift();
    return restarted ? 'restarted' : 'accepted';
  }

  /** The newest complete set whose stamps lie within the tolerance; its parts and all older ones are gone after. */
  take(): MatchedSet<T> | null {
    const set = this.#newestSet();
    if (set === null) return null;
    for (const [name, used] of set) {
      const queue = this.#queue(name);
      queue.entries = queue.entries.filter(
        entry => entry.stampNs > used.stampNs || (queue.input.reuse && entry === used),
      );
    }
    const stamps = [...set.values()].map(entry => entry.stampNs);
    return {
      stampNs: stamps.reduce((a, b) => (a > b ? a : b)),
      values: new Map([...set].map(([name, entry]) => [name, entry.value])),
    };
  }

  /** Whether `take` would give a set. */
  complete(): boolean {
    return this.#newestSet() !== null;
  }

  /** Newest stamp of an input since the start or the last clear. */
  newestStampNs(name: string): bigint | null {
    return this.#queue(name).newestNs;
  }

  clear(): void {
    for (const queue of this.#queues.values()) {
      queue.entries = [];
      queue.newestNs = null;
    }
  }

  /**
   * The set with the latest beginning; for that beginning each input gives its earliest message, so that the set
   * is as narrow as it can be.
   */
  #newestSet(): Map<string, Entry<T>> | null {
    const queues = [...this.#queues.values()];
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

/** Scans from the newest end: that is where the answer is. */
function earliestFrom<T>(entries: readonly Entry<T>[], fromNs: bigint): Entry<T> | null {
  let found: Entry<T> | null = null;
  for (let i = entries.length - 1; i >= 0 && entries[i]!.stampNs >= fromNs; i--) found = entries[i]!;
  return found;
}
