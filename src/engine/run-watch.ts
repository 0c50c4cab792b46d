/** Every run of the model: told before and after, timed, and its time made part of what the next one is expected to take. */
import { defer, from, type Observable } from 'rxjs';
import type { ModelRun, RunCosts, RunSize } from '../core/run-costs';
import { REAL_TIME, type EngineTime } from './time';

/** Told of every run before and after; the engine process reports it to the node's watchdog. */
export interface RunMonitor {
  begin(run: ModelRun, expectedMs: number): void;
  end(run: ModelRun, ms: number): void;
}

export class RunWatch {
  readonly #costs: RunCosts;
  readonly #monitor: RunMonitor | null;
  readonly #time: EngineTime;

  constructor(costs: RunCosts, monitor: RunMonitor | null = null, time: EngineTime = REAL_TIME) {
    this.#costs = costs;
    this.#monitor = monitor;
    this.#time = time;
  }

  async run<T>(kind: ModelRun, work: () => Promise<T>, size: RunSize = {}): Promise<T> {
    this.#monitor?.begin(kind, this.#costs.expectedRun(kind, size));
    const start = this.#time.now();
    try {
      const result = await this.#time.run(kind, size, work);
      this.#costs.measuredRun(kind, this.#time.now() - start, size);
      return result;
    } finally {
      this.#monitor?.end(kind, this.#time.now() - start);
    }
  }
}

/** Begins when somebody subscribes. */
export const deferred = <T>(run: () => Promise<T>): Observable<T> => defer(() => from(run()));
