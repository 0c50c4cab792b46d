/**
 * Core's executor on TensorRT's engines: prefill and denoiser are theirs, seeds and decode steps are `language`'s, which
 * runs on CUDA. Keys and values go through the host in between, so the cache and the scheduler see no difference.
 */
import type { Observable } from 'rxjs';
import { OxygenError } from '../core/errors';
import { frameNoise } from '../core/noise';
import type { Ahead, DecodeRow, Executor, KvView, PrefillResult } from '../core/ports';
import type { RunCosts } from '../core/run-costs';
import type { Frame } from '../core/types';
import type { ExecutorOptions } from './onnx-executor';
import { deferred, RunWatch, type RunMonitor } from './run-watch';
import type { TensorRtSessions } from './tensorrt-sessions';
import type { EngineTime } from './time';

export class TensorRtExecutor implements Executor {
  readonly #sessions: TensorRtSessions;
  readonly #language: Pick<Executor, 'seed' | 'decode' | 'isReady'>;
  readonly #options: ExecutorOptions;
  readonly #watch: RunWatch;

  /** Throws CONFIG_INVALID when the engine was made for another number of Euler steps. */
  constructor(
    sessions: TensorRtSessions,
    language: Pick<Executor, 'seed' | 'decode' | 'isReady'>,
    options: ExecutorOptions,
    costs: RunCosts,
    monitor?: RunMonitor | null,
    time?: EngineTime,
  ) {
    const { denoiseSteps } = sessions.manifest.model;
    if (options.denoiseSteps !== denoiseSteps) {
      throw new OxygenError(
        'CONFIG_INVALID',
        `denoise_steps is ${options.denoiseSteps}, but the TensorRT engine has ${denoiseSteps} Euler steps built in; ` +
          `set denoise_steps to ${denoiseSteps}, or leave tensorrt out of execution_providers`,
      );
    }
    this.#sessions = sessions;
    this.#language = language;
    this.#options = options;
    this.#watch = new RunWatch(costs, monitor, time);
  }

  prefill(frame: Frame): Observable<PrefillResult> {
    const causal = this.#options.attention === 'causal';
    return deferred(() => this.#watch.run('prefill', () => this.#sessions.prefill(frame, causal)));
  }

  denoise(frame: Frame, prefix: KvView): Observable<Float32Array> {
    const { horizon, actionDim } = this.#sessions.manifest.model;
    const noise = frame.noise ?? frameNoise(this.#options.seed, frame.stampNs, horizon * actionDim);
    return deferred(() => this.#watch.run('denoise', () => this.#sessions.denoise(noise, prefix)));
  }

  seed(...args: Parameters<Executor['seed']>): ReturnType<Executor['seed']> {
    return this.#language.seed(...args);
  }

  decode(
    tokens: readonly number[],
    lengths: readonly number[],
    past: KvView,
    rows?: readonly DecodeRow[],
    ahead?: Ahead,
  ): ReturnType<Executor['decode']> {
    return this.#language.decode(tokens, lengths, past, rows, ahead);
  }

  isReady(tokens: readonly number[], lengths: readonly number[], rows: readonly DecodeRow[]): boolean {
    return this.#language.isReady?.(tokens, lengths, rows) ?? false;
  }
}
