/** Times single runs of an engine: for engine.json when it is built, and for the bench beside its modes. */
import { firstValueFrom, type Observable } from 'rxjs';
import { KvCache } from '../core/kv-cache';
import { median } from '../core/statistics';
import type { Candidates } from '../core/ports';
import { RunCosts, type ModelRun } from '../core/run-costs';
import type { Frame } from '../core/types';
import type { StageCosts } from '../model/manifest';
import { dummyFrame } from './deployment';
import { ModelSessions } from './model-sessions';
import { OnnxExecutor } from './onnx-executor';

/** Times in ms by name: the kinds of runs, and `decode 4` for one step of four rows. */
export type RunSamples = Readonly<Record<string, readonly number[]>>;

export interface RunSizes {
  readonly frame: Frame;
  readonly attention: 'bidirectional' | 'causal';
  readonly denoiseSteps: number;
  /** Rows of the decode steps. */
  readonly batches: readonly number[];
  /** Positions that a row may grow by. */
  readonly spare: number;
  readonly prefills: number;
  readonly steps: number;
}

const SEED_TOKENS = 8;
const REPEATS = 4;
const BATCHES = [1, 4, 8];

/** Prefills and denoises the frame, runs a seed, then decode steps of each size from its prefix. */
export async function sampleRuns(sessions: ModelSessions, s: RunSizes): Promise<RunSamples> {
  const samples: Record<string, number[]> = {};
  let batch = 0;
  const monitor = {
    begin: () => undefined,
    end: (kind: ModelRun, ms: number) =>
      (samples[kind === 'decode' ? `decode ${batch}` : kind] ??= []).push(ms),
  };
  const executor = new OnnxExecutor(sessions, { ...s, seed: 0n }, new RunCosts(null), monitor);
  const run = <T>(observable: Observable<T>): Promise<T> => firstValueFrom(observable);
  const { layers, headDim, vocab } = sessions.manifest.model.language;

  let next: Candidates | null = null;
  let cache: KvCache | null = null;
  for (let i = 0; i < s.prefills || !cache; i++) {
    const { kv, length, next: first } = await run(executor.prefill(s.frame));
    const spare = Math.max(s.spare, s.steps, SEED_TOKENS);
    cache ??= new KvCache({ layers, headDim, maxRequests: Math.max(...s.batches), capacity: length + spare });
    next = first;
    cache.commitPrefix({ frameId: i, stampNs: 0n, epoch: 0, length, next }, kv);
    await run(executor.denoise(s.frame, cache.prefixView()));
  }
  await run(executor.seed(Array.from({ length: SEED_TOKENS }, (_, i) => i % vocab), cache.prefixView())); // prettier-ignore

  for (batch of s.batches) {
    const ids = Array.from({ length: batch }, (_, row) => String(row));
    for (const id of ids) cache.attach(id, cache.shape.capacity);
    let tokens = ids.map(() => next?.ids[0] ?? 0);
    for (let step = 0; step < s.steps; step++) {
      const lengths = cache.batch().map(row => row.length);
      const { kv, next: candidates } = await run(executor.decode(tokens, lengths, cache.batchView()));
      ids.forEach((id, row) => cache?.append(id, kv, row, 1));
      tokens = candidates.map(c => c.ids[0] ?? 0);
    }
    for (const id of ids) cache.release(id);
  }
  return samples;
}

/** The stage costs of engine.json; the first run of each kind only warms up. */
export async function measureCosts(dir: string, threads: number): Promise<StageCosts> {
  const sessions = await ModelSessions.load(dir, threads);
  try {
    const { attention, model } = sessions.manifest;
    const { denoiseSteps, cameraSlots } = model;
    const frame = { id: 0, stampNs: 0n, epoch: 0, ...dummyFrame(sessions, cameraSlots.length) };
    const sizes = {
      frame,
      attention,
      denoiseSteps,
      batches: BATCHES,
      spare: 0,
      prefills: REPEATS,
      steps: REPEATS,
    };
    const samples = await sampleRuns(sessions, sizes);
    const of = (name: string) => {
      const [first = NaN, ...others] = samples[name] ?? [];
      return others.length > 0 ? median(others) : first;
    };
    const decode = Object.fromEntries(BATCHES.map(b => [String(b), of(`decode ${b}`)]));
    const denoiseStep = of('denoise') / denoiseSteps;
    return { vision: of('vision'), prefill: of('prefill'), denoiseStep, seed: of('seed'), decode, threads };
  } finally {
    await sessions.release();
  }
}
