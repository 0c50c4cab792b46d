/** Tensors that graphs of several targets are fed with. */
import type * as ort from 'onnxruntime-node';
import { OxygenError } from '../core/errors';
import type { KvView } from '../core/ports';
import type { Manifest } from '../model/manifest';
import { float32 } from './session-run';

export type Feeds = Record<string, ort.Tensor>;

type Model = Pick<Manifest, 'model'>;

/** `past_k_i` and `past_v_i` [batch, positions, headDim] of each layer. */
export function pastFeeds({ model }: Model, past: KvView): Feeds {
  const { layers, headDim } = model.language;
  const shape = [past.batch, past.positions, headDim];
  const feeds: Feeds = {};
  for (let i = 0; i < layers; i++) {
    feeds[`past_k_${i}`] = float32(past.k[i] as Float32Array, shape);
    feeds[`past_v_${i}`] = float32(past.v[i] as Float32Array, shape);
  }
  return feeds;
}

/** Where a whole chunk is denoised: `modulations` [steps, 2L+1, 3W]. Throws CONFIG_INVALID for noise of another size. */
export function denoiseFeeds(
  { model }: Model,
  noise: Float32Array,
  modulations: Float32Array,
  steps: number,
): Feeds {
  checkNoise({ model }, noise);
  return {
    noise: float32(noise, [1, model.horizon, model.actionDim]),
    modulations: float32(modulations, [steps, 2 * model.language.layers + 1, 3 * model.expert.width]),
  };
}

/** Throws CONFIG_INVALID when it is not [H·A]. */
export function checkNoise({ model: { horizon, actionDim } }: Model, noise: Float32Array): void {
  if (noise.length === horizon * actionDim) return;
  const message = `the noise has ${noise.length} values, the engine needs ${horizon}x${actionDim}`;
  throw new OxygenError('CONFIG_INVALID', message);
}
