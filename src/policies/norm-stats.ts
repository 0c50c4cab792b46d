/**
 * Normalisation statistics. The file format is openpi's norm_stats.json: `{norm_stats: {state: {mean, std, q01, q99},
 * actions: {...}}}`; lerobot's names of the two sections (`observation.state`, `action`) are read as well.
 */
import { OxygenError } from '../core/errors';
import type { NormMode } from '../model/manifest';
import { readSmallFile } from '../model/small-file';

export const STAT_NAMES = ['mean', 'std', 'q01', 'q99'] as const;
export type StatName = (typeof STAT_NAMES)[number];

/** One value per dimension, in robot units; a list that is not in the file is empty, all others have one length. */
export type FeatureStats = Readonly<Record<StatName, Float64Array>>;

export interface NormStats {
  readonly state: FeatureStats;
  readonly actions: FeatureStats;
}

/** Which normalisation the statistics are for: its lists must be there. */
export interface NormModes {
  readonly state: NormMode;
  readonly actions: NormMode;
}

export const NO_STATS: FeatureStats = {
  mean: new Float64Array(),
  std: new Float64Array(),
  q01: new Float64Array(),
  q99: new Float64Array(),
};

/** Real files have a few kilobytes. */
const MAX_BYTES = 16 * 1024 * 1024;
export const LISTS_OF_MODE: Readonly<Record<NormMode, readonly StatName[]>> = {
  quantile: ['q01', 'q99'],
  zscore: ['mean', 'std'],
  identity: [],
  missing: [],
};
const QUANTILE: NormModes = { state: 'quantile', actions: 'quantile' };

/** Number of dimensions; 0 when there are no lists. */
export const statsWidth = (stats: FeatureStats): number =>
  Math.max(...STAT_NAMES.map(name => stats[name].length));

/** @throws NORM_STATS_INVALID naming the full path and, when a key is missing, the keys that were found. */
export function loadNormStats(path: string, modes: NormModes = QUANTILE): NormStats {
  let text: string;
  try {
    text = readSmallFile(path, MAX_BYTES).toString('utf8');
  } catch (error) {
    throw unreadable(path, error);
  }
  return parseNormStats(text, path, modes);
}

/** `source` names the text in errors. @throws NORM_STATS_INVALID */
export function parseNormStats(text: string, source: string, modes: NormModes = QUANTILE): NormStats {
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch (error) {
    throw unreadable(source, error);
  }
  const lerobot = section(root, 'observation.state') && section(root, 'action');
  const [parent, where, state, actions] = lerobot
    ? [root, '', 'observation.state', 'action']
    : [wanted(source, root, '', 'norm_stats'), 'norm_stats', 'state', 'actions'];
  const prefix = where === '' ? '' : `${where}.`;
  const feature = (key: string, mode: NormMode): FeatureStats =>
    featureStats(source, prefix + key, wanted(source, parent, where, key), mode);
  return { state: feature(state, modes.state), actions: feature(actions, modes.actions) };
}

/**
 * The lists of one feature, checked. `where` names it in errors.
 * @throws NORM_STATS_INVALID when a list of `mode` is missing, or any list is no list of finite numbers in order.
 */
export function featureStats(
  source: string,
  where: string,
  block: Readonly<Record<string, unknown>>,
  mode: NormMode,
): FeatureStats {
  const list = (name: StatName): Float64Array => {
    const value = block[name];
    const needed = LISTS_OF_MODE[mode].includes(name);
    if (!needed && (value === undefined || value === null)) return NO_STATS[name];
    return numbers(source, where, name, value, Object.keys(block));
  };
  const stats = { mean: list('mean'), std: list('std'), q01: list('q01'), q99: list('q99') };
  const [first, ...others] = STAT_NAMES.filter(name => stats[name].length > 0);
  const other = others.find(name => stats[name].length !== stats[first!].length);
  if (other) {
    const [a, b] = [stats[first!].length, stats[other].length];
    throw invalid(source, `${where}.${first} has ${a} dimensions, ${other} has ${b}`);
  }
  // Equal is allowed: a joint that never moved in training.
  const crossed = stats.q99.findIndex((high, i) => high < stats.q01[i]!);
  if (crossed !== -1) {
    const [low, high] = [stats.q01[crossed], stats.q99[crossed]];
    throw invalid(source, `${where}.q99[${crossed}] = ${high} is below q01[${crossed}] = ${low}`);
  }
  const negative = stats.std.findIndex(value => value < 0);
  if (negative !== -1) throw invalid(source, `${where}.std[${negative}] = ${stats.std[negative]} is below 0`);
  return stats;
}

/** The file for an engine folder: openpi's format, without the lists that were not there. */
export function normStatsJson(stats: NormStats): string {
  const block = (feature: FeatureStats): object =>
    Object.fromEntries(
      STAT_NAMES.filter(name => feature[name].length > 0).map(name => [name, [...feature[name]]]),
    );
  const norm_stats = { state: block(stats.state), actions: block(stats.actions) };
  return `${JSON.stringify({ norm_stats }, null, 1)}\n`;
}

export const invalid = (source: string, problem: string, cause?: unknown): OxygenError =>
  new OxygenError(
    'NORM_STATS_INVALID',
    `${source}: ${problem}. Expected is openpi's norm_stats.json with norm_stats.state and norm_stats.actions, ` +
      'each holding the lists mean, std, q01 and q99.',
    { details: { path: source }, cause },
  );

const unreadable = (source: string, error: unknown): OxygenError =>
  invalid(source, `cannot be read: ${error instanceof Error ? error.message : String(error)}`, error);

/** The object at `key`, or null. */
function section(parent: unknown, key: string): Record<string, unknown> | null {
  if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, key)) return null;
  const value = (parent as Record<string, unknown>)[key];
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

function wanted(source: string, parent: unknown, where: string, key: string): Record<string, unknown> {
  const found = section(parent, key);
  if (found) return found;
  const keys = typeof parent === 'object' && parent !== null ? Object.keys(parent) : [];
  throw invalid(source, `${where === '' ? '' : `${where} has `}no section "${key}"; found: ${shown(keys)}`);
}

function numbers(
  source: string,
  where: string,
  name: string,
  list: unknown,
  keys: readonly string[],
): Float64Array {
  if (!Array.isArray(list) || list.length === 0)
    throw invalid(source, `${where} has no list "${name}"; found: ${shown(keys)}`);
  const bad = list.findIndex(v => typeof v !== 'number' || !Number.isFinite(v));
  if (bad === -1) return Float64Array.from(list as number[]);
  const text = (JSON.stringify(list[bad]) ?? 'nothing').slice(0, 40);
  throw invalid(source, `${where}.${name}[${bad}] is ${text}, not a finite number`);
}

/** A few keys for a message. */
export const shown = (keys: readonly string[]): string =>
  keys.length === 0
    ? 'nothing'
    : keys
        .slice(0, 20)
        .map(key => key.slice(0, 80))
        .join(', ') + (keys.length > 20 ? ` and ${keys.length - 20} more` : '');
