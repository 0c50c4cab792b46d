/** openpi's quantile normalisation: robot units ↔ the model's range, where -1 is q01 and 1 is q99. Nothing is clipped. */
import { OxygenError } from '../core/errors';
import type { QuantileStats } from './norm-stats';

/** Keeps the division defined for a dimension that never moved; part of openpi's formula, so it stays in the undoing. */
const EPSILON = 1e-6;

/**
 * Robot units → model range, one value per dimension of `x`. Statistics longer than `x` are used from the front.
 *
 * @throws STATE_INVALID naming the dimension that is missing, NaN or infinite, or both lengths when there are fewer
 * statistics than values.
 */
export function normalizeQuantile(x: ArrayLike<number>, stats: QuantileStats): Float64Array {
  if (x.length > stats.q01.length) {
    throw new OxygenError(
      'STATE_INVALID',
      `The state has ${x.length} values, the normalisation statistics only ${stats.q01.length}: ` +
        'name as many joints in the robot file as the checkpoint was trained with.',
      { details: { values: x.length, statistics: stats.q01.length } },
    );
  }
  return Float64Array.from(x, (value: number | undefined, i) => {
    if (!Number.isFinite(value)) {
      throw new OxygenError(
        'STATE_INVALID',
        `Dimension ${i} of the state is ${value}, not a finite number.`,
        {
          details: { dimension: i, value },
        },
      );
    }
    const low = stats.q01[i]!;
    return ((value! - low) / (stats.q99[i]! - low + EPSILON)) * 2 - 1;
  });
}

const unnormalize = (y: number, i: number, stats: QuantileStats): number => {
  if (i >= stats.q01.length) return y;
  const low = stats.q01[i]!;
  return ((y + 1) / 2) * (stats.q99[i]! - low + EPSILON) + low;
};

/** Model range → robot units; dimensions beyond the statistics pass unchanged. */
export const unnormalizeQuantile = (y: ArrayLike<number>, stats: QuantileStats): Float64Array =>
  Float64Array.from(y, (value: number, i) => unnormalize(value, i, stats));

/**
 * An action chunk of the model [horizon, modelDims] → robot units [horizon, usedDims]. The model is as wide as its
 * training mix; the dimensions after `usedDims` mean nothing for this robot and are left out.
 */
export function unnormalizeChunk(
  values: Float32Array,
  horizon: number,
  modelDims: number,
  usedDims: number,
  stats: QuantileStats,
): Float64Array {
  if (values.length !== horizon * modelDims || usedDims > modelDims) {
    throw new OxygenError(
      'INTERNAL',
      `A chunk of ${values.length} values is not [${horizon}, ${modelDims}], or ${usedDims} dimensions are too many.`,
    );
  }
  const out = new Float64Array(horizon * usedDims);
  for (let step = 0; step < horizon; step++) {
    for (let i = 0; i < usedDims; i++) {
      out[step * usedDims + i] = unnormalize(values[step * modelDims + i]!, i, stats);
    }
  }
  return out;
}
