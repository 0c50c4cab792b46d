/** What verify asks of an engine, whatever its graphs are. */
import type { Candidates, Executor, NewKv } from '../core/ports';
import type { RunCosts } from '../core/run-costs';
import type { Frame } from '../core/types';
import type { ExecutorOptions } from '../engine/onnx-executor';
import type { Manifest } from '../model/manifest';
import type { ComparedKind } from './golden';
import { distance, type Distance } from './limits';

/** Positions per row after the prefix: room for the longest continuation of a golden folder. */
export const SPARE_POSITIONS = 64;

/** Logits of which the graphs give the best only: by position. */
export class TopLogits {
  readonly #vocab: number;
  readonly #rows: readonly Candidates[];

  constructor(vocab: number, rows: readonly Candidates[]) {
    this.#vocab = vocab;
    this.#rows = rows;
  }

  /** Of the full logits. */
  get length(): number {
    return this.#rows.length * this.#vocab;
  }

  /** What full logits [positions, vocab] have where these are known, and these. */
  beside(full: ArrayLike<number>): { readonly full: Float64Array; readonly top: Float64Array } {
    const rows = this.#rows.slice(0, full.length / this.#vocab);
    const at = rows.flatMap(({ ids }, row) => ids.map(id => row * this.#vocab + id));
    return {
      full: Float64Array.from(at, i => full[i] ?? NaN),
      top: Float64Array.from(rows.flatMap(({ logits }) => [...logits])),
    };
  }
}

/** Numbers of an engine, flat. */
export type Numbers = ArrayLike<number> | TopLogits;

/** Of the numbers that both have. */
export function distanceOf(want: ArrayLike<number>, got: Numbers): Distance {
  if (!(got instanceof TopLogits)) return distance(want, got);
  const { full, top } = got.beside(want);
  return distance(full, top);
}

/** Greedy text: the best token of each step, and the logits [steps + 1, vocab] before the first and after each one. */
export interface Generated {
  readonly tokens: readonly number[];
  readonly logits: Float32Array | TopLogits;
}

/** Of one chunk; v_t and x_t of all steps where the graphs give them. */
export interface Chunk {
  readonly actions: Float32Array;
  readonly v: Float32Array | null;
  readonly x: Float32Array | null;
}

/** A frame whose prefix was computed. */
export interface Prefix {
  readonly kv: NewKv;
  readonly length: number;
  /** Null for a number of Euler steps that the graphs cannot take. */
  actions(noise: Float32Array, steps: number): Promise<Chunk | null>;
  /**
   * Greedy tokens after the prefix and a causal seed, which may be empty. Where `fed` has a token, it is fed instead of
   * the best one: a rounded engine is compared step by step.
   */
  text(seedIds: readonly number[], steps: number, fed?: readonly number[]): Promise<Generated>;
}

export type FrameInput = Pick<Frame, 'cameras' | 'images' | 'promptIds'>;

export interface Subject {
  readonly manifest: Manifest;
  /** What these graphs do not give, and why. */
  readonly notGiven: ReadonlyMap<ComparedKind, string>;
  /** Of pictures [n,H,W,3] → [n·tokens·width]; null: see notGiven. */
  imageTokens(images: Uint8Array): Promise<Float32Array | null>;
  /** [ids·width]; null: see notGiven. */
  promptEmbedding(ids: readonly number[]): Float32Array | null;
  prefix(frame: FrameInput, causal: boolean): Promise<Prefix>;
  executor(options: ExecutorOptions, costs: RunCosts): Executor;
}
