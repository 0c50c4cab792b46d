/** The command line of `oxygen replay`, and what it stands for. */
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import type { Bag } from '../bag/types';
import { OxygenError } from '../core/errors';
import { MODES } from '../core/types';
import { prepare } from '../prepare';
import type { Prepared } from '../prepare';
import { engineCosts, readCosts } from '../replay/costs';
import type { OutputPaths } from '../replay/outputs';
import { givenParameters } from '../replay/parameters';
import { PACES } from '../replay/result';
import type { Pacing, Span } from '../replay/stage';
import type { TopicNames } from '../replay/topic-plan';
import { readParameters, withLimits } from '../ros/params';
import { choice, integer, required, seconds, tokensPerFrame } from './args';
import type { Options } from './args';

export const OPTIONS = {
  engine: { type: 'string', value: 'DIR', help: 'the engine folder' },
  robot: { type: 'string', value: 'FILE', help: 'the robot file: which topic is what' },
  mode: { type: 'string', value: 'MODE', help: 'oxygen (default), shared or isolated' },
  'tokens-per-frame': { type: 'string', value: 'K', help: 'decode steps per frame, or auto (default 5)' },
  seed: { type: 'string', value: 'N', help: 'seed of the action noise (default 0)' },
  out: {
    type: 'string',
    value: 'OUT.mcap',
    help: 'writes what the node says as a bag, in place of an earlier one; another ending: a folder',
  },
  report: {
    type: 'string',
    value: 'OUT.html',
    help: 'writes a report to look at, in place of an earlier one',
  },
  json: { type: 'boolean', help: 'prints the summary as one JSON object' },
  info: { type: 'boolean', help: 'says what is in the bag, and with --robot what is used; plays nothing' },
  start: { type: 'string', value: 'S', help: 'begins S seconds after the first message' },
  duration: { type: 'string', value: 'S', help: 'plays S seconds only' },
  instruction: { type: 'string', value: 'TEXT', help: 'what the robot is to do, whatever the bag says' },
  remap: {
    type: 'string',
    value: 'A:=B',
    multiple: true,
    help: 'topic A of the node or robot file is B in the bag',
  },
  namespace: { type: 'string', value: 'NS', help: 'where relative topic names lie (default /)' },
  'action-topic': {
    type: 'string',
    value: 'TOPIC',
    help: 'recorded commands to compare with (default action)',
  },
  pace: {
    type: 'string',
    value: 'PACE',
    help: 'fast: virtual time (default); real: the clock of this machine',
  },
  cost: {
    type: 'string',
    value: 'FILE',
    help: "stage times of --pace fast in ms (default: the engine's own)",
  },
  'params-file': { type: 'string', value: 'FILE', help: 'ROS 2 parameter file of the node' },
  param: { type: 'string', value: 'P:=V', multiple: true, help: 'a parameter of the node, as after -p' },
  threads: { type: 'string', value: 'T', help: 'threads of a model run (default: all cores)' },
  'frame-log': {
    type: 'string',
    value: 'FILE',
    help: 'a line per frame that enters the engine, as frame_log',
  },
} as const;

export type ReplayOptions = Options<typeof OPTIONS>;

/** The frame log may also be a parameter, as for the node. */
export const outputPaths = (o: ReplayOptions, { engine }: Prepared): OutputPaths => ({
  bag: o.out ?? null,
  report: o.report ?? null,
  frameLog: o['frame-log'] ?? engine.frameLog,
});

export function preparedOf(o: ReplayOptions, log: Parameters<typeof prepare>[2]): Prepared {
  const engine = required('replay', 'engine', o.engine);
  const robot = required('replay', 'robot', o.robot);
  const k = o['tokens-per-frame'] === undefined ? null : tokensPerFrame(o['tokens-per-frame'], 5);
  const threads = BigInt(integer('threads', o.threads, availableParallelism(), 1, 1024));
  const options = givenParameters(o['params-file'] ?? null, o.param ?? [], {
    engine,
    robot,
    ...(o.threads === undefined ? {} : { threads }),
    ...(o.mode === undefined ? {} : { mode: choice('mode', o.mode, MODES, 'oxygen') }),
    ...(k === null ? {} : { tokens_per_frame: k.kind === 'auto' ? 0n : BigInt(k.steps) }),
    ...(o.seed === undefined ? {} : { seed: seedOf(o.seed) }),
    ...(o['frame-log'] === undefined ? {} : { frame_log: o['frame-log'] }),
  });
  const given = new Map([['threads', threads], ...options]);
  const values = readParameters(given);
  return prepare({ engine, robot }, one => withLimits(values, given, one), log);
}

/** Of the command line that gives the same again. */
export function optionsOf(o: ReplayOptions, threads: number): string[] {
  const elsewhere: ReadonlySet<string> = new Set([
    'engine',
    'robot',
    'out',
    'report',
    'frame-log',
    'threads',
  ]);
  const files: ReadonlySet<string> = new Set(['cost', 'params-file']);
  const given = Object.entries(o).flatMap(([name, value]) =>
    elsewhere.has(name) || typeof value === 'boolean'
      ? []
      : [value].flat().flatMap(one => [`--${name}`, files.has(name) ? basename(one) : one]),
  );
  return [...given, '--threads', String(threads)];
}

function seedOf(text: string): bigint {
  if (/^-?\d+$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text)) return BigInt(text);
  throw new OxygenError('USAGE', `--seed must be a whole number of 64 bits, got ${JSON.stringify(text)}`);
}

export function pacingOf(o: ReplayOptions, { engine, costs }: Prepared): Pacing {
  const pace = choice('pace', o.pace, PACES, 'fast');
  if (pace === 'real') {
    if (o.cost === undefined) return { pace };
    throw new OxygenError(
      'USAGE',
      '--cost is for --pace fast: with --pace real the clock says how long a run takes',
    );
  }
  if (o.cost !== undefined)
    return { pace, costs: readCosts(o.cost, engine.denoiseSteps), costName: basename(o.cost) };
  return { pace, costs: engineCosts(costs, engine.denoiseSteps, engine.engineDir), costName: 'engine.json' };
}

export function namesOf(o: ReplayOptions): TopicNames {
  const remaps = (o.remap ?? []).map((remap): [string, string] => {
    const [from, to, more] = remap.split(':=');
    if (from && to && more === undefined) return [from, to];
    throw new OxygenError('USAGE', `--remap ${remap}: wanted is FROM:=TO`);
  });
  return {
    namespace: `/${(o.namespace ?? '').replace(/^\/+|\/+$/g, '')}`,
    remaps: new Map(remaps),
    action: o['action-topic'] ?? null,
    instructed: o.instruction !== undefined,
  };
}

function noMessages({ path, faults }: Bag): OxygenError {
  const why = faults.map(({ message }) => message).join('; ');
  return new OxygenError(
    'BAG_EMPTY',
    why === '' ? `${path} has no messages` : `no message of ${path} can be read: ${why}`,
  );
}

export function spanOf(bag: Bag, o: ReplayOptions): Span {
  const { startNs, endNs } = bag;
  if (startNs === null || endNs === null) throw noMessages(bag);
  const ns = (s: number): bigint => BigInt(Math.round(s * 1e9));
  const fromNs = startNs + ns(seconds('start', o.start) ?? 0);
  const lengthS = seconds('duration', o.duration);
  // The last message belongs to it.
  const untilNs = endNs + 1n;
  const toNs = lengthS === null || fromNs + ns(lengthS) > untilNs ? untilNs : fromNs + ns(lengthS);
  if (fromNs < toNs) return { startNs, fromNs, toNs };
  const length = (Number(endNs - startNs) / 1e9).toFixed(3);
  throw new OxygenError(
    'USAGE',
    `nothing is left to play: the bag is ${length} s long; see --start and --duration`,
  );
}
