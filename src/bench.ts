/** The paper's basic workload through the real scheduler: a frame is always waiting, each brings one language request. */
import { lastValueFrom, tap } from 'rxjs';
import { fold } from './core/noise';
import type { SchedulerEvent } from './core/scheduler-io';
import type { Tunables } from './core/types';
import { deploy } from './engine/deployment';
import type { ModelSessions } from './engine/model-sessions';

export interface Workload {
  /** N: tokens per request; the end token is off. */
  readonly tokens: number;
  /** k */
  readonly tokensPerFrame: number;
  readonly frames: number;
  readonly warmUpFrames: number;
}

export interface WorkloadResult {
  readonly frames: number;
  /** From the start of a frame to the start of the next. */
  readonly frameMsMedian: number;
  readonly frameMsP95: number;
  /** From the start of a frame to its chunk. */
  readonly firstActionMsMedian: number;
  readonly replanHz: number;
  readonly tokensPerSecond: number;
  readonly batchMean: number;
  readonly failures: readonly string[];
}

interface FrameMeasure {
  readonly ms: number;
  readonly firstActionMs: number;
  readonly tokens: number;
  readonly batch: number;
}

export async function runWorkload(
  sessions: ModelSessions,
  w: Workload,
  onFrame: (done: number, total: number) => void,
): Promise<WorkloadResult> {
  const { model } = sessions.manifest;
  const tunables: Tunables = {
    tokensPerFrame: { kind: 'fixed', steps: w.tokensPerFrame },
    replanRateHz: 0,
    standing: [],
  };
  const { scheduler } = deploy(sessions, {
    attention: sessions.manifest.attention,
    denoiseSteps: model.denoiseSteps,
    seed: 0n,
    cameras: model.cameraSlots.length,
    maxRequests: Math.ceil(w.tokens / w.tokensPerFrame) + 1,
    maxQueue: 64,
    maxTokens: w.tokens,
    maxSeedTokens: 1,
    mode: 'oxygen',
    tunables,
    executeMs: 0,
    ageingMs: 0,
    stopIds: [],
  });
  const total = w.warmUpFrames + w.frames;
  const measures: FrameMeasure[] = [];
  const failures: string[] = [];
  let frame = 0;
  let startMs = performance.now();
  let chunkMs = 0;
  const onEvent = (e: SchedulerEvent) => {
    if (e.type === 'ask') {
      // The first ask has no frame before it: its frame-end does not exist.
      if (frame === 0) startMs = performance.now();
      scheduler.post({ type: 'frame', frame: syntheticFrame(sessions, frame) });
      scheduler.post({
        type: 'request',
        request: {
          id: String(frame++), seedIds: [], maxTokens: w.tokens, temperature: 0, topK: 0, topP: 1, samplingSeed: 0, priority: 0,
          deadlineMs: null, keepOnInstruction: true,
        }, // prettier-ignore
      });
    }
    if (e.type === 'chunk') chunkMs = performance.now() - startMs;
    if (e.type === 'frame-end') {
      const now = performance.now();
      measures.push({ ms: now - startMs, firstActionMs: chunkMs, tokens: e.tokens, batch: e.batch });
      startMs = now;
      onFrame(measures.length, total);
      if (measures.length === total) scheduler.close();
    }
    if (e.type === 'drop') failures.push(e.error.message);
    if (e.type === 'done' && e.reason !== 'length') failures.push(`request ${e.id} ended ${e.reason}`);
  };
  const finished = lastValueFrom(scheduler.events$.pipe(tap(onEvent)));
  scheduler.post({ type: 'tunables', tunables });
  await finished;
  return summarise(measures.slice(w.warmUpFrames), failures);
}

function summarise(frames: readonly FrameMeasure[], failures: readonly string[]): WorkloadResult {
  const ms = frames.map(f => f.ms);
  const seconds = ms.reduce((a, b) => a + b, 0) / 1000;
  return {
    frames: frames.length,
    frameMsMedian: quantile(ms, 0.5),
    frameMsP95: quantile(ms, 0.95),
    firstActionMsMedian: quantile(frames.map(f => f.firstActionMs), 0.5), // prettier-ignore
    replanHz: frames.length / seconds,
    tokensPerSecond: frames.reduce((n, f) => n + f.tokens, 0) / seconds,
    batchMean: frames.reduce((n, f) => n + f.batch, 0) / frames.length,
    failures,
  };
}

function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
}

/** Only shapes matter: pseudo-random pixels and a prompt of the longest length. */
function syntheticFrame(sessions: ModelSessions, id: number) {
  const { model } = sessions.manifest;
  const { imageHeight, imageWidth } = model.vision;
  const images = new Uint8Array(model.cameraSlots.length * imageHeight * imageWidth * 3);
  for (let i = 0; i < images.length; i++) images[i] = fold(id, i) & 0xff;
  const promptIds = Array.from(
    { length: model.maxPromptTokens },
    (_, i) => fold(id + 1, i) % model.language.vocab,
  );
  return { id, stampNs: BigInt(id), epoch: 0, cameras: model.cameraSlots, images, promptIds };
}
