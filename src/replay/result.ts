/**
 * What a replay found: the summary that `--json` prints, and the series that only the report shows. Times are seconds
 * of the bag since its first message, unless a name says otherwise; with `--pace fast` all of them are virtual, so that
 * equal input gives equal bytes.
 */
import type { ActionKind, EndReason, Mode } from '../core/types';

export const PACES = ['fast', 'real'] as const;
export type Pace = (typeof PACES)[number];

export interface Quantiles {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Replayed minus recorded, in robot units; null when `count` is 0. */
export interface JointError {
  readonly name: string;
  readonly kind: ActionKind;
  readonly mae: number | null;
  readonly rmse: number | null;
  /** Largest absolute error. */
  readonly max: number | null;
  /** Commands that played a step of a chunk and had a recorded one beside them. */
  readonly count: number;
}

/** What a chunk says of a time minus what was recorded at it; a binary as it would play, one of its two limits. */
export interface HorizonError {
  /** Of the chunk, from 0. */
  readonly step: number;
  /** [actions]; null where nothing was recorded at that time. */
  readonly mae: readonly (number | null)[];
  readonly rmse: readonly (number | null)[];
  /** Chunks that had something recorded at the time of this step. */
  readonly count: number;
}

export interface Comparison {
  readonly topic: string;
  readonly type: string;
  /** Recorded messages that could be used, and those that could not, with the reason of the first. */
  readonly used: number;
  readonly refused: number;
  readonly refusal: string;
  readonly joints: readonly JointError[];
  readonly horizon: readonly HorizonError[];
}

export interface ReplaySummary {
  readonly bag: {
    readonly name: string;
    readonly storage: string;
    readonly duration_s: number;
    /** Played: from and to. */
    readonly from_s: number;
    readonly to_s: number;
    readonly messages: number;
  };
  readonly settings: {
    readonly engine: string;
    readonly precision: string;
    readonly provider: string;
    readonly robot: string;
    readonly pace: Pace;
    readonly mode: Mode;
    readonly tokens_per_frame: number | 'auto';
    /** 64 bits, as text. */
    readonly seed: string;
    readonly denoise_steps: number;
    readonly threads: number;
    /** Where the stage times come from; null with `--pace real`. */
    readonly cost: string | null;
    /** The command line that gives the same again, without engine, robot and results; of files the names only. */
    readonly options: readonly string[];
  };
  /** True: damage in the bag; all that was whole was played. */
  readonly partial: boolean;
  readonly faults: readonly { readonly code: string; readonly message: string }[];
  /** What is not in the bag and could be, or was not used, for people. */
  readonly notes: readonly string[];
  readonly frames: number;
  readonly chunks: number;
  /** Commands on `action`, and the share of them that played a step of a chunk. */
  readonly actions: number;
  readonly fresh_ratio: number;
  readonly tokens: number;
  readonly requests: {
    readonly finished: number;
    readonly by_reason: Readonly<Partial<Record<EndReason, number>>>;
    /** Still open when the bag ended. */
    readonly open: number;
  };
  /** Count by error code. */
  readonly drops: Readonly<Record<string, number>>;
  readonly rates: {
    /** Between the first and the last command. */
    readonly action_hz: number;
    /** Per second of what was played. */
    readonly replan_hz: number;
    readonly tokens_per_s: number;
    /** Rows of a decode step: the mean of all steps, and the most. */
    readonly batch_mean: number;
    readonly batch_max: number;
    /** Decode steps per frame: the k that was reached. */
    readonly tokens_per_frame_mean: number;
  };
  /** ms; null when there was none. */
  readonly latency: {
    /** From the stamp of an observation to its chunk. */
    readonly chunk_ms: Quantiles | null;
    /** From a request to its first token, and (of those that were not cut short) to its end. */
    readonly first_token_ms: Quantiles | null;
    readonly request_ms: Quantiles | null;
  };
  /** Null: the bag has no recorded actions, or was not asked for them. */
  readonly comparison: Comparison | null;
}

/** Of one action, at most a few thousand points; null where there was nothing. */
export interface ActionSeries {
  readonly name: string;
  readonly kind: ActionKind;
  /** Limits of the robot file. */
  readonly min: number;
  readonly max: number;
  readonly t: readonly number[];
  readonly replayed: readonly (number | null)[];
  readonly recorded: readonly (number | null)[];
}

export interface TextEvent {
  readonly id: string;
  /** Name of the standing request; null: from outside. */
  readonly standing: string | null;
  /** What was asked. */
  readonly seed: string;
  readonly text: string;
  /** First token and end; the end is null when it was still open. */
  readonly from_s: number;
  readonly to_s: number | null;
  readonly reason: EndReason | null;
  readonly tokens: number;
}

export interface Thumbnail {
  readonly t: number;
  readonly camera: string;
  /** Width and height of the picture. */
  readonly width: number;
  readonly height: number;
  /** data: URL of a JPEG of what the model saw. */
  readonly url: string;
  readonly instruction: string;
  readonly caption: string;
}

export interface ReplaySeries {
  readonly actions: readonly ActionSeries[];
  /** Instructions as they came, the first 500. */
  readonly instructions: readonly { readonly t: number; readonly text: string }[];
  readonly texts: readonly TextEvent[];
  /** Texts that are not in `texts`, because there were too many: those after the first 500. */
  readonly more_texts: number;
  readonly thumbnails: readonly Thumbnail[];
  /**
   * Per bucket of `every_s` from `t`; the last one reaches to the end of what was played. `batch` is as in
   * batch_mean; `drops`: their number.
   */
  readonly rates: {
    readonly every_s: number;
    readonly t: readonly number[];
    readonly replan_hz: readonly number[];
    readonly tokens_per_s: readonly number[];
    readonly batch: readonly number[];
    readonly drops: readonly number[];
  };
  /** Equal bins from `from_ms`; the last one holds all that is longer. */
  readonly latency: {
    readonly chunk_ms: Histogram;
    readonly first_token_ms: Histogram;
    readonly request_ms: Histogram;
  };
}

export interface Histogram {
  readonly from_ms: number;
  readonly bin_ms: number;
  readonly counts: readonly number[];
}

export interface ReplayResult {
  readonly summary: ReplaySummary;
  readonly series: ReplaySeries;
}
