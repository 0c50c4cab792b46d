/** Watches the main thread: how late its event loop runs, and how regular the action ticks are. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 5;

export interface LoopReport {
  /** Milliseconds by which the event loop was late. */
  readonly delayP99: number;
  readonly delayMax: number;
  /** Milliseconds by which an action tick missed its period. */
  readonly tickP99: number;
  readonly tickMax: number;
  readonly ticks: number;
}

export class LoopWatch {
  readonly #periodMs: number;
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #errors: number[] = [];
  #lastMs: number | null = null;

  constructor(periodMs: number) {
    this.#periodMs = periodMs;
    this.#histogram.enable();
  }

  tick(nowMs: number): void {
    if (this.#lastMs !== null) this.#errors.push(Math.abs(nowMs - this.#lastMs - this.#periodMs));
    this.#lastMs = nowMs;
  }

  /** Figures since the last report. */
  report(): LoopReport {
    const late = (ns: number): number => Math.max(0, ns / 1e6 - RESOLUTION_MS);
    const errors = this.#errors.sort((a, b) => a - b);
    const report: LoopReport = {
      delayP99: late(this.#histogram.percentile(99)),
      delayMax: late(this.#histogram.max),
      tickP99: errors[Math.floor(errors.length * 0.99)] ?? 0,
      tickMax: errors.at(-1) ?? 0,
      ticks: errors.length,
    };
    this.#errors = [];
    this.#histogram.reset();
    return report;
  }

  stop(): void {
    this.#histogram.disable();
  }
}

/** One line for the log; tests read it. */
export const loopLine = (r: LoopReport): string =>
  `main thread: event loop late p99 ${r.delayP99.toFixed(1)} ms, max ${r.delayMax.toFixed(1)} ms; ` +
  `action ticks off p99 ${r.tickP99.toFixed(1)} ms, max ${r.tickMax.toFixed(1)} ms (${r.ticks} ticks)`;
