/** A parameter as data, and the check of a value against it. */
import { OxygenError } from '../core/errors';

export const PARAMETER_KINDS = ['string', 'integer', 'double', 'boolean', 'string[]'] as const;
export type ParameterKind = (typeof PARAMETER_KINDS)[number];

/** Integers are bigint, as ROS has them: a 64-bit seed keeps its last digit. */
export type ParameterValue = string | bigint | number | boolean | readonly string[];
export type ParameterValues = ReadonlyMap<string, ParameterValue>;

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
  /** What is wanted where an empty string is none. */
  readonly notEmpty?: string;
}

export const text = (name: string, value: string, description: string): ParameterSpec => ({
  name,
  kind: 'string',
  default: value,
  description,
  readOnly: true,
});

/** A string that must be given. */
export const required = (name: string, notEmpty: string, description: string): ParameterSpec => ({
  name,
  kind: 'string',
  default: null,
  description,
  readOnly: true,
  notEmpty,
});

/** The first choice is the default. */
export const choice = (name: string, choices: readonly string[], description: string): ParameterSpec => ({
  ...text(name, choices[0]!, description),
  choices,
});

export const list = (name: string, description: string): ParameterSpec => ({
  name,
  kind: 'string[]',
  default: [],
  description,
  readOnly: true,
});

export const integer = (
  name: string,
  value: bigint,
  min: number,
  max: number,
  description: string,
): ParameterSpec => ({ name, kind: 'integer', default: value, min, max, description, readOnly: true });

export const double = (
  name: string,
  value: number,
  min: number,
  max: number,
  description: string,
): ParameterSpec => ({ name, kind: 'double', default: value, min, max, description, readOnly: true });

export const flag = (name: string, description: string, value = false): ParameterSpec => ({
  name,
  kind: 'boolean',
  default: value,
  description,
  readOnly: true,
});

/** May be changed while the node runs. */
export const live = (spec: ParameterSpec): ParameterSpec => ({ ...spec, readOnly: false });

/**
 * The value that a parameter takes, an integer where a double is wanted included.
 * @throws OxygenError CONFIG_INVALID naming parameter, value and what is allowed.
 */
export function checkParameter(spec: ParameterSpec, value: unknown): ParameterValue {
  const fail = (allowed: string): OxygenError =>
    new OxygenError('CONFIG_INVALID', `parameter ${spec.name}: ${shown(value)} is not allowed; ${allowed}`);
  switch (spec.kind) {
    case 'string':
      if (typeof value !== 'string') throw fail('a string is wanted');
      if (spec.choices && !spec.choices.includes(value))
        throw fail(`one of ${shownChoices(spec.choices)} is wanted`);
      if (spec.notEmpty !== undefined && value === '') throw fail(`${spec.notEmpty} is wanted`);
      return value;
    case 'boolean':
      if (typeof value !== 'boolean') throw fail('true or false is wanted');
      return value;
    case 'string[]':
      if (!Array.isArray(value) || !value.every(item => typeof item === 'string'))
        throw fail('a list of strings is wanted');
      if (spec.choices && !value.every(item => item === '' || spec.choices!.includes(item)))
        throw fail(`a list of ${spec.choices.join(', ')} is wanted`);
      // An empty list is nothing in a parameter file of ROS, so people write [''].
      if (spec.notEmpty !== undefined && value.every(item => item === ''))
        throw fail(`${spec.notEmpty} is wanted`);
      return value.filter(item => item !== '');
    case 'integer':
      if (typeof value !== 'bigint' || !isWithin(spec, value))
        throw fail(`an integer ${range(spec)} is wanted`);
      return value;
    case 'double':
      if (!isWithin(spec, value)) throw fail(`a number ${range(spec)} is wanted`);
      return Number(value);
  }
}

/** The empty string as people write it in a parameter file. */
export const shownChoices = (choices: readonly string[]): string =>
  choices.map(value => (value === '' ? "''" : value)).join(', ');

export const range = (spec: ParameterSpec): string =>
  spec.max! >= 2 ** 63 ? 'of 64 bits' : `from ${spec.min} to ${spec.max}`;

function isWithin(spec: ParameterSpec, value: unknown): boolean {
  const number = typeof value === 'bigint' || typeof value === 'number' ? Number(value) : NaN;
  return Number.isFinite(number) && number >= spec.min! && number <= spec.max!;
}

const shown = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : String(value));
