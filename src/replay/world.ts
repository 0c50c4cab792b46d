/** Time of a replay. What happens is an event at a time; time goes on when somebody lets it. */

export interface World {
  /** Nanoseconds since the beginning of what is played. */
  readonly nowNs: number;
  /** Calls at that time, of whole nanoseconds; now, if it is past. Returns what takes it back. */
  at(ns: number, call: () => void): () => void;
  /** Calls when what is being done now is done. */
  soon(call: () => void): void;
  /** Lets time go on. All that was to happen until then has happened, with all that came of it. Rejects with what an event threw. */
  advance(ns: number): Promise<void>;
  /** Waits for work to end; virtual time goes on as far as that needs it. For loading and closing. */
  wait<T>(work: Promise<T>): Promise<T>;
}

/** Who does what happens: the engine, or the node and all that is around it. */
export type Owner = 'engine' | 'node';

interface Event {
  readonly ns: number;
  readonly owner: Owner;
  readonly call: () => void;
}

/**
 * Virtual time: no clock is read, and events of the same time happen in the order in which they were asked for, so a
 * replay is the same every time. Whatever really takes time (a model run, decoding a picture) is held: time stands
 * still until it is done.
 */
export class VirtualWorld implements World {
  #nowNs = 0;
  /** Ascending. */
  readonly #events: Event[] = [];
  readonly #turnOf: (owner: Owner) => void;
  #held = 0;
  #released: () => void = () => undefined;
  /** There is an event, or what was waited for is done. */
  #woken: () => void = () => undefined;
  /** Somebody who awaited has been called, and may not have gone on yet. */
  #stirred = false;

  /** `turnOf` is told whose work begins, for those who measure. */
  constructor(turnOf: (owner: Owner) => void = () => undefined) {
    this.#turnOf = turnOf;
  }

  get nowNs(): number {
    return this.#nowNs;
  }

  at(ns: number, call: () => void, owner: Owner = 'node'): () => void {
    const event: Event = { ns: Math.max(Math.round(ns), this.#nowNs), owner, call };
    let i = this.#events.length;
    while (i > 0 && this.#events[i - 1]!.ns > event.ns) i--;
    this.#events.splice(i, 0, event);
    this.#woken();
    return () => {
      const at = this.#events.indexOf(event);
      if (at >= 0) this.#events.splice(at, 1);
    };
  }

  soon(call: () => void): void {
    this.at(this.#nowNs, call);
  }

  /** Resolves when a run of the engine has taken so much time. */
  pass(ms: number): Promise<void> {
    return new Promise(resolve => {
      const end = (): void => {
        this.#stirred = true;
        resolve();
      };
      this.at(this.#nowNs + ms * 1e6, end, 'engine');
    });
  }

  /** Time stands still until `work` is done. */
  async hold<T>(work: Promise<T>): Promise<T> {
    this.#held += 1;
    try {
      return await work;
    } finally {
      this.#held -= 1;
      this.#stirred = true;
      this.#released();
    }
  }

  async advance(ns: number): Promise<void> {
    await this.#settle();
    while (this.#events.length > 0 && this.#events[0]!.ns <= ns) await this.#next();
    this.#nowNs = Math.max(ns, this.#nowNs);
  }

  async wait<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const end = (): void => {
      done = true;
      this.#woken();
    };
    work.then(end, end);
    await turn();
    while (!done) await this.#next();
    return work;
  }

  async #next(): Promise<void> {
    const event = this.#events.shift();
    if (event === undefined) {
      await new Promise<void>(resolve => (this.#woken = resolve));
      return turn();
    }
    this.#nowNs = event.ns;
    this.#turnOf(event.owner);
    event.call();
    await this.#settle();
    this.#turnOf('node');
  }

  /** All that was called has gone on as far as it can at this time. */
  async #settle(): Promise<void> {
    while (this.#held > 0 || this.#stirred) {
      if (this.#held > 0) await new Promise<void>(resolve => (this.#released = resolve));
      this.#stirred = false;
      await turn();
    }
  }
}

/** Resolves when all promises that can go on have gone on. */
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

/** The time of this machine; it begins with `begin`. */
export class RealWorld implements World {
  #startMs = performance.now();
  #failure: { readonly error: unknown } | null = null;
  /** Ends the waiting of `advance`. */
  #wake: () => void = () => undefined;

  get nowNs(): number {
    return Math.round((performance.now() - this.#startMs) * 1e6);
  }

  begin(): void {
    this.#startMs = performance.now();
  }

  at(ns: number, call: () => void): () => void {
    const timer = setTimeout(() => this.#call(call), Math.max(0, (ns - this.nowNs) / 1e6));
    return () => clearTimeout(timer);
  }

  soon(call: () => void): void {
    setImmediate(() => this.#call(call));
  }

  async advance(ns: number): Promise<void> {
    const ms = (ns - this.nowNs) / 1e6;
    if (this.#failure === null && ms > 0) {
      const timer = await new Promise<NodeJS.Timeout>(resolve => {
        const waiting = setTimeout(() => resolve(waiting), ms);
        this.#wake = () => resolve(waiting);
      });
      clearTimeout(timer);
    }
    if (this.#failure !== null) throw this.#failure.error;
  }

  wait<T>(work: Promise<T>): Promise<T> {
    return work;
  }

  /** What an event throws, `advance` throws, as in virtual time. */
  #call(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#failure ??= { error };
      this.#wake();
    }
  }
}
