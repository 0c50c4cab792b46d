/** The robot description: what a robot file says, checked and with defaults filled in. */
import type { ActionKind } from './types';

export const IMAGE_TRANSPORTS = ['raw', 'compressed'] as const;
export type ImageTransport = (typeof IMAGE_TRANSPORTS)[number];

/** Degrees. The pictures of LIBERO, for one, come upside down, and its checkpoints were trained on turned ones. */
export const CAMERA_ROTATIONS = [0, 180] as const;
export type CameraRotation = (typeof CAMERA_ROTATIONS)[number];

/** What lies between the robot's units and the checkpoint's; `none`: nothing. */
export const PLATFORM_NAMES = ['none', 'libero', 'droid', 'aloha', 'arx'] as const;
export type PlatformName = (typeof PLATFORM_NAMES)[number];

/** What a missing camera does: nothing is observed without it, or the others go on without it. */
export const ON_MISSING = ['block', 'mask'] as const;
export type OnMissing = (typeof ON_MISSING)[number];

/** Which times pair the inputs: those that the drivers wrote, or those at which the messages came. */
export const STAMP_SOURCES = ['header', 'arrival'] as const;
export type StampSource = (typeof STAMP_SOURCES)[number];

export interface CameraInput {
  /** Camera slot of the engine, e.g. `base_0_rgb`. */
  readonly slot: string;
  readonly topic: string;
  readonly transport: ImageTransport;
  /** How the picture is turned before anything else. */
  readonly rotate: CameraRotation;
  readonly onMissing: OnMissing;
  /** Expected pictures per second; null: not known, any rate is right. */
  readonly rateHz: number | null;
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

/** The one of its two values that a binary has for what the model says or a joint measures; `min` for NaN. */
export const binaryOf = ({ min, max }: Pick<ActionDim, 'min' | 'max'>, value: number): number =>
  value >= (min + max) / 2 ? max : min;

/** Limits in force: inside those of the robot file. */
export type ActionLimits = Pick<ActionDim, 'min' | 'max' | 'maxRate'>;

export interface Robot {
  readonly name: string;
  readonly platform: PlatformName;
  readonly cameras: readonly CameraInput[];
  readonly state: { readonly topic: string; readonly joints: readonly string[] };
  readonly actions: readonly ActionDim[];
  /** Per action the index in `state.joints` that the model's value is relative to; null: the value is absolute. */
  readonly relativeTo: readonly (number | null)[];
  /**
   * `trainHz`: spacing of the steps of a chunk. `executeSteps`: steps of a chunk that are played at most before the
   * next one; null is all of them.
   */
  readonly rates: { readonly trainHz: number; readonly executeSteps: number | null };
  /**
   * `toleranceMs`: widest span of stamps in one observation; `timeoutMs`: an input that is silent for longer is
   * missing.
   */
  readonly sync: { readonly toleranceMs: number; readonly timeoutMs: number; readonly stamps: StampSource };
}

/** What the engine process must know of the robot to turn its units into the model's and back. */
export interface RobotTransforms {
  readonly platform: PlatformName;
  readonly stateNames: readonly string[];
  /** As in Robot; its length is the number of actions that leave the engine. */
  readonly relativeTo: readonly (number | null)[];
}

export const robotTransforms = (robot: Robot): RobotTransforms => ({
  platform: robot.platform,
  stateNames: robot.state.joints,
  relativeTo: robot.relativeTo,
});
