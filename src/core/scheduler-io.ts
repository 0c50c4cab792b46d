/** What goes into the scheduler and what comes out of it. */
import type { OxygenError } from './errors';
import type { EndReason, Frame, LanguageRequest, Mode, Tunables } from './types';

export type SchedulerInput =
  | { readonly type: 'frame'; readonly frame: Frame }
  /** The frame asked for could not be had; the credit is free again. */
  | { readonly type: 'frame-lost' }
  /** Nothing newer than the last frame; a frame will follow. */
  | { readonly type: 'no-frame' }
  | { readonly type: 'request'; readonly request: LanguageRequest }
  | { readonly type: 'cancel'; readonly id: string }
  | { readonly type: 'epoch'; readonly epoch: number; readonly endAll: boolean }
  | { readonly type: 'tunables'; readonly tunables: Tunables };

export type SchedulerEvent =
  | { readonly type: 'ask' }
  | { readonly type: 'chunk'; readonly frame: Frame; readonly actions: Float32Array }
  | {
      readonly type: 'token';
      readonly id: string;
      readonly sequence: number;
      readonly tokenId: number;
      /** Logit of the best candidate minus that of the second; Infinity when there is one only. */
      readonly margin: number;
      readonly frameStampNs: bigint;
    }
  | {
      readonly type: 'done';
      readonly id: string;
      /** Tokens that were announced. */
      readonly sequence: number;
      readonly reason: EndReason;
      readonly frameStampNs: bigint;
      readonly error: OxygenError | null;
      /** Since the request was queued; null when no token came. */
      readonly firstTokenMs: number | null;
      /** Since the request was queued. */
      readonly totalMs: number;
    }
  /** All that happened since the previous prefill. */
  | {
      readonly type: 'frame-end';
      readonly frame: Frame;
      readonly decodeSteps: number;
      readonly tokens: number;
      /** Rows of the largest decode step. */
      readonly batch: number;
      /** Sum over the decode steps of their rows. */
      readonly rowSteps: number;
    }
  /** Memory ran out again and again: language requests are refused until a reset; actions go on. */
  | { readonly type: 'language-off'; readonly error: OxygenError }
  | { readonly type: 'drop'; readonly error: OxygenError };

export interface SchedulerOptions {
  readonly mode: Mode;
  readonly tunables: Tunables;
  readonly maxQueue: number;
  /** Longest root prefix of this deployment; with it a request that can never fit is known at once. */
  readonly maxPrefixLength: number;
  readonly stopIds: readonly number[];
  /** Waiting time worth one step of priority; 0: none. */
  readonly ageingMs: number;
}
