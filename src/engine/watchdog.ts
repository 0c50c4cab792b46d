/** Decides whether the engine process hangs: past a run's begin by five times its expected time, or silent while idle. */
import type { FromEngine, RunKind } from './protocol';

const CHECK_EVERY_MS = 100;
const LEAST_RUN_MS = 2_000;
const RUN_FACTOR = 5;
const SILENCE_MS = 1_000;

export class Watchdog {
  readonly #now: () => number;
  readonly #onHang: (reason: string) => void;
  #timer: NodeJS.Timeout | null = null;
  #run: { kind: RunKind; deadlineMs: number } | null = null;
  #heardMs = 0;
  #checkedMs = 0;

  constructor(now: () => number, onHang: (reason: string) => void) {
    this.#now = now;
    this.#onHang = onHang;
  }

  start(): void {
    this.stop();
    this.#heardMs = this.#checkedMs = this.#now();
    // Until the first message the process is being created: a load like any other.
    this.#run = { kind: 'load', deadlineMs: this.#heardMs + 30_000 };
    this.#timer = setInterval(() => this.check(), CHECK_EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.#run = null;
  }

  heard(message: FromEngine): void {
    this.#heardMs = this.#now();
    if (message.type === 'begin') {
      const allowed = Math.max(RUN_FACTOR * message.expectedMs, LEAST_RUN_MS);
      this.#run = { kind: message.run, deadlineMs: this.#heardMs + allowed };
    }
    if (message.type === 'end' && this.#run?.kind === message.run) this.#run = null;
  }

  /** Exposed for tests; runs by itself after `start`. */
  check(): void {
    const now = this.#now();
    // When this process itself stood still, messages may wait unread: give them one period.
    const stalled = now - this.#checkedMs > 5 * CHECK_EVERY_MS;
    this.#checkedMs = now;
    if (stalled) return;
    if (this.#run && now > this.#run.deadlineMs) {
      return this.#hang(`the engine hangs in ${this.#run.kind}`);
    }
    if (!this.#run && now - this.#heardMs > SILENCE_MS)
      this.#hang(`the engine was silent for ${SILENCE_MS} ms`);
  }

  #hang(reason: string): void {
    this.stop();
    this.#onHang(reason);
  }
}
