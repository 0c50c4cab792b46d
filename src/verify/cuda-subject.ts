/** The graphs of an engine for CUDA: what happens inside a run does not leave it. */
import { CudaExecutor } from '../engine/cuda-executor';
import type { CudaSessions, FrameResult } from '../engine/cuda-sessions';
import type { ComparedKind } from './golden';
import { TopLogits, type FrameInput, type Prefix, type Subject } from './subject';

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
  const run = (noise: Float32Array, steps: number) => sessions.frame({ ...frame, causal, noise, steps });
  const prefix = await run(new Float32Array(horizon * actionDim), 1);
  return {
    ...prefix,
    actions: async (noise, steps) =>
      steps < 1 ? null : { actions: (await run(noise, steps)).actions, v: null, x: null },
    text: textOf(sessions, prefix),
  };
}

/** Text after a prefix, in one run: the seed and what is fed are forced steps, the rest are the graph's own choice. */
export function textOf(
  sessions: CudaSessions,
  { kv, length, next }: Pick<FrameResult, 'kv' | 'length' | 'next'>,
): Prefix['text'] {
  const { vocab } = sessions.manifest.model.language;
  return async (seedIds, steps, fed = []) => {
    const forced = [...seedIds, ...fed];
    const run = await sessions.decode({
      tokens: [forced[0] ?? (next.ids[0] as number)],
      lengths: [length],
      past: { batch: 1, positions: length, ...kv },
      steps: seedIds.length + steps,
      forced: step => forced[step] ?? null,
    });
    const rows = [next, ...run.next.flat()].slice(seedIds.length);
    const tokens = rows.slice(0, Math.max(1, steps)).map(({ ids }) => ids[0] as number);
    return { tokens, logits: new TopLogits(vocab, rows) };
  };
}
