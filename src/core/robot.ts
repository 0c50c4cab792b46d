/** The robot description: what a robot file says, checked and with defaults filled in. */
import type { ActionKind } from './types';

export const IMAGE_TRANSPORTS = ['raw', 'compressed'] as const;
export type ImageTransport = (typeof IMAGE_TRANSPORTS)[number];

export interface CameraInput {
  /** Camera slot of the engine, e.g. `base_0_rgb`. */
  readonly slot: string;
  readonly topic: string;
  readonly transport: ImageTransport;
}

/** One action dimension, in the order of the checkpoint. */
export interface ActionDim {
  readonly name: string;
  readonly kind: ActionKind;
  /** Name in joint_states of the measured value (positions: what to hold before the first chunk). */
  readonly joint: string;
  /** Limits in robot units; a `binary` leaves as one of the two. */
  readonly min: number;
  readonly max: number;
  /** Largest change per second (position, delta: units/s; velocity: units/s²); null is no limit. */
  readonly maxRate: number | null;
}

export interface Robot {
  readonly name: string;
  readonly cameras: readonly CameraInput[];
  readonly state: { readonly topic: string; readonly joints: readonly string[] };
  readonly actions: readonly ActionDim[];
  /** `trainHz`: spacing of the steps of a chunk. */
  readonly rates: { readonly trainHz: number };
  /** `toleranceMs`: widest span of stamps in one observation; `timeoutMs`: silence of an input worth a warning. */
  readonly sync: { readonly toleranceMs: number; readonly timeoutMs: number };
}
