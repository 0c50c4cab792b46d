/** How near the model's runs come to what the machine can do: arithmetic and bytes counted from the engine's sizes. */
import { sum } from '../core/statistics';
import type { ModelConfig } from '../model/config';
import type { Manifest } from '../model/manifest';
import type { Roofline } from './result';

type Sizes = Pick<Manifest, 'model' | 'precision'>;

/** What the machine can do, as ONNX Runtime does it. */
export interface Peaks {
  readonly threads: number;
  /** 10⁹ multiplications and additions per second in the engine's own precision. */
  readonly gemm_gflops: number;
  /** The product that reached it, e.g. `560×512×4096`. */
  readonly gemm_shape: string;
  /** 10⁹ bytes read from memory per second. */
  readonly bandwidth_gb_s: number;
  /** The pattern that reached it. */
  readonly bandwidth_pattern: string;
}

/** Median times of the language graph in the same run. */
export interface LanguageRuns {
  readonly prefill: {
    /** Positions of the prefix. */
    readonly tokens: number;
    /** Without vision. */
    readonly ms: number;
    /** Spent in matrix products; null: not measured. */
    readonly gemmMs: number | null;
  };
  readonly decode: {
    readonly batch: number;
    /** Positions of the past that each row reads. */
    readonly positions: number;
    readonly ms: number;
  };
}

/** Factors of a product: rows × into × out. */
export interface Product {
  readonly rows: number;
  readonly into: number;
  readonly out: number;
}

const flopOf = ({ rows, into, out }: Product): number => 2 * rows * into * out;

/** The weights of one language layer, as the graph multiplies with them. */
function layerWeights({ language: l }: ModelConfig): Record<'q' | 'kv' | 'o' | 'gateUp' | 'down', number[]> {
  const attended = l.heads * l.headDim;
  return {
    q: [l.width, attended],
    kv: [l.width, 2 * l.headDim],
    o: [attended, l.width],
    gateUp: [l.width, 2 * l.mlp],
    down: [l.mlp, l.width],
  };
}

/** Products with weights in one full layer of a prefill; queries, keys and values are one product. */
export function layerProducts(model: ModelConfig, rows: number): Product[] {
  const { width, heads, headDim } = model.language;
  const { o, gateUp, down } = layerWeights(model);
  return [[width, (heads + 2) * headDim], o, gateUp, down].map(([into = 0, out = 0]) => ({
    rows,
    into,
    out,
  }));
}

/** Scores and weighted values of all heads: `rows` queries that see `keys` positions. */
const attentionFlop = ({ language: l }: ModelConfig, rows: number, keys: number): number =>
  2 * flopOf({ rows: rows * l.heads, into: l.headDim, out: keys });

const headFlop = ({ language: l }: ModelConfig, rows: number): number =>
  flopOf({ rows, into: l.width, out: l.vocab });

/**
 * Arithmetic of the products of a prefill of `tokens` positions: weights and attention, without vision. Of the last layer
 * all positions give keys and values, one row the rest.
 */
export function prefillFlop(model: ModelConfig, tokens: number): number {
  const { layers } = model.language;
  const full = sum(layerProducts(model, tokens).map(flopOf)) + attentionFlop(model, tokens, tokens);
  const { kv, ...rest } = layerWeights(model);
  const last = (weight: readonly number[], rows: number) =>
    flopOf({ rows, into: weight[0] ?? 0, out: weight[1] ?? 0 });
  return (
    (layers - 1) * full +
    last(kv, tokens) +
    sum(Object.values(rest).map(weight => last(weight, 1))) +
    attentionFlop(model, 1, tokens) +
    headFlop(model, 1)
  );
}

/** Arithmetic of one decode step of `batch` rows that each see `positions` earlier ones. */
export function decodeFlop(model: ModelConfig, batch: number, positions: number): number {
  const layer = sum(layerProducts(model, batch).map(flopOf)) + attentionFlop(model, batch, positions + 1);
  return model.language.layers * layer + headFlop(model, batch);
}

/** Bytes of the weights that every run of the language graph reads. */
export function weightBytes({ model, precision }: Sizes): number {
  const { layers, width, vocab } = model.language;
  const products = [...Array.from({ length: layers }, () => layerProducts(model, 1)).flat()];
  products.push({ rows: 1, into: width, out: vocab });
  const norms = 4 * width * (2 * layers + 1);
  // an int8 weight has one scale per output
  const bytes = ({ into, out }: Product) => (precision === 'int8' ? into * out + 4 * out : 4 * into * out);
  return norms + sum(products.map(bytes));
}

/** Bytes of keys and values of `batch` rows of `positions`; they are float32 in every precision. */
export const kvBytes = ({ language: l }: ModelConfig, batch: number, positions: number): number =>
  batch * positions * 2 * l.layers * l.headDim * 4;

/** Sets measured times against measured peaks. Shares are of 1. */
export function roofline(sizes: Sizes, peaks: Peaks, runs: LanguageRuns): Roofline {
  const { model } = sizes;
  const { prefill, decode } = runs;
  const gflop = prefillFlop(model, prefill.tokens) / 1e9;
  const rate = (ms: number) => gflop / (ms / 1000);
  const decodeMb = (weightBytes(sizes) + kvBytes(model, decode.batch, decode.positions)) / 1e6;
  const gbPerS = decodeMb / decode.ms;
  return {
    threads: peaks.threads,
    gemm_gflops: peaks.gemm_gflops,
    bandwidth_gb_s: peaks.bandwidth_gb_s,
    prefill: {
      gflop,
      mb: (weightBytes(sizes) + kvBytes(model, 1, prefill.tokens)) / 1e6,
      ms: prefill.ms,
      gflops: rate(prefill.ms),
      share: rate(prefill.ms) / peaks.gemm_gflops,
      gemm_ms: prefill.gemmMs,
      gemm_share: prefill.gemmMs === null ? null : rate(prefill.gemmMs) / peaks.gemm_gflops,
    },
    decode: {
      gflop: decodeFlop(model, decode.batch, decode.positions) / 1e9,
      mb: decodeMb,
      ms: decode.ms,
      gb_s: gbPerS,
      share: gbPerS / peaks.bandwidth_gb_s,
    },
  };
}
