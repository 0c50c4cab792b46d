/** The node's parameters as one table of data: declarations, checks and the README table all come from here. */
import { OxygenError } from '../core/errors';
import type { EngineOptions, EngineTunables } from '../engine/protocol';
import { LONG_PROMPTS, type LongPrompt } from '../model/prompt-ids';

export const PARAMETER_KINDS = ['string', 'integer', 'double', 'boolean'] as const;
export type ParameterKind = (typeof PARAMETER_KINDS)[number];

/** Integers are bigint, as ROS has them: a 64-bit seed keeps its last digit. */
export type ParameterValue = string | bigint | number | boolean;

export interface ParameterSpec {
  readonly name: string;
  readonly kind: ParameterKind;
  /** Null: must be given. */
  readonly default: ParameterValue | null;
  readonly description: string;
  /** False: may be changed while the node runs. */
  readonly readOnly: boolean;
  readonly min?: number;
  readonly max?: number;
  readonly choices?: readonly string[];
}

const text = (name: string, value: string | null, description: string): ParameterSpec => ({
  name,
  kind: 'string',
  default: value,
  description,
  readOnly: true,
});

const integer = (
  name: string,
  value: bigint,
  min: number,
  max: number,
  description: string,
  readOnly = true,
): ParameterSpec => ({ name, kind: 'integer', default: value, min, max, description, readOnly });

const double = (
  name: string,
  value: number,
  min: number,
  max: number,
  description: string,
  readOnly = true,
): ParameterSpec => ({ name, kind: 'double', default: value, min, max, description, readOnly });

const flag = (name: string, description: string): ParameterSpec => ({
  name,
  kind: 'boolean',
  default: false,
  description,
  readOnly: true,
});

const choice = (name: string, choices: readonly string[], description: string): ParameterSpec => ({
  ...text(name, choices[0]!, description),
  choices,
});

export const PARAMETERS: readonly ParameterSpec[] = [
  text('engine', null, 'Folder of the engine, made by `oxygen build`.'),
  text('robot', null, 'Robot file: cameras, joints, action kinds, limits, rates.'),
  double('action_rate_hz', 70, 1, 500, 'Rate of the `action` topic.'),
  integer(
    'tokens_per_frame',
    5n,
    1,
    1000,
    'Decode steps per camera frame: language against replan rate.',
    false,
  ),
  double(
    'replan_rate_hz',
    0,
    0,
    1000,
    'Cap of the frames per second that the engine takes; 0 is no cap.',
    false,
  ),
  integer(
    'max_requests',
    8n,
    1,
    64,
    'Language requests that are decoded at the same time (rows of the KV cache).',
  ),
  integer('max_queue', 32n, 0, 10_000, 'Language requests that may wait for a row.'),
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
  readonly tunables: EngineTunables;
  /** Everything of EngineOptions but what the robot file says. */
  readonly engineOptions: Omit<EngineOptions, 'cameras' | 'robot'>;
}

/**
 * The value that a parameter takes, an integer where a double is wanted included.
 * @throws OxygenError CONFIG_INVALID naming parameter, value and what is allowed.
 */
export function checkParameter(spec: ParameterSpec, value: unknown): ParameterValue {
  const fail = (allowed: string): OxygenError =>
    new OxygenError('CONFIG_INVALID', `parameter ${spec.name}: ${shown(value)} is not allowed; ${allowed}`);
  if (spec.kind === 'string') {
    if (typeof value !== 'string') throw fail('a string is wanted');
    if (spec.choices && !spec.choices.includes(value))
      throw fail(`one of ${spec.choices.join(', ')} is wanted`);
    if (spec.default === null && value === '') throw fail('a path is wanted');
    return value;
  }
  if (spec.kind === 'boolean') {
    if (typeof value !== 'boolean') throw fail('true or false is wanted');
    return value;
  }
  const number = typeof value === 'bigint' || typeof value === 'number' ? Number(value) : NaN;
  if (spec.kind === 'integer' && typeof value !== 'bigint') throw fail(`an integer ${range(spec)} is wanted`);
  if (!Number.isFinite(number) || number < spec.min! || number > spec.max!) {
    throw fail(`${spec.kind === 'integer' ? 'an integer' : 'a number'} ${range(spec)} is wanted`);
  }
  return spec.kind === 'integer' ? (value as bigint) : number;
}

/**
 * All parameters from what the command line and parameter files give.
 * @throws OxygenError CONFIG_INVALID with every fault found.
 */
export function readParameters(given: ReadonlyMap<string, unknown>): ReadonlyMap<string, ParameterValue> {
  const values = new Map<string, ParameterValue>();
  const faults: string[] = [];
  for (const spec of PARAMETERS) {
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

/** Parameters that nobody declared, each with the nearest name that exists. */
export function unknownParameters(names: Iterable<string>): readonly { name: string; nearest: string }[] {
  const known = PARAMETERS.map(spec => spec.name);
  const foreign = (name: string): boolean => name === 'use_sim_time' || name.startsWith('qos_overrides.');
  return [...names]
    .filter(name => !known.includes(name) && !foreign(name))
    .map(name => ({
      name,
      nearest: known.reduce((a, b) => (distance(name, b) < distance(name, a) ? b : a)),
    }));
}

export function nodeParameters(values: ReadonlyMap<string, ParameterValue>): NodeParameters {
  const string = (name: string): string => values.get(name) as string;
  const number = (name: string): number => Number(values.get(name));
  const tunables = engineTunables(values);
  return {
    engine: string('engine'),
    robot: string('robot'),
    actionRateHz: number('action_rate_hz'),
    maxTokens: number('max_tokens'),
    onInstruction: string('on_instruction') as 'continue' | 'hold',
    statusRateHz: number('status_rate_hz'),
    rawUnits: values.get('raw_units') as boolean,
    tunables,
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
      mode: 'oxygen',
      executeMs: 0,
      ageingMs: 5000,
      tunables,
    },
  };
}

/** The part that may change while the node runs. */
export const engineTunables = (values: ReadonlyMap<string, ParameterValue>): EngineTunables => ({
  tokensPerFrame: { kind: 'fixed', steps: Number(values.get('tokens_per_frame')) },
  replanRateHz: Number(values.get('replan_rate_hz')),
  standing: [],
});

/** The README's table of parameters. */
export function parameterTable(): string {
  const rows = PARAMETERS.map(spec => {
    const value = spec.default === null ? 'required' : `\`${spec.default === '' ? "''" : spec.default}\``;
    const allowed = spec.choices?.join(', ') ?? (spec.min === undefined ? '' : range(spec));
    const live = spec.readOnly ? '' : ' Can be changed live.';
    return `| \`${spec.name}\` | ${spec.kind} | ${value} | ${allowed} | ${spec.description}${live} |`;
  });
  return ['| parameter | type | default | allowed | |', '| --- | --- | --- | --- | --- |', ...rows].join(
    '\n',
  );
}

const range = (spec: ParameterSpec): string =>
  spec.max! >= 2 ** 63 ? 'of 64 bits' : `from ${spec.min} to ${spec.max}`;

const shown = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : String(value));

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
