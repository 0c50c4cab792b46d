/**
 * The safety gate: the only road to the `action` topic. Pure: `stepGate(config, state, input, now)` gives the next
 * state and the command to publish, or null when nothing may be published.
 *
 * Order of checks: finite → ramp → limits → rate; no command is a stale one. What stopping means depends on the
 * kind: a position keeps the last command, a velocity goes to zero with its deceleration limit, a delta is zero, a
 * binary stays.
 *
 * Modes: `off` until the pose to start from is measured (nothing is published); `hold` without a fresh command;
 * `ramp` blends from the held pose into the first chunk after a start, an enable, a reset and speed 0; `active`;
 * `fault` holds until a reset or a new start.
 *
 * The first command is the measured pose. From then on no position or velocity changes by more than its rate
 * limit, and none leaves its limits. One that is outside (the robot was, or the limits have become narrower) is led
 * back with its rate limit; a position without one takes RETURN_SECONDS for the whole range of the robot file.
 */
import type { ActionDim, ActionLimits } from './robot';
import { startPose } from './start-pose';
import type { StartPose } from './start-pose';
import { isMotion } from './types';

export const GATE_MODES = ['off', 'hold', 'ramp', 'active', 'fault'] as const;
export type GateMode = (typeof GATE_MODES)[number];

/** An action with the limits in force. */
export interface GateDim extends ActionDim {
  /** Largest change per second on the way back into the limits. */
  readonly returnRate: number;
}

export interface GateConfig {
  readonly dims: readonly GateDim[];
  /** Seconds of motion that one delta stands for: the spacing of chunk steps. */
  readonly stepSeconds: number;
  /** Length of the blend into the first chunk; 0 is none. */
  readonly rampMs: number;
  /** Non-finite commands in a row that latch a fault. */
  readonly faultAfter: number;
  /** As in startPose. */
  readonly maxStartJump: number;
}

export interface GateState {
  readonly mode: GateMode;
  /** For people: why it is off, holds or is in fault; empty in `ramp` and `active`. */
  readonly reason: string;
  /** Last published command [dims]; null before the first. */
  readonly last: Float64Array | null;
  readonly atNs: bigint;
  /** False: the pose must be measured before any command is let through. */
  readonly posed: boolean;
  /** Set by the first fresh command. Null: the next fresh command ramps in. */
  readonly armedNs: bigint | null;
  /** From the first fresh command to the held pose [dims]: what the ramp takes away bit by bit. */
  readonly rampOffset: Float64Array | null;
  readonly badInARow: number;
}

export interface GateInput {
  /** Command of the timeline [dims], or why there is none. */
  readonly command: Float64Array | { readonly none: string };
  /** Newest measured value of each dimension, NaN where unknown. Looked at only while the pose is not known. */
  readonly measured: Float64Array | null;
  /** Speed of play, 0..1: positions change more slowly by as much, at 0 not at all. */
  readonly speed: number;
}

export interface GateOutput {
  readonly state: GateState;
  /** Command to publish [dims]; null: publish nothing. */
  readonly action: Float64Array | null;
  /** True when the command comes from a chunk step. */
  readonly fresh: boolean;
  /** Dimensions whose command was outside min..max. */
  readonly clamped: readonly number[];
  /** True when the command held NaN or infinity and was not used. */
  readonly nonFinite: boolean;
}

/** Longest time since the last tick that the rate limit grants: a stall earns no bigger step. */
const MAX_TICK_SECONDS = 0.05;
const RETURN_SECONDS = 5;

export const INITIAL_GATE: GateState = {
  mode: 'off',
  reason: 'the pose of the robot is not known yet',
  last: null,
  atNs: 0n,
  posed: false,
  armedNs: null,
  rampOffset: null,
  badInARow: 0,
};

/** The actions of a robot file with other limits, inside its own. A binary has two values and no limits. */
export const limitedDims = (
  actions: readonly ActionDim[],
  limits: readonly ActionLimits[],
): readonly GateDim[] =>
  actions.map((dim, d) => {
    const returnRate = dim.maxRate ?? (dim.max - dim.min) / RETURN_SECONDS;
    const limit = limits[d];
    if (limit === undefined || dim.kind === 'binary') return { ...dim, returnRate };
    const inside = (value: number): number => Math.min(dim.max, Math.max(dim.min, value));
    const rate = Math.min(dim.maxRate ?? Infinity, limit.maxRate ?? Infinity);
    return {
      ...dim,
      min: inside(limit.min),
      max: inside(limit.max),
      maxRate: rate === Infinity ? null : rate,
      returnRate: Math.min(rate, returnRate),
    };
  });

/** After a reset the pose stays, a fault is cleared and the next chunk ramps in. */
export const resetGate = (state: GateState): GateState => ({
  ...state,
  mode: state.last === null ? 'off' : 'hold',
  reason: 'reset',
  armedNs: null,
  badInARow: 0,
});

/** The pose is measured again before any command is let through, which then ramps in. A fault stays. */
export const poseAgain = (state: GateState): GateState => ({ ...state, posed: false, armedNs: null });

/** Holds from now on, until a reset or a new start. The first reason stays. */
export const latchFault = (state: GateState, reason: string): GateState =>
  state.mode === 'fault' ? state : { ...state, mode: 'fault', reason };

export function stepGate(config: GateConfig, before: GateState, input: GateInput, nowNs: bigint): GateOutput {
  const { dims } = config;
  const given = input.command instanceof Float64Array ? input.command : null;
  const nonFinite = given !== null && !given.every(Number.isFinite);
  const badInARow = nonFinite ? before.badInARow + 1 : 0;
  const faulty = badInARow >= config.faultAfter;
  const bad = `${badInARow} commands in a row held NaN or infinity; a reset clears this`;
  const state = { ...(faulty ? latchFault(before, bad) : before), badInARow };

  const start: StartPose =
    state.posed && state.last !== null
      ? { known: true, pose: state.last }
      : startPose(dims, input.measured, state.last, config.maxStartJump);
  const last = start.known ? start.pose : state.last;
  const idle = whyIdle(state, start, input, nonFinite);
  if (last === null) {
    const mode = state.mode === 'fault' ? 'fault' : 'off';
    const waiting = { ...state, mode, reason: idle ?? '' } as const;
    return { state: waiting, action: null, fresh: false, clamped: [], nonFinite };
  }

  const command = idle === null ? given : null;
  const arming = command !== null && state.armedNs === null;
  // After standing still, the chunk that plays may be another one.
  const armedNs = input.speed === 0 ? null : arming ? nowNs : state.armedNs;
  const rampOffset = arming ? last.map((value, d) => value - command[d]!) : state.rampOffset;
  const blend = armedNs === null || config.rampMs <= 0 ? 1 : blendAt(nowNs - armedNs, config.rampMs);
  const wanted = command === null ? stopping(dims, last) : blended(dims, rampOffset, command, blend);
  // The first command is the pose as it is; only then it is led back into the limits.
  const limited = state.posed ? wanted.map((value, d) => limit(dims[d]!, value)) : wanted;
  const sinceNs = state.last === null ? 0n : nowNs - state.atNs;
  const action = rateLimited(config, last, limited, sinceNs, input.speed);
  const mode = state.mode === 'fault' ? 'fault' : command === null ? 'hold' : blend < 1 ? 'ramp' : 'active';
  return {
    state: {
      mode,
      reason: idle ?? '',
      last: action,
      atNs: nowNs,
      posed: start.known,
      armedNs,
      rampOffset,
      badInARow,
    },
    action,
    fresh: command !== null,
    clamped: command === null ? [] : [...wanted.keys()].filter(d => limited[d] !== wanted[d]),
    nonFinite,
  };
}

/** The command to leave behind on shutdown: positions and binaries as they are, no motion. */
export const lastSafeCommand = (config: GateConfig, state: GateState): Float64Array | null =>
  state.last === null ? null : stopping(config.dims, state.last);

/** Nothing moves: no command plays, and what was moving has come to rest. */
export const isSettled = ({ dims }: GateConfig, { mode, last }: GateState): boolean =>
  mode !== 'ramp' &&
  mode !== 'active' &&
  (last === null || dims.every((dim, d) => !isMotion(dim.kind) || last[d] === 0));

/** Why no command is used in this tick; null: one is. */
function whyIdle(state: GateState, start: StartPose, input: GateInput, nonFinite: boolean): string | null {
  if (state.mode === 'fault') return state.reason;
  if (!start.known) return start.reason;
  if (!state.posed) return 'starts from the measured pose';
  if (nonFinite) return 'the command held NaN or infinity';
  if (!(input.command instanceof Float64Array)) return input.command.none;
  return input.speed === 0 ? 'speed_scale is 0' : null;
}

const blendAt = (sinceNs: bigint, rampMs: number): number =>
  Math.min(1, Math.max(0, Number(sinceNs) / 1e6 / rampMs));

const stopping = (dims: readonly ActionDim[], last: Float64Array): Float64Array =>
  last.map((value, d) => (isMotion(dims[d]!.kind) ? 0 : value));

/**
 * A position leaves its offset to the held pose behind, so that the steps inside the chunk stay as they are; a
 * velocity grows from 0. A delta is sent whole: a part of it would be a motion that is lost.
 */
const blended = (
  dims: readonly ActionDim[],
  offset: Float64Array | null,
  command: Float64Array,
  blend: number,
): Float64Array =>
  blend >= 1 || offset === null
    ? command
    : command.map((value, d) => {
        const { kind } = dims[d]!;
        if (kind === 'position') return value + offset[d]! * (1 - blend);
        return kind === 'velocity' ? value * blend : value;
      });

const limit = (dim: ActionDim, value: number): number => Math.min(dim.max, Math.max(dim.min, value));

function rateLimited(
  { dims, stepSeconds }: GateConfig,
  last: Float64Array,
  wanted: Float64Array,
  sinceNs: bigint,
  speed: number,
): Float64Array {
  const seconds = Math.min(MAX_TICK_SECONDS, Math.max(0, Number(sinceNs) / 1e9));
  return wanted.map((value, d) => {
    const dim = dims[d]!;
    const { kind, maxRate } = dim;
    if (kind === 'binary') return value;
    if (kind === 'delta')
      return maxRate === null ? value : within(0, maxRate * Math.max(stepSeconds, seconds), value);
    const from = last[d]!;
    if (kind === 'velocity') return maxRate === null ? value : within(from, maxRate * seconds, value);
    if (limit(dim, from) !== from) return within(from, dim.returnRate * seconds * speed, value);
    return maxRate === null ? value : within(from, maxRate * seconds * speed, value);
  });
}

const within = (from: number, most: number, value: number): number =>
  Math.min(from + most, Math.max(from - most, value));
