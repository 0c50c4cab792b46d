/** Core's executor on ONNX sessions: puts frames, seeds and batches into feeds and results back into core's words. */
import type { Observable } from 'rxjs';
import { OxygenError } from '../core/errors';
import { frameNoise } from '../core/noise';
import type { Candidates, Executor, KvView, NewKv, PrefillResult, StepResult } from '../core/ports';
import type { RunCosts } from '../core/run-costs';
import type { Frame } from '../core/types';
import { checkNoise } from './feeds';
import type { LanguageResult, ModelSessions } from './model-sessions';
import { deferred, RunWatch, type RunMonitor } from './run-watch';
import type { EngineTime } from './time';

export interface ExecutorOptions {
  readonly attention: 'bidirectional' | 'causal';
  readonly denoiseSteps: number;
  /** Seed of the frames' noise. */
  readonly seed: bigint;
}

export class OnnxExecutor implements Executor {
  readonly #sessions: ModelSessions;
  readonly #options: ExecutorOptions;
  readonly #watch: RunWatch;

  constructor(
    sessions: ModelSessions,
    options: ExecutorOptions,
    costs: RunCosts,
    monitor?: RunMonitor | null,
    time?: EngineTime,
  ) {
    this.#sessions = sessions;
    this.#options = options;
    this.#watch = new RunWatch(costs, monitor, time);
    sessions.modulations(options.denoiseSteps);
  }

  prefill(frame: Frame): Observable<PrefillResult> {
    return deferred(() => this.#prefill(frame));
  }

  denoise(frame: Frame, prefix: KvView): Observable<Float32Array> {
    const { horizon, actionDim } = this.#sessions.manifest.model;
    const noise = frame.noise ?? frameNoise(this.#options.seed, frame.stampNs, horizon * actionDim);
    const run = () => denoise(this.#sessions, noise, this.#options.denoiseSteps, prefix);
    return deferred(() => this.#watch.run('denoise', run));
  }

  seed(ids: readonly number[], past: KvView): Observable<{ kv: NewKv; next: Candidates }> {
    return deferred(async () => {
      const { kv, next } = await this.#watch.run('seed', () => runSeed(this.#sessions, ids, past));
      return { kv, next: firstOf(next) };
    });
  }

  decode(tokens: readonly number[], lengths: readonly number[], past: KvView): Observable<StepResult> {
    const run = () => runDecode(this.#sessions, tokens, lengths, past);
    return deferred(() => this.#watch.run('decode', run, { batch: tokens.length }));
  }

  async #prefill(frame: Frame): Promise<PrefillResult> {
    const causal = this.#options.attention === 'causal';
    const images = await this.#watch.run('vision', () =>
      this.#sessions.vision(frame.images, frame.cameras.length),
    );
    const run = () => runPrefix(this.#sessions, images, frame.promptIds, causal);
    const { kv, next, length } = await this.#watch.run('prefill', run);
    return { kv, length, next: firstOf(next) };
  }
}

/** Vision, then the root prefix. */
export async function runPrefill(
  sessions: ModelSessions,
  frame: Pick<Frame, 'cameras' | 'images' | 'promptIds'>,
  causal: boolean,
  fullLogits = false,
): Promise<LanguageResult & { readonly length: number }> {
  const images = await sessions.vision(frame.images, frame.cameras.length);
  return runPrefix(sessions, images, frame.promptIds, causal, fullLogits);
}

/** The root prefix: image tokens [n·width] of the present cameras and the prompt; `causal` concerns the prompt only. */
async function runPrefix(
  sessions: ModelSessions,
  images: Float32Array,
  promptIds: readonly number[],
  causal: boolean,
  fullLogits = false,
): Promise<LanguageResult & { readonly length: number }> {
  const prompt = sessions.host.embed(promptIds);
  const x = new Float32Array(images.length + prompt.length);
  x.set(images);
  x.set(prompt, images.length);
  const imageLength = images.length / sessions.manifest.model.language.width;
  const length = imageLength + promptIds.length;
  const result = await sessions.language({
    batch: 1,
    tokens: length,
    x,
    positions: Array.from({ length }, (_, i) => i),
    pastLengths: [0],
    past: null,
    causalFrom: causal ? imageLength : null,
    want: [length - 1],
    fullLogits,
  });
  return { ...result, length };
}

/** Causal seed tokens after a prefix. */
export function runSeed(
  sessions: ModelSessions,
  ids: readonly number[],
  past: KvView,
  fullLogits = false,
): Promise<LanguageResult> {
  return sessions.language({
    batch: 1,
    tokens: ids.length,
    x: sessions.host.embed(ids),
    positions: ids.map((_, i) => past.positions + i),
    pastLengths: [past.positions],
    past,
    causalFrom: 0,
    want: [ids.length - 1],
    fullLogits,
  });
}

/** One token per row, each at its own position. */
export function runDecode(
  sessions: ModelSessions,
  tokens: readonly number[],
  lengths: readonly number[],
  past: KvView,
  fullLogits = false,
): Promise<LanguageResult> {
  return sessions.language({
    batch: tokens.length,
    tokens: 1,
    x: sessions.host.embed(tokens),
    positions: lengths,
    pastLengths: lengths,
    past,
    causalFrom: null,
    want: tokens.map(() => 0),
    fullLogits,
  });
}

/** Euler integration from noise (t = 1) to actions (t = 0) in float32; `trace` sees v_t and x_t after each step. */
export async function denoise(
  sessions: ModelSessions,
  noise: Float32Array,
  steps: number,
  prefix: KvView,
  trace?: (v: Float32Array, x: Float32Array) => void,
): Promise<Float32Array> {
  checkNoise(sessions.manifest, noise);
  const dt = Math.fround(-1 / steps);
  const velocity = sessions.expert(prefix, steps);
  let x = noise.slice();
  for (let s = 0; s < steps; s++) {
    const v = await velocity(x, s);
    x = x.map((value, i) => value + Math.fround(dt * (v[i] as number)));
    trace?.(v, x);
  }
  return x;
}

/** The candidates of a run's one row. */
export function firstOf(next: readonly Candidates[]): Candidates {
  const candidates = next[0];
  if (!candidates) throw new OxygenError('INTERNAL', 'a run returned no candidates');
  return candidates;
}
