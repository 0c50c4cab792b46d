/** Words of the design (one meaning each), as types. Stamps are nanoseconds of ROS time, durations carry their unit. */

/** What an action dimension means; decides resampling and what stopping is. */
export const ACTION_KINDS = ['position', 'velocity', 'delta', 'binary'] as const;
export type ActionKind = (typeof ACTION_KINDS)[number];

/** Whether a command of this kind is motion: 0 stops it. */
export const isMotion = (kind: ActionKind): boolean => kind === 'velocity' || kind === 'delta';

/** What becomes of the steps that two chunks have in common; lerobot's names, and ACT's temporal ensemble. */
export const AGGREGATIONS = [
  'latest_only',
  'weighted_average',
  'average',
  'conservative',
  'temporal_ensemble',
] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

/** One synchronised observation, preprocessed: what crosses from the ROS process to the engine process. */
export interface Observation {
  /** Stamp of the newest part (camera or state). */
  readonly stampNs: bigint;
  /** How old it was when it was handed over; without it, nothing is known of that. */
  readonly ageMs?: number;
  readonly epoch: number;
  readonly instruction: string;
  /** [stateDim] in robot units, in the order of the robot file. */
  readonly state: Float64Array;
  /** Present camera slots, in the engine's slot order; a missing camera is left out, not masked. */
  readonly cameras: readonly string[];
  /** [cameras.length, H, W, 3] u8 RGB, resized with pad to the engine's resolution. */
  readonly images: Uint8Array;
}

/** An observation whose prompt is tokenised: what the scheduler works on. */
export interface Frame {
  /** Counts up; unique in one engine process. */
  readonly id: number;
  readonly stampNs: bigint;
  /** When it was observed, on the engine's clock; without it, when its prefill began. */
  readonly observedMs?: number;
  readonly epoch: number;
  readonly cameras: readonly string[];
  readonly images: Uint8Array;
  /** Token ids of the root prompt, begin token included. */
  readonly promptIds: readonly number[];
  /** Starting noise [H·A]; without it the executor draws the counter-based noise of the stamp. */
  readonly noise?: Float32Array;
  /** The observation's state in the model's units, not normalised: what relative actions start from. */
  readonly state?: Float64Array;
}

/** How the two tasks share the model. */
export const MODES = ['isolated', 'shared', 'oxygen'] as const;
export type Mode = (typeof MODES)[number];

/** k: decode steps between two frames. */
export type TokensPerFrame =
  | { readonly kind: 'fixed'; readonly steps: number }
  /** As many as the playing chunk leaves time for, at least `minSteps`. */
  | { readonly kind: 'auto'; readonly minSteps: number };

/** One language generation asked for. */
export interface LanguageRequest {
  readonly id: string;
  /** Token ids of the private continuation after the root prefix; may be empty. */
  readonly seedIds: readonly number[];
  readonly maxTokens: number;
  /** 0 is greedy. */
  readonly temperature: number;
  /** Draw among this many best candidates; 0: all. */
  readonly topK: number;
  /** Draw among the best candidates that together have this probability; 1: all. */
  readonly topP: number;
  /** Seed of the sampling stream; unused when greedy. */
  readonly samplingSeed: number;
  /** Higher goes first. */
  readonly priority: number;
  /** Engine-clock time after which the request ends with reason `deadline`; null is never. */
  readonly deadlineMs: number | null;
  /** False: ends `superseded` when the instruction changes. */
  readonly keepOnInstruction: boolean;
}

/**
 * A request that the scheduler asks itself, again and again, of the newest frame. Its requests are called `name/0`,
 * `name/1`, … The rest is as in LanguageRequest.
 */
export interface StandingRequest extends Omit<LanguageRequest, 'id' | 'deadlineMs'> {
  readonly name: string;
  /** Asked when a frame begins: `ended`: once the last one has ended; `frames`: of every n-th, whatever is open. */
  readonly every: { readonly kind: 'ended' } | { readonly kind: 'frames'; readonly frames: number };
  /** Milliseconds from the asking; null is none. */
  readonly deadlineInMs: number | null;
}

/** What may change between two runs. */
export interface Tunables {
  readonly tokensPerFrame: TokensPerFrame;
  /** Cap of the replan rate; 0 is no cap. */
  readonly replanRateHz: number;
  /** Time that the executed part of a chunk plays, for `auto`. */
  readonly executeMs: number;
  readonly standing: readonly StandingRequest[];
}

/** Why a request ended; announced exactly once. */
export const END_REASONS = [
  'end', // stop id
  'length', // max_tokens reached
  'deadline',
  'cancelled',
  'superseded', // instruction change, reset or clock jump
  'out_of_memory', // a decode step found none, and this was the youngest request
  'failed', // a run failed or the engine process died
  'rejected', // malformed, or can never fit
  'dropped', // pushed out of a full queue
] as const;
export type EndReason = (typeof END_REASONS)[number];

/** H action steps from one frame, in robot units. */
export interface ActionChunk {
  readonly observationStampNs: bigint;
  readonly epoch: number;
  readonly horizon: number;
  /** Action dimensions per step. */
  readonly dims: number;
  /** [horizon·dims] row-major. */
  readonly values: Float64Array;
}
