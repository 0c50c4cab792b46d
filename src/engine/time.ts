/** How time passes for the engine: by the clock of this machine, or as the replay of a bag has it. */
import type { SchedulerLike } from 'rxjs';
import { asyncScheduler } from 'rxjs';
import type { Clock } from '../core/ports';
import type { CostTable, ModelRun, RunSize } from '../core/run-costs';

export interface EngineTime extends Clock {
  readonly timers: SchedulerLike;
  /** What runs are expected to take; null: what engine.json says. */
  readonly costs: CostTable | null;
  /** Does a run of the model. In virtual time it takes as long as the costs say, whatever it really took. */
  run<T>(kind: ModelRun, size: RunSize, work: () => Promise<T>): Promise<T>;
  /** Calls when what is being done now is done. */
  soon(call: () => void): void;
}

export const REAL_TIME: EngineTime = {
  now: () => performance.now(),
  timers: asyncScheduler,
  costs: null,
  run: (_kind, _size, work) => work(),
  soon: call => void setImmediate(call),
};
