/** The graphs of an engine for CUDA: what happens inside a run does not leave it. */
import type { Candidates } from '../core/ports';
import { CudaExecutor } from '../engine/cuda-executor';
import type { CudaSessions, FrameResult } from '../engine/cuda-sessions';
import { prefixCache } from '../engine/deployment';
import { generate, type Steps } from './generate';
import type { ComparedKind } from './golden';
import { SPARE_POSITIONS, type FrameInput, type Prefix, type Subject } from './subject';

const INSIDE = 'stays inside the graph; what is made of it is compared:';
export const INSIDE_PREFIX: readonly (readonly [ComparedKind, string])[] = [
  ['image_emb', `${INSIDE} prefix_k, prefix_v`],
  ['prompt_emb', `${INSIDE} prefix_k, prefix_v`],
];
export const INSIDE_DENOISE: readonly (readonly [ComparedKind, string])[] = [
  ['v_t', `${INSIDE} actions`],
  ['x_t', `${INSIDE} actions`],
];

export const cudaSubject = (sessions: CudaSessions): Subject => ({
  manifest: sessions.manifest,
  notGiven: new Map([...INSIDE_PREFIX, ...INSIDE_DENOISE]),
  imageTokens: () => Promise.resolve(null),
  promptEmbedding: () => null,
  prefix: (frame, causal) => prefixOf(sessions, frame, causal),
  executor: (options, costs) => new CudaExecutor(sessions, options, costs),
});

/** Each chunk is a run of its own, since the frame graph does all at once. */
async function prefixOf(sessions: CudaSessions, frame: FrameInput, causal: boolean): Promise<Prefix> {
  const { horizon, actionDim } = sessions.manifest.model;
  const run = (noise: Float32Array, steps: number) =>
    sessions.frame({ ...frame, causal, noise, steps, fullLogits: true });
  const prefix = await run(new Float32Array(horizon * actionDim), 1);
  return {
    ...prefix,
    actions: async (noise, steps) => ({ actions: (await run(noise, steps)).actions, v: null, x: null }),
    text: textOf(sessions, prefix),
  };
}

/** Text after a prefix. All logits come from single steps; the tokens from one run, as they are made on a robot. */
export function textOf(
  sessions: CudaSessions,
  prefix: Pick<FrameResult, 'kv' | 'length' | 'next' | 'logits'>,
): Prefix['text'] {
  const given = { ...prefix, next: [prefix.next] };
  const cache = prefixCache(sessions, given, 1, SPARE_POSITIONS);
  const forcedRun: Steps['seed'] = async (ids, past) => {
    const forced = (step: number) => ids[step] ?? null;
    const feeds = { tokens: ids.slice(0, 1), past, steps: ids.length, forced, fullLogits: true };
    const run = await sessions.decode({ ...feeds, lengths: [past.positions] });
    return { ...run, next: run.next.at(-1) ?? [] };
  };
  const singleSteps: Steps = {
    seed: forcedRun,
    decode: (token, _length, past) => forcedRun([token], past),
  };
  return async (seedIds, steps, fed = []) => {
    const { logits } = await generate(singleSteps, cache, given, seedIds, steps, fed);
    const forced = [...seedIds, ...fed];
    const run = await sessions.decode({
      tokens: [forced[0] ?? (prefix.next.ids[0] as number)],
      lengths: [prefix.length],
      past: cache.prefixView(),
      steps: seedIds.length + steps,
      forced: step => forced[step] ?? null,
    });
    const rows = [prefix.next, ...run.next.flat()].slice(seedIds.length, seedIds.length + Math.max(1, steps));
    return { tokens: rows.map((row: Candidates) => row.ids[0] as number), logits };
  };
}
