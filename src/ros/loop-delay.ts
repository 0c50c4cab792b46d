/** Watches the main thread: how late its event loop runs, and how regular the action ticks are. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { quantile, sum } from '../core/statistics';

const RESOLUTION_MS = 5;

/** Milliseconds. */
export interface LoopReport {
  /** By how much the event loop was late. */
  readonly delayP99: number;
  readonly delayMax: number;
  /** Time between two action ticks; 0 without ticks. */
  readonly tickMean: number;
  readonly tickStd: number;
  /** By how much an action tick missed its period. */
  readonly tickP99: number;
  readonly tickMax: number;
  /** Intervals between ticks. */
  readonly ticks: number;
}

export class LoopWatch {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #periodMs: number;
  #intervals: number[] = [];
  #lastMs: number | null = null;

  constructor(periodMs: number) {
    this.#periodMs = periodMs;
    this.#histogram.enable();
  }

  tick(nowMs: number): void {
    if (this.#lastMs !== null) this.#intervals.push(nowMs - this.#lastMs);
    this.#lastMs = nowMs;
  }

  /** The next tick begins anew: no interval reaches across a stop or another period. */
  restart(periodMs: number): void {
    this.#periodMs = periodMs;
    this.#lastMs = null;
    this.#intervals = [];
  }

  /** Figures since the last report. */
  report(): LoopReport {
    const late = (ns: number): number => Math.max(0, ns / 1e6 - RESOLUTION_MS);
    const intervals = this.#intervals;
    const count = Math.max(1, intervals.length);
    const mean = sum(intervals) / count;
    const errors = intervals.map(ms => Math.abs(ms - this.#periodMs));
    const report: LoopReport = {
      delayP99: late(this.#histogram.percentile(99)),
      delayMax: late(this.#histogram.max),
      tickMean: mean,
      tickStd: Math.sqrt(sum(intervals.map(ms => (ms - mean) ** 2)) / count),
      tickP99: errors.length === 0 ? 0 : quantile(errors, 0.99),
      tickMax: Math.max(0, ...errors),
      ticks: intervals.length,
    };
    this.#intervals = [];
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
