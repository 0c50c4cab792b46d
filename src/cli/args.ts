/** Command-line options declared as data, on node:util's parser, with our error code and a help text. */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Bag } from '../bag/types';
import { OxygenError } from '../core/errors';
import type { TokensPerFrame } from '../core/types';
import { refuseOverlaps } from '../overlaps';

export interface OptionSpec {
  readonly type: 'string' | 'boolean';
  /** Shown in the help, e.g. `DIR`; leave out for booleans. */
  readonly value?: string;
  /** May be given again and again. */
  readonly multiple?: true;
  readonly help: string;
}

export type Options<S extends Record<string, OptionSpec>> = {
  readonly [K in keyof S]?: S[K]['type'] extends 'boolean'
    ? boolean
    : S[K]['multiple'] extends true
      ? readonly string[]
      : string;
};

/** Parses `args`; with --help prints the help and returns null. Throws USAGE. */
export function parseOptions<S extends Record<string, OptionSpec>>(
  command: string,
  spec: S,
  args: string[],
): Options<S> | null {
  return parseOperands(command, spec, args, [])?.options ?? null;
}

/** The same for a command with operands, all of which must be given: `names` are those of the help, e.g. `FILE`. */
export function parseOperands<S extends Record<string, OptionSpec>>(
  command: string,
  spec: S,
  args: string[],
  names: readonly string[],
): { readonly options: Options<S>; readonly operands: readonly string[] } | null {
  const wrong = (why: string) => new OxygenError('USAGE', `oxygen ${command}: ${why}`);
  const options = Object.fromEntries(
    Object.entries(spec).map(([name, { type, multiple }]) => [name, { type, multiple: multiple === true }]),
  );
  const all = { ...options, help: { type: 'boolean' } } as const;
  let parsed;
  try {
    parsed = parseArgs({ args, options: all, strict: true, allowPositionals: names.length > 0 });
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : String(error));
  }
  const { values, positionals } = parsed;
  if (values['help']) {
    const lines = Object.entries(spec).map(
      ([name, o]) => `  ${`--${name} ${o.value ?? ''}`.padEnd(28)} ${o.help}`,
    );
    console.log([['usage: oxygen', command, ...names, '[options]'].join(' '), ...lines].join('\n'));
    return null;
  }
  if (positionals.length !== names.length) {
    throw wrong(`wanted is ${names.join(' ')}, given is ${positionals.join(' ') || 'nothing'}`);
  }
  return { options: values as Options<S>, operands: positionals };
}

export function required(command: string, name: string, value: string | undefined): string {
  if (value !== undefined && value !== '') return value;
  throw new OxygenError('USAGE', `oxygen ${command}: --${name} is required`);
}

/** A whole number within limits, or the default when absent. */
export function integer(
  name: string,
  value: string | undefined,
  fallback: number,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): number {
  if (value === undefined) return fallback;
  const n = Number(value);
  if (Number.isInteger(n) && n >= min && n <= max && value.trim() !== '') return n;
  throw new OxygenError(
    'USAGE',
    `--${name} must be a whole number from ${min} to ${max}, got ${JSON.stringify(value)}`,
  );
}

/** Thirty years: no bag is longer, and in nanoseconds it is a whole number. */
const MAX_SECONDS = 1e9;

/** A number of at least 0, or null when absent. */
export function seconds(name: string, value: string | undefined): number | null {
  if (value === undefined) return null;
  const n = Number(value);
  if (n >= 0 && n <= MAX_SECONDS && value.trim() !== '') return n;
  throw new OxygenError(
    'USAGE',
    `--${name} must be seconds from 0 to ${MAX_SECONDS}, got ${JSON.stringify(value)}`,
  );
}

/** k: decode steps per frame. */
export function tokensPerFrame(value: string | undefined, fallback: number): TokensPerFrame {
  if (value === 'auto') return { kind: 'auto', minSteps: 1 };
  if (value !== undefined && !/^\d+$/.test(value)) {
    throw new OxygenError(
      'USAGE',
      `--tokens-per-frame must be a whole number from 1 to 1000 or auto, got ${JSON.stringify(value)}`,
    );
  }
  return { kind: 'fixed', steps: integer('tokens-per-frame', value, fallback, 1, 1000) };
}

/**
 * Files to be written, by option: a long run says before it begins what it could not write in the end. The `bag` that is
 * read is not written over, and nothing is written twice.
 */
export function checkOutputs(
  bag: Pick<Bag, 'path' | 'files'> | null,
  files: Readonly<Record<string, string | null | undefined>>,
): void {
  const wanted = Object.entries(files).flatMap(([option, path]) =>
    typeof path === 'string' ? [{ option, path }] : [],
  );
  for (const { option, path } of wanted) checkFolder(option, path);
  refuseOverlaps(bag, wanted);
}

function checkFolder(name: string, file: string): void {
  if (file === '') throw new OxygenError('USAGE', `--${name} must name a file`);
  if (existsSync(dirname(resolve(file)))) return;
  throw new OxygenError('USAGE', `--${name} ${file}: there is no such folder; make it first`);
}

export function choice<T extends string>(
  name: string,
  value: string | undefined,
  allowed: readonly T[],
  fallback: T,
): T {
  if (value === undefined) return fallback;
  const found = allowed.find(a => a === value);
  if (found) return found;
  throw new OxygenError(
    'USAGE',
    `--${name} must be one of ${allowed.join(', ')}, got ${JSON.stringify(value)}`,
  );
}
