/** What frame.onnx and decode.onnx are fed with (see builder/cuda), from the words of the host. */
import * as ort from 'onnxruntime-node';
import type { KvView } from '../core/ports';
import { uniform, type Sampling } from '../core/sampler';
import { imageTokens } from '../model/config';
import type { Manifest } from '../model/manifest';
import { denoiseFeeds, pastFeeds, type Feeds } from './feeds';
import { float32, int64 } from './session-run';

export interface FrameFeeds {
  /** Of the present cameras, [n,H,W,3]. */
  readonly images: Uint8Array;
  readonly cameras: readonly string[];
  readonly promptIds: readonly number[];
  /** Attention inside the prompt. */
  readonly causal: boolean;
  /** [H·A] */
  readonly noise: Float32Array;
  /** Euler steps. */
  readonly steps: number;
}

export interface DecodeFeeds {
  /** Fed in step 0, by row. */
  readonly tokens: readonly number[];
  /** Positions that each row has in `past`. */
  readonly lengths: readonly number[];
  readonly past: KvView;
  readonly steps: number;
  /** The token to feed in a step after the first, instead of the one that the graph draws; null: that one. */
  readonly forced?: (step: number, row: number) => number | null;
  /** How each row draws, and the number of its first draw; without it the best token is taken. */
  readonly draws?: readonly { readonly sampling: Sampling; readonly sequence: number }[];
}

export const GREEDY: Sampling = { temperature: 0, topK: 0, topP: 1, samplingSeed: 0 };

/** Tokens of the root prefix. */
export const prefixLength = ({ model }: Pick<Manifest, 'model'>, f: FrameFeeds): number =>
  f.cameras.length * imageTokens(model) + f.promptIds.length;

/** `modulations`: [steps, 2L+1, 3W]. Throws CONFIG_INVALID for noise of another size. */
export function frameFeeds(
  { model }: Pick<Manifest, 'model'>,
  f: FrameFeeds,
  modulations: Float32Array,
): Feeds {
  const { imageHeight, imageWidth } = model.vision;
  const length = prefixLength({ model }, f);
  return {
    images: new ort.Tensor('uint8', f.images, [f.cameras.length, imageHeight, imageWidth, 3]),
    prompt_ids: int64(f.promptIds, [1, f.promptIds.length]),
    causal_from: int64([f.causal ? length - f.promptIds.length : length], [1]),
    ...denoiseFeeds({ model }, f.noise, modulations, f.steps),
  };
}

export function decodeFeeds({ model }: Pick<Manifest, 'model'>, f: DecodeFeeds): Feeds {
  const { tokens, steps } = f;
  const batch = tokens.length;
  const cells = Array.from({ length: steps * batch }, (_, i) => [Math.floor(i / batch), i % batch] as const);
  const draw = (row: number) => f.draws?.[row] ?? { sampling: GREEDY, sequence: 0 };
  const drawing = (part: (s: Sampling) => number) => tokens.map((_, row) => part(draw(row).sampling));
  const uniforms = cells.map(([step, row]) => {
    const { sampling, sequence } = draw(row);
    return sampling.temperature > 0 ? uniform(sampling.samplingSeed, sequence + step) : 0;
  });
  return {
    tokens: int64(tokens, [batch]),
    lengths: int64(f.lengths, [batch]),
    steps: int64([steps], [1]),
    forced: int64(cells.map(([step, row]) => f.forced?.(step, row) ?? -1), [steps, batch]),
    temperature: float32(Float32Array.from(drawing(s => s.temperature)), [batch]),
    top_k: int64(drawing(s => s.topK), [batch]),
    top_p: float32(Float32Array.from(drawing(s => s.topP)), [batch]),
    uniforms: float32(Float32Array.from(uniforms), [steps, batch]),
    ...pastFeeds({ model }, f.past),
  }; // prettier-ignore
}
