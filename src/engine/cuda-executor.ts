/**
 * Core's executor on the CUDA graphs. A frame is one run: `prefill` does all of it, `denoise` gives the actions that are
 * there. Decode steps come out of bursts, because each run has to copy the rows' keys and values to the device first.
 */
import { of, throwError, type Observable } from 'rxjs';
import { OxygenError } from '../core/errors';
import { frameNoise } from '../core/noise';
import type {
  Ahead,
  Candidates,
  DecodeRow,
  Executor,
  KvView,
  NewKv,
  PrefillResult,
  StepResult,
} from '../core/ports';
import type { RunCosts } from '../core/run-costs';
import type { Frame } from '../core/types';
import { BurstDecoder, type BurstCall } from './burst-decoder';
import { GREEDY } from './cuda-feeds';
import type { CudaSessions } from './cuda-sessions';
import type { ExecutorOptions } from './onnx-executor';
import { deferred, RunWatch, type RunMonitor } from './run-watch';
import { REAL_TIME, type EngineTime } from './time';

export class CudaExecutor implements Executor {
  readonly #sessions: CudaSessions;
  readonly #options: ExecutorOptions;
  readonly #watch: RunWatch;
  readonly #bursts: BurstDecoder;
  /** Of the newest frame. */
  #actions: { readonly frame: Frame; readonly values: Float32Array } | null = null;

  constructor(
    sessions: CudaSessions,
    options: ExecutorOptions,
    costs: RunCosts,
    monitor: RunMonitor | null = null,
    time: EngineTime = REAL_TIME,
  ) {
    this.#sessions = sessions;
    this.#options = options;
    this.#watch = new RunWatch(costs, monitor, time);
    const { headDim } = sessions.manifest.model.language;
    this.#bursts = new BurstDecoder(call => this.#burst(call), costs, time, headDim);
    sessions.modulations(options.denoiseSteps);
  }

  prefill(frame: Frame): Observable<PrefillResult> {
    return deferred(async () => {
      const { horizon, actionDim } = this.#sessions.manifest.model;
      const { seed, denoiseSteps, attention } = this.#options;
      const noise = frame.noise ?? frameNoise(seed, frame.stampNs, horizon * actionDim);
      const feeds = { ...frame, noise, steps: denoiseSteps, causal: attention === 'causal' };
      this.#actions = null;
      const result = await this.#watch.run('prefill', () => this.#sessions.frame(feeds));
      this.#actions = { frame, values: result.actions };
      return result;
    });
  }

  /** No run: the prefill of the frame made them. */
  denoise(frame: Frame): Observable<Float32Array> {
    if (this.#actions?.frame === frame) return of(this.#actions.values);
    const message = `frame ${frame.id} was not the last one that was prefilled`;
    return throwError(() => new OxygenError('INTERNAL', message));
  }

  seed(ids: readonly number[], past: KvView): Observable<{ kv: NewKv; next: Candidates }> {
    return deferred(() => this.#watch.run('seed', () => runForced(this.#sessions, ids, past)));
  }

  decode(
    tokens: readonly number[],
    lengths: readonly number[],
    past: KvView,
    rows: readonly DecodeRow[] = tokens.map(unknownRow),
    ahead: Ahead = { steps: 1, untilMs: -Infinity },
  ): Observable<StepResult> {
    return this.#bursts.decode(tokens, lengths, past, rows, ahead);
  }

  isReady(tokens: readonly number[], lengths: readonly number[], rows: readonly DecodeRow[]): boolean {
    return this.#bursts.isReady(tokens, lengths, rows);
  }

  #burst({ rows, ...call }: BurstCall): Observable<Awaited<ReturnType<CudaSessions['decode']>>> {
    const size = { batch: rows.length, steps: call.steps };
    const run = () => this.#sessions.decode({ ...call, draws: rows });
    return deferred(() => this.#watch.run('decode', run, size));
  }
}

/** A row of which nothing is known is decoded step by step, and greedily. */
const unknownRow = (): DecodeRow => ({ text: {}, sampling: GREEDY, sequence: 0, left: 1 });

/** Given tokens after a row's past: each is a step whose choice is not asked. `next` follows the last one. */
export async function runForced(
  sessions: CudaSessions,
  ids: readonly number[],
  past: KvView,
): Promise<{ readonly kv: NewKv; readonly next: Candidates; readonly all: readonly Candidates[] }> {
  const { kv, next } = await sessions.decode({
    tokens: ids.slice(0, 1),
    lengths: [past.positions],
    past,
    steps: ids.length,
    forced: step => ids[step] ?? null,
  });
  const all = next.map(([row]) => row as Candidates);
  return { kv, next: all.at(-1) as Candidates, all };
}
