/** The node's parameters as one table of data: declarations, checks and the README table all come from here. */
import { OxygenError } from '../core/errors';
import type { Mode, TokensPerFrame } from '../core/types';
import { MODES } from '../core/types';
import type { EngineOptions, EngineTunables } from '../engine/protocol';
import { LONG_PROMPTS, type LongPrompt } from '../model/prompt-ids';
import type { ParameterSpec, ParameterValue, ParameterValues } from './parameter-spec';
import { checkParameter, choice, double, flag, integer, live, range, required, text } from './parameter-spec';
import {
  STANDING_EXAMPLE,
  STANDING_LIST,
  standingFaults,
  standingInputs,
  standingNames,
  standingParameters,
} from './standing';

export const PARAMETERS: readonly ParameterSpec[] = [
  required('engine', 'a path', 'Folder of the engine, made by `oxygen build`.'),
  required('robot', 'a path', 'Robot file: cameras, joints, action kinds, limits, rates.'),
  double('action_rate_hz', 70, 1, 500, 'Rate of the `action` topic.'),
  choice(
    'mode',
    [...MODES].reverse(),
    'How the two tasks share the model: `oxygen` as described here; `shared` and `isolated` are for comparison, texts to their end inside each frame.',
  ),
  live(
    integer(
      'tokens_per_frame',
      5n,
      0,
      1000,
      'Decode steps per camera frame: language against replan rate. 0 is auto: as many as the playing chunk leaves time for.',
    ),
  ),
  live(integer('min_tokens_per_frame', 1n, 0, 1000, 'Decode steps per camera frame that auto always takes.')),
  live(
    double('replan_rate_hz', 0, 0, 1000, 'Cap of the frames per second that the engine takes; 0 is no cap.'),
  ),
  integer(
    'max_requests',
    8n,
    1,
    64,
    'Language requests that are decoded at the same time (rows of the KV cache).',
  ),
  integer('max_queue', 32n, 0, 10_000, 'Language requests that may wait for a row.'),
  double('ageing_s', 5, 0, 3600, 'Seconds of waiting that are worth one step of priority; 0 is none.'),
  integer('max_tokens', 64n, 1, 8192, 'Upper limit of a request’s max_tokens.'),
  integer('max_seed_tokens', 32n, 0, 8192, 'Longest seed of a request, in tokens.'),
  integer('denoise_steps', 10n, 1, 1000, 'Euler steps from noise to actions.'),
  integer('seed', 0n, -(2 ** 63), 2 ** 63, 'Seed of the action noise.'),
  integer('threads', 0n, 0, 1024, 'Threads of one model run; 0 is all cores but one.'),
  choice(
    'attention',
    ['engine', 'bidirectional', 'causal'],
    'Attention inside the prefix; `engine` is as the checkpoint was trained.',
  ),
  flag(
    'raw_units',
    'Start although the engine has no normalisation statistics: its raw numbers are the commands.',
  ),
  text('noise_file', '', 'Raw float32 file that replaces the noise of every frame (tests); empty is none.'),
  choice(
    'on_instruction',
    ['continue', 'hold'],
    'On a new instruction: the playing chunk goes on, or stops at once.',
  ),
  choice(
    'on_long_prompt',
    LONG_PROMPTS,
    'On an instruction that does not fit the prompt: its end is left out, or no frame is taken.',
  ),
  double('status_rate_hz', 1, 0.1, 50, 'Rate of the `status` topic.'),
  STANDING_LIST,
];

/** All parameters of a running node, checked. */
export interface NodeParameters {
  readonly engine: string;
  readonly robot: string;
  readonly actionRateHz: number;
  readonly maxTokens: number;
  readonly onInstruction: 'continue' | 'hold';
  readonly statusRateHz: number;
  /** Without statistics the node starts only with this. */
  readonly rawUnits: boolean;
  readonly mode: Mode;
  /** As they are at the start; some change live. */
  readonly values: ParameterValues;
  /** Everything of EngineOptions but what the robot file says. */
  readonly engineOptions: Omit<EngineOptions, 'cameras' | 'robot' | 'executeMs'>;
}

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
  const values = new Map<string, ParameterValue>();
  const faults: string[] = [];
  for (const spec of parameterSpecs(given)) {
    const value = given.has(spec.name) ? given.get(spec.name) : spec.default;
    try {
      if (value === null)
        throw new OxygenError('CONFIG_INVALID', `parameter ${spec.name} must be set: ${spec.description}`);
      values.set(spec.name, checkParameter(spec, value));
    } catch (error) {
      faults.push((error as OxygenError).message);
    }
  }
  if (faults.length === 0) faults.push(...standingFaults(values));
  if (faults.length > 0) throw new OxygenError('CONFIG_INVALID', faults.join('\n  '));
  return values;
}

/** Names that nobody declared, each with the nearest one that exists. */
export function unknownParameters(
  names: Iterable<string>,
  specs: readonly ParameterSpec[],
): readonly { name: string; nearest: string }[] {
  const known = specs.map(spec => spec.name);
  const foreign = (name: string): boolean => name === 'use_sim_time' || name.startsWith('qos_overrides.');
  return [...names]
    .filter(name => !known.includes(name) && !foreign(name))
    .map(name => ({
      name,
      nearest: known.reduce((a, b) => (distance(name, b) < distance(name, a) ? b : a)),
    }));
}

export function nodeParameters(values: ParameterValues): NodeParameters {
  const string = (name: string): string => values.get(name) as string;
  const number = (name: string): number => Number(values.get(name));
  const mode = string('mode') as Mode;
  return {
    engine: string('engine'),
    robot: string('robot'),
    actionRateHz: number('action_rate_hz'),
    maxTokens: number('max_tokens'),
    onInstruction: string('on_instruction') as 'continue' | 'hold',
    statusRateHz: number('status_rate_hz'),
    rawUnits: values.get('raw_units') as boolean,
    mode,
    values,
    engineOptions: {
      engineDir: string('engine'),
      threads: number('threads'),
      seed: values.get('seed') as bigint,
      denoiseSteps: number('denoise_steps'),
      maxRequests: number('max_requests'),
      maxQueue: number('max_queue'),
      maxTokens: number('max_tokens'),
      maxSeedTokens: number('max_seed_tokens'),
      attention: string('attention') as 'engine' | 'bidirectional' | 'causal',
      longPrompt: string('on_long_prompt') as LongPrompt,
      noiseFile: string('noise_file') === '' ? null : string('noise_file'),
      mode,
      ageingMs: number('ageing_s') * 1000,
      tunables: engineTunables(values, ''),
    },
  };
}

/** The part that may change while the node runs. `instruction`: by topic; empty before the first. */
export const engineTunables = (values: ParameterValues, instruction: string): EngineTunables => ({
  tokensPerFrame: tokensPerFrame(Number(values.get('tokens_per_frame')), values),
  replanRateHz: Number(values.get('replan_rate_hz')),
  standing: standingInputs(values, instruction),
});

const tokensPerFrame = (steps: number, values: ParameterValues): TokensPerFrame =>
  steps === 0
    ? { kind: 'auto', minSteps: Number(values.get('min_tokens_per_frame')) }
    : { kind: 'fixed', steps };

/** The README's table of parameters. */
export function parameterTable(): string {
  const rows = [...PARAMETERS, ...standingParameters([STANDING_EXAMPLE])].map(spec => {
    const value = spec.default === null ? 'required' : `\`${shownDefault(spec.default)}\``;
    const allowed = spec.choices?.join(', ') ?? (spec.min === undefined ? '' : range(spec));
    const live = spec.readOnly ? '' : ' Can be changed live.';
    return `| \`${spec.name}\` | ${spec.kind} | ${value} | ${allowed} | ${spec.description}${live} |`;
  });
  return ['| parameter | type | default | allowed | |', '| --- | --- | --- | --- | --- |', ...rows].join(
    '\n',
  );
}

const shownDefault = (value: ParameterValue): string =>
  Array.isArray(value) ? JSON.stringify(value) : value === '' ? "''" : String(value);

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
