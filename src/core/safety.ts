/**
 * The safety gate: the only road to the `action` topic. Pure: `stepGate(config, state, input, now)` gives the next
 * state and the command to publish, or null when nothing may be published.
 *
 * Order of checks: finite → blend (ramp) → limits → rate. What stopping means depends on the kind: a position keeps
 * the last command, a velocity goes to zero with its deceleration limit, a delta is zero, a binary stays.
 *
 * Modes: `off` until a pose to hold is known (nothing is published); `hold` without a fresh command; `ramp` blends
 * from the held pose into the first chunk after the start or a reset; `active`; `fault` holds until a reset.
 */
import type { ActionDim } from './robot';

export const GATE_MODES = ['off', 'hold', 'ramp', 'active', 'fault'] as const;
export type GateMode = (typeof GATE_MODES)[number];

export interface GateConfig {
  readonly dims: readonly ActionDim[];
  /** Seconds of motion that one delta stands for: the spacing of chunk steps. */
  readonly stepSeconds: number;
  /** Length of the blend into the first chunk. */
  readonly rampMs: number;
  /** Non-finite commands in a row that latch a fault. */
  readonly faultAfter: number;
}

export interface GateState {
  readonly mode: GateMode;
  /** Last published command [dims]; null in mode `off`. */
  readonly last: Float64Array | null;
  readonly atNs: bigint;
  /** Set by the first fresh command; cleared by a reset. Null: the next fresh command ramps in. */
  readonly armedNs: bigint | null;
  /** Pose from which the ramp blends. */
  readonly rampFrom: Float64Array | null;
  readonly badInARow: number;
}

export interface GateInput {
  /** Command of the timeline [dims]; null is stale. */
  readonly command: Float64Array | null;
  /** Newest measured value of each dimension, NaN where unknown. */
  readonly measured: Float64Array | null;
}

export interface GateOutput {
  readonly state: GateState;
  /** Command to publish [dims]; null: publish nothing. */
  readonly action: Float64Array | null;
  /** True when the command comes from a chunk step. */
  readonly fresh: boolean;
  /** Dimensions that were outside min..max. */
  readonly clamped: readonly number[];
  /** True when the command held NaN or infinity and was not used. */
  readonly nonFinite: boolean;
}

/** Longest time since the last tick that the rate limit grants: a stall earns no bigger step. */
const MAX_TICK_SECONDS = 0.05;

export const INITIAL_GATE: GateState = {
  mode: 'off',
  last: null,
  atNs: 0n,
  armedNs: null,
  rampFrom: null,
  badInARow: 0,
};

/** After a reset the pose stays, a fault is cleared and the next chunk ramps in. */
export const resetGate = (state: GateState): GateState => ({
  ...state,
  mode: state.last === null ? 'off' : 'hold',
  armedNs: null,
  rampFrom: null,
  badInARow: 0,
});

export function stepGate(config: GateConfig, state: GateState, input: GateInput, nowNs: bigint): GateOutput {
  const nonFinite = input.command !== null && !input.command.every(Number.isFinite);
  const badInARow = nonFinite ? state.badInARow + 1 : 0;
  const fault = state.mode === 'fault' || badInARow >= config.faultAfter;
  const command = nonFinite || fault ? null : input.command;

  const last = state.last ?? startPose(config.dims, input.measured, command);
  if (last === null) {
    return { state: { ...state, badInARow }, action: null, fresh: false, clamped: [], nonFinite };
  }

  const arming = command !== null && state.armedNs === null;
  const armedNs = arming ? nowNs : state.armedNs;
  const rampFrom = arming ? last : state.rampFrom;
  const blend = armedNs === null ? 1 : Math.min(1, Number(nowNs - armedNs) / 1e6 / config.rampMs);
  const wanted =
    command === null ? stopping(config.dims, last) : blended(config.dims, rampFrom, command, blend);
  const clamped: number[] = [];
  const limited = wanted.map((value, d) => limit(config.dims[d]!, value, d, clamped));
  const action = rateLimited(config, last, limited, state.last === null ? 0n : nowNs - state.atNs);
  const mode = fault ? 'fault' : command === null ? 'hold' : blend < 1 ? 'ramp' : 'active';
  return {
    state: { mode, last: action, atNs: nowNs, armedNs, rampFrom, badInARow },
    action,
    fresh: command !== null,
    clamped,
    nonFinite,
  };
}

/** The command to leave behind on shutdown: positions and binaries as they are, no motion. */
export const lastSafeCommand = (config: GateConfig, state: GateState): Float64Array | null =>
  state.last === null ? null : state.last.map((value, d) => (isMotion(config.dims[d]!) ? 0 : value));

const isMotion = (dim: ActionDim): boolean => dim.kind === 'velocity' || dim.kind === 'delta';

/**
 * Where the robot is. A position whose joint is not measured takes the first command; a binary without a
 * measured value starts at `min`. Null while a position is unknown.
 */
function startPose(
  dims: readonly ActionDim[],
  measured: Float64Array | null,
  command: Float64Array | null,
): Float64Array | null {
  const pose = Float64Array.from(dims, (dim, d) => {
    if (isMotion(dim)) return 0;
    const value = measured?.[d] ?? NaN;
    if (dim.kind === 'binary') return value >= (dim.min + dim.max) / 2 ? dim.max : dim.min;
    const known = Number.isFinite(value) ? value : (command?.[d] ?? NaN);
    return Math.min(dim.max, Math.max(dim.min, known));
  });
  return pose.every(Number.isFinite) ? pose : null;
}

const stopping = (dims: readonly ActionDim[], last: Float64Array): Float64Array =>
  last.map((value, d) => (isMotion(dims[d]!) ? 0 : value));

const blended = (
  dims: readonly ActionDim[],
  from: Float64Array | null,
  command: Float64Array,
  blend: number,
): Float64Array =>
  blend >= 1 || from === null
    ? command
    : command.map((value, d) => {
        const dim = dims[d]!;
        if (dim.kind === 'binary') return value;
        const start = isMotion(dim) ? 0 : (from[d] ?? value);
        return start + (value - start) * blend;
      });

function limit(dim: ActionDim, value: number, d: number, clamped: number[]): number {
  const inside = Math.min(dim.max, Math.max(dim.min, value));
  if (inside !== value) clamped.push(d);
  return inside;
}

function rateLimited(
  config: GateConfig,
  last: Float64Array,
  wanted: Float64Array,
  sinceNs: bigint,
): Float64Array {
  const seconds = Math.min(MAX_TICK_SECONDS, Math.max(0, Number(sinceNs) / 1e9));
  return wanted.map((value, d) => {
    const { kind, maxRate } = config.dims[d]!;
    if (maxRate === null || kind === 'binary') return value;
    const from = kind === 'delta' ? 0 : (last[d] ?? value);
    const most = maxRate * (kind === 'delta' ? Math.max(config.stepSeconds, seconds) : seconds);
    return Math.min(from + most, Math.max(from - most, value));
  });
}
