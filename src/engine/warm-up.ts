/**
 * Runs every graph once, so that the first frame of a robot is not the slow one. Engines for CUDA were built on any
 * machine, so what their runs take is measured here as well.
 */
import type { KvCacheShape } from '../core/kv-cache';
import type { PrefillResult } from '../core/ports';
import type { RunCosts } from '../core/run-costs';
import { runForced } from './cuda-executor';
import type { CudaSessions } from './cuda-sessions';
import { dummyFrame, prefixCache, type EngineSessions } from './deployment';
import type { ModelSessions } from './model-sessions';
import { runDecode, runPrefill } from './onnx-executor';
import type { TensorRtEngine } from './tensorrt-engine';

export interface WarmUpSizes {
  readonly cameras: number;
  readonly denoiseSteps: number;
  readonly shape: Pick<KvCacheShape, 'maxRequests' | 'capacity'>;
}

/** `costs`: what learns from it; null: nothing. */
export function warmUp(sessions: EngineSessions, sizes: WarmUpSizes, costs: RunCosts | null): Promise<void> {
  switch (sessions.target) {
    case 'cpu':
      return warmUpCpu(sessions, sizes);
    case 'cuda':
      return warmUpCuda(sessions, sizes, costs);
    case 'tensorrt':
      return warmUpTensorRt(sessions, sizes, costs);
  }
}

async function warmUpCpu(
  sessions: ModelSessions,
  { cameras, denoiseSteps, shape }: WarmUpSizes,
): Promise<void> {
  const { model, special } = sessions.manifest;
  const { maxRequests } = shape;
  const prefix = await runPrefill(sessions, dummyFrame(sessions, cameras), false);
  const cache = prefixCache(sessions, prefix, maxRequests, 1);
  const noise = new Float32Array(model.horizon * model.actionDim);
  await sessions.expert(cache.prefixView(), denoiseSteps)(noise, 0);
  for (let b = 0; b < maxRequests; b++) cache.attach(String(b), prefix.length + 1);
  const tokens = new Array<number>(maxRequests).fill(special.begin);
  const lengths = new Array<number>(maxRequests).fill(prefix.length);
  await runDecode(sessions, tokens, lengths, cache.batchView());
}

const SEED_TOKENS = 8;
/** Steps of the longer of two runs: their difference is what steps take, the rest is the upload. */
const LONG_RUN = 5;

async function warmUpCuda(sessions: CudaSessions, sizes: WarmUpSizes, costs: RunCosts | null): Promise<void> {
  const { model } = sessions.manifest;
  const { cameras, denoiseSteps } = sizes;
  const noise = new Float32Array(model.horizon * model.actionDim);
  const feeds = { ...dummyFrame(sessions, cameras), causal: false, noise, steps: denoiseSteps };
  const frame = () => sessions.frame(feeds);
  const prefix = await frame();
  costs?.measured('prefill', await timed(frame));
  await warmUpText(sessions, prefix, sizes, costs);
}

/** A camera may be missing, and each number of cameras is another shape for TensorRT. */
async function warmUpTensorRt(
  { frames, language }: TensorRtEngine,
  sizes: WarmUpSizes,
  costs: RunCosts | null,
): Promise<void> {
  const { model } = frames.manifest;
  const noise = new Float32Array(model.horizon * model.actionDim);
  const prefill = (cameras: number) => frames.prefill(dummyFrame(frames, cameras), false);
  const denoise = ({ kv, length }: PrefillResult) =>
    frames.denoise(noise, { batch: 1, positions: length, ...kv });
  for (let cameras = 1; cameras <= sizes.cameras; cameras++) await denoise(await prefill(cameras));
  const prefix = await prefill(sizes.cameras);
  costs?.measured('prefill', await timed(() => prefill(sizes.cameras)));
  costs?.measured('denoise', await timed(() => denoise(prefix)));
  await warmUpText(language, prefix, sizes, costs);
}

/** Seeds and decode steps after a prefix. */
async function warmUpText(
  sessions: CudaSessions,
  prefix: PrefillResult,
  { shape }: WarmUpSizes,
  costs: RunCosts | null,
): Promise<void> {
  const { special } = sessions.manifest;
  const { maxRequests, capacity } = shape;
  const spare = Math.max(1, capacity - prefix.length);
  const cache = prefixCache(sessions, { ...prefix, next: [prefix.next] }, maxRequests, spare);
  const seed = () =>
    runForced(sessions, new Array<number>(SEED_TOKENS).fill(special.begin), cache.prefixView());
  await seed();
  costs?.measured('seed', await timed(seed));
  for (let b = 0; b < maxRequests; b++) {
    cache.attach(String(b), prefix.length + 1);
    const batch = b + 1;
    if (batch > 1 && batch < maxRequests) continue;
    const run = (steps: number) => () =>
      sessions.decode({
        tokens: new Array<number>(batch).fill(special.begin),
        lengths: new Array<number>(batch).fill(prefix.length),
        past: cache.batchView(),
        steps,
      });
    await run(LONG_RUN)();
    const [shortMs, longMs] = [await timed(run(1)), await timed(run(LONG_RUN))];
    const stepMs = Math.max(0, longMs - shortMs) / (LONG_RUN - 1);
    costs?.measured('decode', stepMs, batch);
    costs?.measured('upload', Math.max(0, shortMs - stepMs), batch);
  }
}

const REPEATS = 3;

/** The best of several: what disturbs a run only makes it longer. */
async function timed(run: () => Promise<unknown>): Promise<number> {
  let bestMs = Infinity;
  for (let i = 0; i < REPEATS; i++) {
    const start = performance.now();
    await run();
    bestMs = Math.min(bestMs, performance.now() - start);
  }
  return bestMs;
}
