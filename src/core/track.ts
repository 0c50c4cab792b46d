/** A chunk as it is played: where its steps lie in play time, and how steps of several chunks become one. */
import type { ActionDim } from './robot';
import type { Aggregation } from './types';

/** A whole number of steps is one, whatever rounding to nanoseconds did. */
export const EXACT = 1e-6;

export interface Track {
  /** Play time of step 0, and of the end of the last step that counts. */
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly stepNs: number;
  /** Steps that count, from step 0. */
  readonly horizon: number;
  /** [steps·dims] row-major; at least `horizon` steps. */
  readonly values: Float64Array;
  /** [steps] predictions that each step is made of; null: one each. */
  readonly predictions: Uint32Array | null;
}

/** How many steps into the track a play time is; not below 0. */
export const stepAt = (track: Track, playNs: bigint): number =>
  Math.max(0, Number(playNs - track.startNs) / track.stepNs);

/** Step that plays at `at` steps: the last one that counts goes on. */
export const wholeStep = (track: Track, at: number): number =>
  Math.min(Math.floor(at + EXACT), track.horizon - 1);

/** Value of a dimension at `at` steps: a position lies between its steps, anything else is that of its step. */
export function trackValue(track: Track, dims: readonly ActionDim[], at: number, d: number): number {
  const step = wholeStep(track, at);
  const value = track.values[step * dims.length + d] ?? NaN;
  if (dims[d]!.kind !== 'position') return value;
  const next = track.values[Math.min(step + 1, track.horizon - 1) * dims.length + d] ?? NaN;
  return value + (next - value) * Math.min(1, Math.max(0, at - step));
}

/** lerobot's shares of the new chunk. */
const NEW_SHARE = { weighted_average: 0.7, average: 0.5, conservative: 0.3 } as const;
/** ACT: weights exp(-m·i), i = 0 for the oldest prediction. */
const ENSEMBLE_M = 0.01;

/**
 * The track of a new chunk that comes while another plays. With lerobot's names, for every step of the new chunk
 * that is not after the last one of the playing chunk: `latest_only` takes the new value, `weighted_average` 0.3 of
 * the playing and 0.7 of the new one, `average` half of each, `conservative` 0.7 and 0.3, `temporal_ensemble` the
 * mean of all predictions for that time weighted by exp(-0.01·i), i = 0 for the oldest. What plays is itself the
 * result of the last time, so each chunk is taken in once, when it comes, and one track is all there is to
 * remember. The playing track is read at the time of the new step, between its own steps where the grids differ.
 *
 * Only positions and velocities are averaged. Deltas and binaries are always the newest: the mean of two deltas is
 * neither of the two motions, and a gripper is open or closed.
 */
export function aggregated(
  aggregation: Aggregation,
  dims: readonly ActionDim[],
  playing: Track | null,
  next: Track,
): Track {
  if (playing === null || aggregation === 'latest_only') return next;
  const values = next.values.slice();
  const predictions = new Uint32Array(next.horizon).fill(1);
  for (let step = 0; step < next.horizon; step++) {
    const playNs = next.startNs + BigInt(Math.round(step * next.stepNs));
    const at = stepAt(playing, playNs);
    if (at > playing.horizon - 1 + EXACT) break;
    const before = playing.predictions?.[wholeStep(playing, at)] ?? 1;
    const share = aggregation === 'temporal_ensemble' ? newestWeight(before) : NEW_SHARE[aggregation];
    if (aggregation === 'temporal_ensemble') predictions[step] = before + 1;
    for (const [d, { kind }] of dims.entries()) {
      if (kind !== 'position' && kind !== 'velocity') continue;
      const i = step * dims.length + d;
      values[i] = (1 - share) * trackValue(playing, dims, at, d) + share * values[i]!;
    }
  }
  return { ...next, values, predictions };
}

/** Share of the newest prediction when there were `before` others: a closed form of ACT's running sum. */
const newestWeight = (before: number): number =>
  (Math.exp(-ENSEMBLE_M * before) * (1 - Math.exp(-ENSEMBLE_M))) / (1 - Math.exp(-ENSEMBLE_M * (before + 1)));
