/** What a robot platform adds between the robot's units and those that its checkpoints were trained on. */
import type { PlatformName } from '../../core/robot';

export interface Platform {
  readonly name: PlatformName;
  /** Widths of state and action; null: any. */
  readonly stateDims: number | null;
  readonly actionDims: number | null;
  /** Actions that the model gives relative to the state of the same index; shorter than the action: the rest is not. */
  readonly relative: readonly boolean[];
  /** Robot → model units; a new array. */
  state(robot: Float64Array): Float64Array;
  /** Model → robot units, in place: [steps, dims]. */
  actions(values: Float64Array, dims: number): void;
}

/** For robots whose units are those of the checkpoint. */
export const PLAIN = {
  relative: [],
  state: (robot: Float64Array): Float64Array => Float64Array.from(robot),
  actions: (): void => undefined,
} as const satisfies Partial<Platform>;
