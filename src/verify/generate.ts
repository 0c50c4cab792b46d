/** Greedy text by single steps, which give all logits. */
import type { KvCache } from '../core/kv-cache';
import type { Candidates, KvView, NewKv } from '../core/ports';
import { firstOf } from '../engine/onnx-executor';
import { join } from './join';
import type { Generated } from './subject';

/** What comes after some tokens: the best ones and all logits [vocab]. */
interface After {
  readonly next: readonly Candidates[];
  readonly logits: Float32Array | null;
}

/** Runs of the language model over one row. */
export interface Steps {
  seed(ids: readonly number[], past: KvView): Promise<After & { readonly kv: NewKv }>;
  decode(token: number, length: number, past: KvView): Promise<After & { readonly kv: NewKv }>;
}

/**
 * Greedy tokens after the cache's prefix and a causal seed, which may be empty. Where `fed` has a token, it is fed instead
 * of the best one.
 */
export async function generate(
  run: Steps,
  cache: KvCache,
  prefix: After,
  seedIds: readonly number[],
  steps: number,
  fed: readonly number[],
): Promise<Generated> {
  const id = 'text';
  cache.attach(id, cache.shape.capacity);
  let given = prefix;
  if (seedIds.length > 0) {
    const seed = await run.seed(seedIds, cache.rowView(id));
    cache.append(id, seed.kv, 0, seedIds.length);
    given = seed;
  }
  const tokens = [firstOf(given.next).ids[0] as number];
  const logits = [given.logits as Float32Array];
  for (let s = 0; s < steps; s++) {
    const past = cache.batchView();
    const step = await run.decode(fed[s] ?? (tokens[s] as number), past.positions, past);
    cache.append(id, step.kv, 0, 1);
    logits.push(step.logits as Float32Array);
    if (tokens.length < steps) tokens.push(firstOf(step.next).ids[0] as number);
  }
  cache.release(id);
  return { tokens, logits: join(logits) };
}
