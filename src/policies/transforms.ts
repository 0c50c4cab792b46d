/** Normalisation: robot units ↔ the model's range, by the formulas of openpi or lerobot. Nothing is clipped. */
import { OxygenError } from '../core/errors';
import type { Normalization, NormMode } from '../model/manifest';
import type { FeatureStats } from './norm-stats';
import { statsWidth } from './norm-stats';

/** Both directions of one feature, dimension by dimension. */
export interface Scaler {
  /** Dimensions that have statistics; Infinity where none are needed. */
  readonly width: number;
  toModel(value: number, dim: number): number;
  /** Dimensions beyond the statistics pass unchanged. */
  toRobot(value: number, dim: number): number;
}

type Formula = (stats: FeatureStats) => Omit<Scaler, 'width'>;

/** openpi adds it to every divisor, in both directions; computed in float64. */
const OPENPI_EPSILON = 1e-6;

const openpiQuantile: Formula = ({ q01, q99 }) => ({
  toModel: (x, i) => ((x - q01[i]!) / (q99[i]! - q01[i]! + OPENPI_EPSILON)) * 2 - 1,
  toRobot: (y, i) => ((y + 1) / 2) * (q99[i]! - q01[i]! + OPENPI_EPSILON) + q01[i]!,
});

const openpiZscore: Formula = ({ mean, std }) => ({
  toModel: (x, i) => (x - mean[i]!) / (std[i]! + OPENPI_EPSILON),
  toRobot: (y, i) => y * (std[i]! + OPENPI_EPSILON) + mean[i]!,
});

/** lerobot computes in float32, so every intermediate is rounded: its numbers are met bit for bit. */
const f = Math.fround;
const LEROBOT_EPSILON = f(1e-8);

/** Here the small number only replaces a divisor of zero. */
const lerobotQuantile: Formula = stats => {
  const q01 = Float32Array.from(stats.q01);
  const range = Float32Array.from(stats.q99, (high, i) => f(f(high) - q01[i]!) || LEROBOT_EPSILON);
  return {
    toModel: (x, i) => f(f(f(2 * f(f(x) - q01[i]!)) / range[i]!) - 1),
    toRobot: (y, i) => f(f(f(f(f(y) + 1) * range[i]!) / 2) + q01[i]!),
  };
};

/** The small number is added on the way in only. */
const lerobotZscore: Formula = stats => {
  const mean = Float32Array.from(stats.mean);
  const std = Float32Array.from(stats.std);
  return {
    toModel: (x, i) => f(f(f(x) - mean[i]!) / f(std[i]! + LEROBOT_EPSILON)),
    toRobot: (y, i) => f(f(f(y) * std[i]!) + mean[i]!),
  };
};

const FORMULAS = {
  openpi: { quantile: openpiQuantile, zscore: openpiZscore },
  lerobot: { quantile: lerobotQuantile, zscore: lerobotZscore },
} as const;

/** `missing` does nothing, like `identity`: what is allowed without statistics is decided elsewhere. */
export function scaler(stats: FeatureStats, mode: NormMode, convention: Normalization['convention']): Scaler {
  if (mode === 'identity' || mode === 'missing') {
    return { width: Infinity, toModel: x => x, toRobot: y => y };
  }
  const width = statsWidth(stats);
  const { toModel, toRobot } = FORMULAS[convention][mode](stats);
  return { width, toModel, toRobot: (y, i) => (i < width ? toRobot(y, i) : y) };
}

/**
 * A state in robot units → model range, one value per dimension of `x`. Statistics longer than `x` are used from the
 * front.
 *
 * @throws STATE_INVALID naming the dimension that is missing, NaN or infinite, or both lengths when there are fewer
 * statistics than values.
 */
export function normalizeState(x: ArrayLike<number>, by: Scaler): Float64Array {
  if (x.length > by.width) {
    throw new OxygenError(
      'STATE_INVALID',
      `The state has ${x.length} values, the normalisation statistics only ${by.width}: ` +
        'name as many joints in the robot file as the checkpoint was trained with.',
      { details: { values: x.length, statistics: by.width } },
    );
  }
  return Float64Array.from(x, (value: number | undefined, dimension) => {
    if (Number.isFinite(value)) return by.toModel(value!, dimension);
    const message = `Dimension ${dimension} of the state is ${value}, not a finite number.`;
    throw new OxygenError('STATE_INVALID', message, { details: { dimension, value } });
  });
}

/**
 * An action chunk of the model [horizon, modelDims] → robot units [horizon, usedDims]. The model is as wide as its
 * training mix; the dimensions after `usedDims` mean nothing for this robot and are left out.
 */
export function unnormalizeChunk(
  values: Float32Array,
  horizon: number,
  modelDims: number,
  usedDims: number,
  by: Scaler,
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
      out[step * usedDims + i] = by.toRobot(values[step * modelDims + i]!, i);
    }
  }
  return out;
}

/**
 * Actions that the model gives relative to the state become absolute, in place: `values` [steps, relativeTo.length];
 * `relativeTo`: per dimension the index in `state`, or null for one that is absolute already.
 */
export function addState(
  values: Float64Array,
  relativeTo: readonly (number | null)[],
  state: ArrayLike<number>,
): void {
  const dims = relativeTo.length;
  relativeTo.forEach((index, dim) => {
    if (index === null) return;
    for (let at = dim; at < values.length; at += dims) values[at]! += state[index]!;
  });
}
