/**
 * What `oxygen bench` measures: the JSON file, and what the report draws. Names are those of the file, so they carry
 * their unit. Milliseconds are medians unless said otherwise, MB are 10^6 bytes, every number is finite.
 */
import type { Mode } from '../core/types';

/** `parallel`: two engine processes with a model each, one for actions and one for language, half the threads each. */
export type BenchMode = Mode | 'parallel';

/** The order of tables and figures. */
export const BENCH_MODES = [
  'isolated',
  'parallel',
  'shared',
  'oxygen',
] as const satisfies readonly BenchMode[];

/** Of the repeats' medians. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** Where a mode's memory goes at its peak. */
export interface MemoryFigures {
  /** Program and libraries before an engine is loaded. */
  readonly base_mb: number;
  /** Resident pages of the engine's files; those that two processes of the mode share count once. */
  readonly weights_mb: number;
  /** The same if the processes did not share them; `weights_mb` with one process. */
  readonly weights_private_mb: number;
  /** The KV cache, allocated whole at start. */
  readonly kv_mb: number;
  /** The rest of the peak: activations, arenas, tensors on the heap, what ONNX Runtime copies for itself. */
  readonly activations_mb: number;
}

/** One mode measured. A block is one repeat of a mode; blocks of different modes take turns. */
export interface ModeFigures {
  /** Counted frames of all repeats together. */
  readonly frames: number;
  readonly repeats: number;
  /** From the start of a frame to the start of the next; the median of the repeats' medians. */
  readonly frame_ms_median: number;
  /** Over all counted frames. */
  readonly frame_ms_p95: number;
  readonly frame_ms_spread: Spread;
  /** As the paper defines it: actions per chunk / median frame time. */
  readonly action_hz: number;
  /** Chunks per second. */
  readonly replan_hz: number;
  /** Of all requests together. */
  readonly tokens_per_s: number;
  /** Rows per decode step; 0 when nothing was decoded. */
  readonly batch_mean: number;
  readonly batch_max: number;
  /** Frame time outside of model runs: policy, cache, waiting for the event loop. */
  readonly manager_ms_median: number;
  /** Of the frame time, 0 to 1; the median over frames. */
  readonly manager_share: number;
  /** From the start of a frame to its chunk. */
  readonly first_action_ms_median: number;
  /** From the arrival of a request to its first token. */
  readonly first_token_ms_median: number;
  /** From the arrival of a request to its last token. */
  readonly request_latency_ms_median: number;
  readonly request_latency_ms_p95: number;
  /** Requests that arrived with counted frames. */
  readonly requests: number;
  /**
   * Peak of the proportional set size summed over the mode's processes, as if it ran alone: pages that they share with
   * each other count once, pages that idle processes of other modes also map count whole. null: /proc does not tell.
   */
  readonly peak_pss_mb: number | null;
  readonly memory: MemoryFigures | null;
  /** CPU time of the mode's processes. */
  readonly cpu_s_per_request: number;
  /** Of the whole machine's processors; null: the machine does not tell. */
  readonly energy_j_per_request: number | null;
  /** Over ids and token ids of `requests`; equal in all modes unless texts part. */
  readonly text_hash: string;
  /** Requests whose text parts from the reference mode's (isolated, or the first measured) at a top-2 margin below 1e-4. */
  readonly near_ties: number;
  /** The same at a larger margin. */
  readonly differing: number;
  /** Over the chunks of all counted frames, bit by bit. */
  readonly chunk_hash: string;
  /** Largest distance of an action to the reference mode's, in normalised units. */
  readonly chunk_max_difference: number;
}

/** One point of the sweep: few frames, one block. */
export interface SweepPoint extends Pick<
  ModeFigures,
  | 'frame_ms_median'
  | 'frame_ms_p95'
  | 'action_hz'
  | 'replan_hz'
  | 'tokens_per_s'
  | 'batch_mean'
  | 'first_action_ms_median'
  | 'request_latency_ms_median'
  | 'manager_ms_median'
> {
  readonly mode: BenchMode;
  /** N: longest request. */
  readonly tokens: number;
  /** k; without meaning outside of `oxygen`. */
  readonly tokens_per_frame: number | 'auto';
  /** S */
  readonly denoise_steps: number;
  /** As on the command line, e.g. `uniform:1`. */
  readonly arrivals: string;
}

/** Single runs in ms, measured apart from the modes and between their blocks. */
export interface Parts {
  readonly vision: number;
  /** Without vision. */
  readonly prefill: number;
  /** All steps. */
  readonly denoise: number;
  readonly denoise_step: number;
  /** A seed of 8 tokens. */
  readonly seed: number;
  /** Rows → one decode step: 1, 4, 8 and ceil(N / k). */
  readonly decode: Readonly<Record<string, number>>;
  /** Start of a frame to its chunk when no request was ever made. */
  readonly frame_without_language: number;
  /** 2 x (vision + prefill) + denoise + N x decode(1): what `isolated` has to cost. */
  readonly isolated_expected: number;
}

/** What the machine can do, measured in the same run, and which share of it the model's runs reach. */
export interface Roofline {
  readonly threads: number;
  /** Best rate of one large matrix product in the engine's arithmetic (10^9 operations per second, 2 per multiply-add). */
  readonly gemm_gflops: number;
  /** Best rate of reading memory. */
  readonly bandwidth_gb_s: number;
  /** Vision left out. */
  readonly prefill: {
    readonly gflop: number;
    /** Read and written at least: weights once, new keys and values. */
    readonly mb: number;
    readonly ms: number;
    readonly gflops: number;
    /** Of `gemm_gflops`, 0 to 1. */
    readonly share: number;
    /** The matrix products alone, which are all of `gflop`; null: their time was not measured. */
    readonly gemm_ms: number | null;
    readonly gemm_share: number | null;
  };
  /** One row. */
  readonly decode: {
    readonly gflop: number;
    /** Weights and KV read per step. */
    readonly mb: number;
    readonly ms: number;
    readonly gb_s: number;
    /** Of `bandwidth_gb_s`. */
    readonly share: number;
  };
}

export interface BenchResult {
  readonly engine: { readonly name: string; readonly precision: string; readonly parameters: number };
  readonly machine: {
    readonly cpu: string;
    readonly cores: number;
    readonly node: string;
    readonly onnxruntime: string;
  };
  readonly threads: number;
  readonly settings: {
    /** N */
    readonly tokens: number;
    /** k */
    readonly tokens_per_frame: number | 'auto';
    /** S */
    readonly denoise_steps: number;
    /** Counted frames per mode, all repeats together. */
    readonly frames: number;
    /** Frames before each block that are not counted. */
    readonly warm_up: number;
    readonly repeats: number;
    readonly arrivals: string;
    readonly seed: number;
    /** How long threads waited awake for the next operator, in microseconds. */
    readonly spin_us: number;
    /** Actions per chunk. */
    readonly horizon: number;
    /** Of the default frame, in tokens. */
    readonly prefix: number;
  };
  readonly modes: Partial<Readonly<Record<BenchMode, ModeFigures>>>;
  readonly parts_ms: Parts;
  readonly roofline: Roofline;
  readonly sweep: readonly SweepPoint[];
  /** What a reader should know: points left out, figures that the machine does not give, unsteady repeats. */
  readonly notes: readonly string[];
}

export interface Measured {
  readonly mode: BenchMode;
  readonly figures: ModeFigures;
}

/** Those that took part, in the order of BENCH_MODES. */
export const measuredModes = (r: BenchResult): Measured[] =>
  BENCH_MODES.flatMap(mode => {
    const figures = r.modes[mode];
    return figures ? [{ mode, figures }] : [];
  });
