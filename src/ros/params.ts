/** From the values of the parameters to what the parts of the node need. */
import { OxygenError } from '../core/errors';
import type { Robot } from '../core/robot';
import type { Mode, TokensPerFrame } from '../core/types';
import type { EngineOptions, EngineTunables } from '../engine/protocol';
import type { Provider } from '../engine/providers';
import type { LongPrompt } from '../model/prompt-ids';
import type { ControlSettings } from './control';
import { isLimit, limitFaults, limitParameters, limitsOf } from './limits';
import type { ParameterSpec, ParameterValue, ParameterValues } from './parameter-spec';
import { checkParameter } from './parameter-spec';
import { PARAMETERS } from './parameter-table';
import { trajectoryRefusal } from './trajectory-messages';
import { standingFaults, standingInputs, standingNames, standingParameters } from './standing';

/** Name of the node unless launch or `-r __node:=` gives another. */
export const NODE_NAME = 'oxygen';

/** The table, and what the standing requests named in `given` have. */
export const parameterSpecs = (given: ReadonlyMap<string, unknown>): readonly ParameterSpec[] => [
  ...PARAMETERS,
  ...standingParameters(standingNames(given)),
];

/**
 * All parameters from what the command line and parameter files give.
 * @throws OxygenError CONFIG_INVALID with every fault found.
 */
export function readParameters(given: ReadonlyMap<string, unknown>): ParameterValues {
  const values = readValues(given, parameterSpecs(given));
  const faults = standingFaults(values);
  if (faults.length > 0) throw new OxygenError('CONFIG_INVALID', faults.join('\n  '));
  return values;
}

/** The values of `specs`. @throws OxygenError CONFIG_INVALID with every fault found. */
export function readValues(
  given: ReadonlyMap<string, unknown>,
  specs: readonly ParameterSpec[],
): ParameterValues {
  const values = new Map<string, ParameterValue>();
  const faults: string[] = [];
  for (const spec of specs) {
    const value = given.has(spec.name) ? given.get(spec.name) : spec.default;
    try {
      if (value === null)
        throw new OxygenError('CONFIG_INVALID', `parameter ${spec.name} must be set: ${spec.description}`);
      values.set(spec.name, checkParameter(spec, value));
    } catch (error) {
      faults.push((error as OxygenError).message);
    }
  }
  if (faults.length > 0) throw new OxygenError('CONFIG_INVALID', faults.join('\n  '));
  return values;
}

/** The values, and what `given` says of the limits of a robot. @throws OxygenError CONFIG_INVALID with every fault. */
export function withLimits(
  values: ParameterValues,
  given: ReadonlyMap<string, unknown>,
  robot: Robot,
): ParameterValues {
  const all = new Map([...values, ...readValues(given, limitParameters(robot))]);
  const faults = limitFaults(all, robot);
  if (faults.length > 0) throw new OxygenError('CONFIG_INVALID', faults.join('\n  '));
  return all;
}

/** Limits in `given` that this robot does not have. */
export function unknownLimits(given: ReadonlyMap<string, unknown>, robot: Robot): readonly string[] {
  const names = limitParameters(robot).map(({ name }) => name);
  return [...given.keys()].filter(name => isLimit(name) && !names.includes(name));
}

/** Parameters that rclnodejs declares itself. */
export const isOfRos = (name: string): boolean =>
  name === 'use_sim_time' || name.startsWith('qos_overrides.');

/** Names that nobody declared, each with the nearest one that exists. */
export function unknownParameters(
  names: Iterable<string>,
  specs: readonly ParameterSpec[],
): readonly { name: string; nearest: string }[] {
  const known = specs.map(spec => spec.name);
  return [...names]
    .filter(name => !known.includes(name) && !isOfRos(name) && !isLimit(name))
    .map(name => ({
      name,
      nearest: known.reduce((a, b) => (distance(name, b) < distance(name, a) ? b : a)),
    }));
}

/** Everything of EngineOptions but what the robot file and the engine say. */
export const engineOptions = (
  values: ParameterValues,
): Omit<EngineOptions, 'cameras' | 'robot' | 'tunables'> => {
  const string = (name: string): string => values.get(name) as string;
  const number = (name: string): number => Number(values.get(name));
  return {
    engineDir: string('engine'),
    threads: number('threads'),
    providers: values.get('execution_providers') as readonly Provider[],
    requiredProvider: string('required_provider') === '' ? null : (string('required_provider') as Provider),
    seed: values.get('seed') as bigint,
    denoiseSteps: number('denoise_steps'),
    maxRequests: number('max_requests'),
    maxQueue: number('max_queue'),
    maxTokens: number('max_tokens'),
    maxSeedTokens: number('max_seed_tokens'),
    attention: string('attention') as 'engine' | 'bidirectional' | 'causal',
    longPrompt: string('on_long_prompt') as LongPrompt,
    noiseFile: string('noise_file') === '' ? null : string('noise_file'),
    frameLog: string('frame_log') === '' ? null : string('frame_log'),
    mode: string('mode') as Mode,
    ageingMs: number('ageing_s') * 1000,
  };
};

/**
 * The part of the engine's options that may change while the node runs. `instruction`: by topic; empty before the
 * first. `horizon`: steps of a chunk.
 */
export const engineTunables = (
  values: ParameterValues,
  instruction: string,
  robot: Pick<Robot, 'rates'>,
  horizon: number,
): EngineTunables => ({
  tokensPerFrame: tokensPerFrame(Number(values.get('tokens_per_frame')), values),
  replanRateHz: Number(values.get('replan_rate_hz')),
  executeMs: executeMs(values, robot, horizon),
  standing: standingInputs(values, instruction),
});

const tokensPerFrame = (steps: number, values: ParameterValues): TokensPerFrame =>
  steps === 0
    ? { kind: 'auto', minSteps: Number(values.get('min_tokens_per_frame')) }
    : { kind: 'fixed', steps };

/** A chunk that stands still never ends; this is long enough for `auto`. */
const LONGEST_EXECUTION_MS = 60_000;

/** How long the executed part of a chunk plays. */
function executeMs(values: ParameterValues, { rates }: Pick<Robot, 'rates'>, horizon: number): number {
  const steps = Math.min(horizonOf(values) ?? rates.executeSteps ?? horizon, horizon);
  const speed = Number(values.get('speed_scale'));
  if (speed === 0) return LONGEST_EXECUTION_MS;
  // One tick less: on its way to the action topic a chunk may just miss one. A single step may be over before it.
  const ms = Math.max(0, 1000 * (steps / rates.trainHz - 1 / Number(values.get('action_rate_hz'))));
  return Math.min(LONGEST_EXECUTION_MS, ms / speed);
}

const horizonOf = (values: ParameterValues): number | null =>
  Number(values.get('execution_horizon')) === 0 ? null : Number(values.get('execution_horizon'));

/** What the action stream takes of the live parameters, those of the limits included. */
export const controlSettings = (values: ParameterValues, robot: Robot): ControlSettings => ({
  aggregation: values.get('aggregation') as ControlSettings['aggregation'],
  executionHorizon: horizonOf(values),
  speedScale: Number(values.get('speed_scale')),
  rampMs: Number(values.get('ramp_ms')),
  limits: limitsOf(values, robot),
});

/** @throws OxygenError CONFIG_INVALID when the robot cannot be commanded with the wanted type of `action`. */
export function checkActionType(values: ParameterValues, robot: Robot): void {
  const refusal = values.get('action_type') === 'joint_trajectory' ? trajectoryRefusal(robot) : null;
  if (refusal !== null)
    throw new OxygenError(
      'CONFIG_INVALID',
      `parameter action_type: joint_trajectory is not possible; ${refusal}`,
    );
}

/** Number of letters to change, for "did you mean". */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
