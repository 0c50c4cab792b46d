/** What core asks of the world. */
import type { Observable } from 'rxjs';
import type { Frame } from './types';

/** Read-only views of cache rows, per layer [batch, positions, headDim]; valid only until the cache next changes. */
export interface KvView {
  readonly batch: number;
  /** Positions per row in the views, at least every row's length. */
  readonly positions: number;
  readonly k: readonly Float32Array[];
  readonly v: readonly Float32Array[];
}

/** Keys and values that a run made, per layer [B, T, headDim]. */
export interface NewKv {
  readonly k: readonly Float32Array[];
  readonly v: readonly Float32Array[];
}

/** The best next tokens of one position, best first. */
export interface Candidates {
  readonly ids: readonly number[];
  readonly logits: Float32Array;
  /** Of all logits, so that probabilities are exact. */
  readonly logSumExp: number;
}

export interface PrefillResult {
  readonly kv: NewKv;
  /** Tokens of the root prefix. */
  readonly length: number;
  /** Of the last prefix position. */
  readonly next: Candidates;
}

/** Model runs. Each emits one result and completes, or errors with an OxygenError. One run at a time. */
export interface Executor {
  /** Vision and root prefix. */
  prefill(frame: Frame): Observable<PrefillResult>;
  /** All Euler steps over the prefix view (batch 1, positions = prefix length) → [H·A] normalised actions. */
  denoise(frame: Frame, prefix: KvView): Observable<Float32Array>;
  /** Causal seed tokens after the prefix (batch 1, positions = prefix length). */
  seed(ids: readonly number[], past: KvView): Observable<{ readonly kv: NewKv; readonly next: Candidates }>;
  /** One ragged step: row i feeds tokens[i] at position lengths[i]. */
  decode(
    tokens: readonly number[],
    lengths: readonly number[],
    past: KvView,
  ): Observable<{ readonly kv: NewKv; readonly next: readonly Candidates[] }>;
}

/** Milliseconds of a steady clock. */
export interface Clock {
  now(): number;
}
