/** Single model runs, timed apart from the modes: what a frame of each mode has to be made of. */
import { firstValueFrom, type Observable } from 'rxjs';
import { KvCache } from '../core/kv-cache';
import type { Candidates } from '../core/ports';
import { RunCosts } from '../core/run-costs';
import type { ModelSessions } from '../engine/model-sessions';
import { OnnxExecutor } from '../engine/onnx-executor';
import type { RunKind } from '../engine/protocol';
import { runBlock } from './block';
import type { Parts } from './result';
import { median } from './statistics';
import type { Block, Frames } from './workload';

/** Times in ms by name: `decode 4` is one step of four rows. One process measures a few in every round. */
export type PartSamples = Readonly<Record<string, readonly number[]>>;

const PREFILLS = 4;
const STEPS = 6;
const SEED_TOKENS = 8;
const SEED = 'seed';
const WITHOUT_LANGUAGE = 'frame_without_language';

/** The sizes of decode steps that are measured. */
export const decodeBatches = (b: Block): number[] => {
  const k = b.tokensPerFrame.kind === 'fixed' ? b.tokensPerFrame.steps : b.tokensPerFrame.minSteps;
  return [...new Set([1, 4, 8, Math.ceil(b.tokens / k)])].sort((x, y) => x - y);
};

/** A round of measurements with the sizes of `block`. */
export async function measureParts(
  sessions: ModelSessions,
  frames: Frames,
  block: Block,
): Promise<PartSamples> {
  const samples: Record<string, number[]> = {};
  const record = (name: string, ms: number) => (samples[name] ??= []).push(ms);
  let batch = 0;
  const { manifest } = sessions;
  const options = {
    attention: manifest.attention,
    denoiseSteps: block.denoiseSteps,
    seed: BigInt(block.seed),
  };
  const monitor = {
    begin: () => undefined,
    end: (kind: RunKind, ms: number) => record(kind === 'decode' ? `decode ${batch}` : kind, ms),
  };
  const executor = new OnnxExecutor(sessions, options, new RunCosts(null), monitor);
  const run = <T>(observable: Observable<T>): Promise<T> => firstValueFrom(observable);

  const frame = frames.at(block.first);
  const batches = decodeBatches(block);
  const { layers, headDim, cameraSlots, maxPromptTokens, vocab } = {
    ...manifest.model,
    ...manifest.model.language,
  };
  const length = cameraSlots.length * sessions.imageTokens + maxPromptTokens;
  const spare = Math.max(STEPS, SEED_TOKENS, block.tokens);
  const cache = new KvCache({
    layers,
    headDim,
    maxRequests: Math.max(...batches),
    capacity: length + spare,
  });
  let next: Candidates | null = null;
  for (let i = 0; i < PREFILLS; i++) {
    const prefill = await run(executor.prefill(frame));
    next = prefill.next;
    cache.commitPrefix({ frameId: i, stampNs: 0n, epoch: 0, length: prefill.length, next }, prefill.kv);
    await run(executor.denoise(frame, cache.prefixView()));
  }
  const seedIds = Array.from({ length: SEED_TOKENS }, (_, i) => i % vocab);
  await run(executor.seed(seedIds, cache.prefixView()));

  const ids: string[] = [];
  for (batch of batches) {
    while (ids.length < batch) cache.attach(ids[ids.push(String(ids.length)) - 1] as string, length + spare);
    let tokens = ids.map(() => next?.ids[0] ?? 0);
    for (let step = 0; step < STEPS; step++) {
      const lengths = cache.batch().map(row => row.length);
      const { kv, next: candidates } = await run(executor.decode(tokens, lengths, cache.batchView()));
      ids.forEach((id, row) => cache.append(id, kv, row, 1));
      tokens = candidates.map(c => c.ids[0] ?? 0);
    }
    for (const id of ids.splice(0)) cache.release(id);
  }
  samples[WITHOUT_LANGUAGE] = await framesWithoutLanguage(sessions, frames, block);
  return samples;
}

async function framesWithoutLanguage(
  sessions: ModelSessions,
  frames: Frames,
  block: Block,
): Promise<number[]> {
  const quiet: Block = {
    ...block,
    mode: 'oxygen',
    arrivals: { kind: 'none' },
    warmUp: 1,
    frames: 2,
    paced: false,
  };
  const result = await runBlock(sessions, frames, quiet, { frame: ready => ready() });
  return result.frames.map(f => f.firstActionMs);
}

/** Medians over all rounds. `tokens`: N of the isolated formula. */
export function partsOf(rounds: readonly PartSamples[], denoiseSteps: number, tokens: number): Parts {
  const names = [...new Set(rounds.flatMap(r => Object.keys(r)))];
  const of = (name: string) => median(rounds.flatMap(r => r[name] ?? []));
  const decode = Object.fromEntries(
    names.filter(name => name.startsWith('decode ')).map(name => [name.slice('decode '.length), of(name)]),
  );
  const [vision, prefill, denoise] = [of('vision'), of('prefill'), of('denoise')];
  return {
    vision,
    prefill,
    denoise,
    denoise_step: denoise / denoiseSteps,
    seed: of(SEED),
    decode,
    frame_without_language: of(WITHOUT_LANGUAGE),
    isolated_expected: 2 * (vision + prefill) + denoise + tokens * (decode['1'] as number),
  };
}
