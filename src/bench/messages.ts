/** Between the bench and its processes (`child_process.fork`, serialization 'advanced'). One order at a time. */
import type { ErrorCode } from '../core/errors';
import type { Pool } from '../engine/session-options';
import type { BlockResult } from './block';
import type { RunSamples } from '../engine/measure';
import type { Peaks } from './roofline';
import type { Block } from './workload';

export interface LoadOrder extends Pool {
  readonly type: 'load';
  readonly engineDir: string;
  readonly seed: number;
}

/** What a process is told to do; `Replies` says what comes back. */
export type Order =
  | LoadOrder
  | { readonly type: 'block'; readonly block: Block }
  | { readonly type: 'parts'; readonly block: Block }
  /** `tokens`: positions of a prefill. */
  | { readonly type: 'peaks'; readonly tokens: number };

export interface Replies {
  readonly load: { readonly onnxruntime: string };
  readonly block: BlockResult;
  readonly parts: RunSamples;
  readonly peaks: { readonly peaks: Peaks; readonly gemmMs: number };
}

export type ToChild =
  | Order
  /** Lets the next frame of a paced block start. */
  | { readonly type: 'go' }
  | { readonly type: 'stop' };

export type FromChild =
  | { readonly type: 'started' }
  /** A frame of the block is about to start; a paced one waits for `go`. */
  | { readonly type: 'frame' }
  | { readonly type: 'reply'; readonly value: Replies[keyof Replies] }
  | { readonly type: 'failed'; readonly code: ErrorCode; readonly message: string };
