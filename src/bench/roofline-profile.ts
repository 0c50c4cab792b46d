/** Time that a prefill spends in matrix products, by ONNX Runtime's profiler. */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import { z } from 'zod';
import { OxygenError } from '../core/errors';
import { sessionOptions, type Pool } from '../engine/session-options';

const RUNS = 5;
const PRODUCTS = new Set(['MatMul', 'FusedMatMul', 'MatMulInteger', 'Gemm']);

const eventSchema = z.object({
  cat: z.string(),
  name: z.string(),
  /** Microseconds. */
  ts: z.number(),
  dur: z.number(),
  args: z.object({ op_name: z.string().optional() }).optional(),
});
export type ProfileEvent = z.infer<typeof eventSchema>;

/**
 * Shortest time in ms that one of some prefills of `tokens` positions spends in products; the engine in `dir` is loaded
 * once more for it. Throws ENGINE_INVALID when the language graph has other inputs than a prefill feeds.
 */
export async function measurePrefillProducts(dir: string, tokens: number, pool: Pool): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'oxygen-profile-'));
  try {
    const session = await ort.InferenceSession.create(join(dir, 'language.onnx'), {
      ...sessionOptions(pool),
      enableProfiling: true,
      profileFilePrefix: join(folder, 'prefill'),
    });
    try {
      const feeds = Object.fromEntries(session.inputMetadata.map(input => [input.name, feed(input, tokens)]));
      // what a prefill fetches: keys, values and candidates
      const fetches = session.outputNames.filter(name => /^(new_[kv]_\d+|top_\w+|log_sum_exp)$/.test(name));
      for (let i = 0; i <= RUNS; i++) await session.run(feeds, fetches);
      session.endProfiling();
    } finally {
      await session.release();
    }
    const [file = ''] = readdirSync(folder);
    const events: unknown = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    return Math.min(...productMs(z.array(eventSchema.loose()).parse(events)).slice(1));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Milliseconds in products of each run. */
export function productMs(events: readonly ProfileEvent[]): number[] {
  const runs = events.filter(e => e.cat === 'Session' && e.name === 'model_run');
  const products = events.filter(e => e.cat === 'Node' && PRODUCTS.has(e.args?.op_name ?? ''));
  return runs.map(run =>
    products
      .filter(e => e.name.endsWith('_kernel_time') && e.ts >= run.ts && e.ts < run.ts + run.dur)
      .reduce((ms, e) => ms + e.dur / 1000, 0),
  );
}

/** Sizes of the symbolic dimensions in a prefill: one row, no past, one wanted position. */
const sizeOf: Readonly<Record<string, (tokens: number) => number>> = {
  B: () => 1,
  T: tokens => tokens,
  S: () => 0,
  R: () => 1,
  // the mask: the same for all tokens, over all keys
  M: () => 1,
  'S+T': tokens => tokens,
};

/** Only shapes matter for the time; zeros would be a special case of none of the products. */
function feed(input: ort.InferenceSession.ValueMetadata, tokens: number): ort.Tensor {
  if (!input.isTensor)
    throw new OxygenError('ENGINE_INVALID', `language.onnx: input ${input.name} is no tensor`);
  const dims = input.shape.map(dim => {
    const size = typeof dim === 'number' ? dim : sizeOf[dim]?.(tokens);
    if (size === undefined) throw new OxygenError('ENGINE_INVALID', `language.onnx: input ${input.name} has an unknown dimension ${dim}`);
    return size;
  }); // prettier-ignore
  const count = dims.reduce((a, b) => a * b, 1);
  switch (input.type) {
    case 'float32':
      return new ort.Tensor('float32', new Float32Array(count).fill(0.5), dims);
    case 'int64':
      return new ort.Tensor('int64', new BigInt64Array(count), dims);
    default:
      throw new OxygenError('ENGINE_INVALID', `language.onnx: input ${input.name} is of type ${input.type}`);
  }
}
