/** What a block of frames consists of, the same in every mode: pictures, prompts and language requests by number. */
import { fold } from '../core/noise';
import type { Frame, Mode, TokensPerFrame } from '../core/types';
import type { ModelConfig } from '../model/config';
import { arrivalsAt, backlog, peakRows, type Arrivals } from './arrivals';

/** One block of one mode. */
export interface Block {
  readonly mode: Mode;
  /** N */
  readonly tokens: number;
  readonly tokensPerFrame: TokensPerFrame;
  /** S; 0 leaves the noise as it is: a process that is there for language only. */
  readonly denoiseSteps: number;
  readonly arrivals: Arrivals;
  readonly seed: number;
  /** Number of the first counted frame. */
  readonly first: number;
  readonly warmUp: number;
  /** Counted frames. */
  readonly frames: number;
  /** Time that the executed part of a chunk plays, for `auto`. */
  readonly executeMs: number;
  /** Each frame waits for the parent's word. */
  readonly paced: boolean;
}

/** A request of a frame. */
export interface Asked {
  readonly id: string;
  readonly tokens: number;
}

/** Rows of `oxygen` with `auto`, whose batch nobody knows beforehand; further requests wait in the queue. */
const AUTO_ROWS = 32;

/**
 * The requests that come with frame `first + index`; warm-up frames have a negative index. The first frame also brings
 * what earlier ones would have left over, so that the batch is steady at once.
 */
export function requestsOf(b: Block, index: number): Asked[] {
  const frame = b.first + index;
  const fresh = arrivalsAt(b.arrivals, frame, b.tokens, b.seed).map((tokens, i) => ({
    id: `${frame}.${i}`,
    tokens,
  }));
  if (index !== -b.warmUp || b.mode !== 'oxygen' || b.tokensPerFrame.kind !== 'fixed') return fresh;
  const left = backlog(b.arrivals, frame, b.tokens, b.tokensPerFrame.steps, b.seed);
  return [...left.map((tokens, i) => ({ id: `before.${i}`, tokens })), ...fresh];
}

/** Cache rows that a block needs: `isolated` and `shared` decode one request at a time. */
export function rowsOf(b: Block): number {
  if (b.mode !== 'oxygen' || b.arrivals.kind === 'none') return 1;
  const { tokensPerFrame: k, warmUp } = b;
  const steps = k.kind === 'fixed' ? k.steps : k.minSteps;
  const rows = peakRows(b.arrivals, b.first - warmUp, warmUp + b.frames, b.tokens, steps, b.seed);
  return k.kind === 'fixed' ? rows : Math.min(rows, AUTO_ROWS);
}

/** Pictures cost time to make, so frames take turns with this many. */
const PICTURES = 4;

/** Frames by number: pseudo-random pictures, a prompt of the longest length, noise by the number as stamp. */
export class Frames {
  readonly #model: ModelConfig;
  readonly #seed: number;
  readonly #pictures: readonly Uint8Array[];

  constructor(model: ModelConfig, seed: number) {
    const { imageHeight, imageWidth } = model.vision;
    const bytes = model.cameraSlots.length * imageHeight * imageWidth * 3;
    this.#model = model;
    this.#seed = seed;
    this.#pictures = Array.from({ length: PICTURES }, (_, p) => {
      const key = fold(fold(1, seed), p);
      const picture = new Uint8Array(bytes);
      for (let i = 0; i < bytes; i++) picture[i] = fold(key, i) & 0xff;
      return picture;
    });
  }

  at(frame: number): Frame {
    const { cameraSlots, maxPromptTokens, language } = this.#model;
    const key = fold(fold(2, this.#seed), frame);
    return {
      id: frame,
      stampNs: BigInt(frame),
      epoch: 0,
      cameras: cameraSlots,
      images: this.#pictures[frame % PICTURES] as Uint8Array,
      promptIds: Array.from({ length: maxPromptTokens }, (_, i) => fold(key, i) % language.vocab),
    };
  }
}
