/** What graphs of several targets give, out of their tensors. */
import type * as ort from 'onnxruntime-node';
import type { Candidates, NewKv } from '../core/ports';
import { floats } from './session-run';

type Outputs = ort.InferenceSession.ReturnType;

/** Names of the new keys and values. */
export const kvNames = (layers: number): string[] =>
  Array.from({ length: layers }, (_, i) => [`new_k_${i}`, `new_v_${i}`]).flat();

export const newKv = (out: Outputs, layers: number): NewKv => {
  const all = (name: string) => Array.from({ length: layers }, (_, i) => floats(out[`${name}_${i}`]));
  return { k: all('new_k'), v: all('new_v') };
};

export const CANDIDATE_NAMES = ['top_logits', 'top_ids', 'log_sum_exp'] as const;

/** Row by row: `top_logits` and `top_ids` [rows, topK], `log_sum_exp` [rows], whatever the dimensions before are called. */
export function candidates(out: Outputs, rows: number, topK: number): Candidates[] {
  const ids = out['top_ids']?.data as BigInt64Array | Int32Array;
  const logits = floats(out['top_logits']);
  const sums = floats(out['log_sum_exp']);
  return Array.from({ length: rows }, (_, row) => ({
    ids: Array.from<bigint | number, number>(ids.subarray(row * topK, (row + 1) * topK), Number),
    logits: logits.subarray(row * topK, (row + 1) * topK),
    logSumExp: sums[row] as number,
  }));
}
