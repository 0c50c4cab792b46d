/** Core's executor on ONNX sessions: puts frames, seeds and batches into feeds and results back into core's words. */
import { defer, from, type Observable } from 'rxjs';
import { OxygenError } from '../core/errors';
import { frameNoise } from '../core/noise';
import type { Candidates, Executor, KvView, NewKv, PrefillResult } from '../core/ports';
import type { ModelRun, RunCosts } from '../core/run-costs';
import type { Frame } from '../core/types';
import type { LanguageResult, ModelSessions } from './model-sessions';
import { REAL_TIME, type EngineTime } from './time';

export interface ExecutorOptions {
  readonly attention: 'bidirectional' | 'causal';
  readonly denoiseSteps: number;
  /** Seed of the frames' noise. */
  readonly seed: bigint;
}

/** Told of every run before and after; the engine process reports it to the node's watchdog. */
export interface RunMonitor {
  begin(run: ModelRun, expectedMs: number): void;
  end(run: ModelRun, ms: number): void;
}

export class OnnxExecutor implements Executor {
  readonly #sessions: ModelSessions;
  readonly #options: ExecutorOptions;
  readonly #costs: RunCosts;
  readonly #monitor: RunMonitor | null;
  readonly #time: EngineTime;

  constructor(
    sessions: ModelSessions,
    options: ExecutorOptions,
    costs: RunCosts,
    monitor: RunMonitor | null = null,
    time: EngineTime = REAL_TIME,
  ) {
    this.#sessions = sessions;
    this.#options = options;
    this.#costs = costs;
    this.#monitor = monitor;
    this.#time = time;
    sessions.modulations(options.denoiseSteps);
  }

  prefill(frame: Frame): Observable<PrefillResult> {
    return defer(() => from(this.#prefill(frame)));
  }

  denoise(frame: Frame, prefix: KvView): Observable<Float32Array> {
    const { horizon, actionDim } = this.#sessions.manifest.model;
    const noise = frame.noise ?? frameNoise(this.#options.seed, frame.stampNs, horizon * actionDim);
    return this.#watched('denoise', () => denoise(this.#sessions, noise, this.#options.denoiseSteps, prefix));
  }

  seed(ids: readonly number[], past: KvView): Observable<{ kv: NewKv; next: Candidates }> {
    return this.#watched('seed', async () => {
      const { kv, next } = await runSeed(this.#sessions, ids, past);
      return { kv, next: firstOf(next) };
    });
  }

  decode(
    tokens: readonly number[],
    lengths: readonly number[],
    past: KvView,
  ): Observable<{ kv: NewKv; next: readonly Candidates[] }> {
    return this.#watched('decode', () => runDecode(this.#sessions, tokens, lengths, past), tokens.length);
  }

  async #prefill(frame: Frame): Promise<PrefillResult> {
    const causal = this.#options.attention === 'causal';
    const images = await this.#watch('vision', () =>
      this.#sessions.vision(frame.images, frame.cameras.length),
    );
    const run = () => runPrefix(this.#sessions, images, frame.promptIds, causal);
    const { kv, next, length } = await this.#watch('prefill', run);
    return { kv, length, next: firstOf(next) };
  }

  #watched<T>(kind: ModelRun, run: () => Promise<T>, batch = 1): Observable<T> {
    return defer(() => from(this.#watch(kind, run, batch)));
  }

  async #watch<T>(kind: ModelRun, run: () => Promise<T>, batch = 1): Promise<T> {
    this.#monitor?.begin(kind, this.#costs.expected(kind, batch));
    const start = this.#time.now();
    try {
      const result = await this.#time.run(kind, batch, run);
      this.#costs.measured(kind, this.#time.now() - start, batch);
      return result;
    } finally {
      this.#monitor?.end(kind, this.#time.now() - start);
    }
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
  const { horizon, actionDim } = sessions.manifest.model;
  if (noise.length !== horizon * actionDim) {
    throw new OxygenError(
      'CONFIG_INVALID',
      `the noise has ${noise.length} values, the engine needs ${horizon}x${actionDim}`,
    );
  }
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
