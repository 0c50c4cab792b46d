/** What core asks of the world. */
import type { Observable } from 'rxjs';
import type { Frame, LanguageRequest } from './types';

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

/** What a decode step gives, by row. */
export interface StepResult {
  readonly kv: NewKv;
  readonly next: readonly Candidates[];
}

/** A row of a decode step, as far as an executor has to know it to compute further steps without asking. */
export interface DecodeRow {
  /** The same object as long as the row's text goes on, and no other text's. */
  readonly text: object;
  readonly sampling: Pick<LanguageRequest, 'temperature' | 'topK' | 'topP' | 'samplingSeed'>;
  /** Number of the token that this step gives, from 0: the counter of its draw. */
  readonly sequence: number;
  /** Steps, this one included, until the text has its most tokens. */
  readonly left: number;
}

/** How far an executor may decode ahead of the steps that it is asked for. */
export interface Ahead {
  /** Steps, this one included, that come before the next frame whatever they take. */
  readonly steps: number;
  /** Further ones must have ended by this time. */
  readonly untilMs: number;
}

/** Model runs. Each emits one result and completes, or errors with an OxygenError. One run at a time. */
export interface Executor {
  /** Vision and root prefix. */
  prefill(frame: Frame): Observable<PrefillResult>;
  /** All Euler steps over the prefix view (batch 1, positions = prefix length) → [H·A] normalised actions. */
  denoise(frame: Frame, prefix: KvView): Observable<Float32Array>;
  /** Causal seed tokens after the prefix (batch 1, positions = prefix length). */
  seed(ids: readonly number[], past: KvView): Observable<{ readonly kv: NewKv; readonly next: Candidates }>;
  /**
   * One ragged step: row i feeds tokens[i] at position lengths[i]. `rows` and `ahead` are for executors that compute
   * several steps in a run and give them one by one, as they are asked for.
   */
  decode(
    tokens: readonly number[],
    lengths: readonly number[],
    past: KvView,
    rows?: readonly DecodeRow[],
    ahead?: Ahead,
  ): Observable<StepResult>;
  /** Whether this step is computed already, so that `decode` gives it without a run. */
  isReady?(tokens: readonly number[], lengths: readonly number[], rows: readonly DecodeRow[]): boolean;
}

/** Milliseconds of a steady clock. */
export interface Clock {
  now(): number;
}
