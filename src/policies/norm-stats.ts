/** Normalisation statistics in openpi's file format: `{norm_stats: {state: {q01, q99, ...}, actions: {...}}}`. */
import { readFileSync } from 'node:fs';
import { OxygenError } from '../core/errors';

/** 1st and 99th percentile of each dimension in robot units; both have the same length. */
export interface QuantileStats {
  readonly q01: Float64Array;
  readonly q99: Float64Array;
}

export interface NormStats {
  readonly state: QuantileStats;
  readonly actions: QuantileStats;
}

const invalid = (path: string, problem: string, cause?: unknown): OxygenError =>
  new OxygenError(
    'NORM_STATS_INVALID',
    `${path}: ${problem}. Expected is openpi's norm_stats.json with norm_stats.state and norm_stats.actions, ` +
      'each holding the lists q01 and q99.',
    { details: { path }, cause },
  );

/** The object at `key`, or an error that lists the keys that are there. */
function section(path: string, parent: unknown, where: string, key: string): Record<string, unknown> {
  const keys = typeof parent === 'object' && parent !== null ? Object.keys(parent) : [];
  const value = keys.includes(key) ? (parent as Record<string, unknown>)[key] : undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const found = keys.length === 0 ? 'nothing' : keys.slice(0, 20).join(', ');
    throw invalid(path, `${where === '' ? '' : `${where} has `}no section "${key}"; found: ${found}`);
  }
  return value as Record<string, unknown>;
}

function quantile(path: string, parent: Record<string, unknown>, where: string, key: string): Float64Array {
  const list = parent[key];
  if (!Array.isArray(list) || list.length === 0) {
    throw invalid(
      path,
      `${where} has no list "${key}"; found: ${Object.keys(parent).join(', ') || 'nothing'}`,
    );
  }
  const bad = list.findIndex(v => typeof v !== 'number' || !Number.isFinite(v));
  if (bad !== -1)
    throw invalid(path, `${where}.${key}[${bad}] is ${JSON.stringify(list[bad])}, not a finite number`);
  return Float64Array.from(list as number[]);
}

function quantiles(path: string, root: Record<string, unknown>, key: string): QuantileStats {
  const where = `norm_stats.${key}`;
  const block = section(path, root, 'norm_stats', key);
  const q01 = quantile(path, block, where, 'q01');
  const q99 = quantile(path, block, where, 'q99');
  if (q01.length !== q99.length) {
    throw invalid(path, `${where}.q01 has ${q01.length} dimensions, q99 has ${q99.length}`);
  }
  // Equal is allowed: a joint that never moved in training.
  const crossed = q01.findIndex((low, i) => q99[i]! < low);
  if (crossed !== -1) {
    throw invalid(
      path,
      `${where}.q99[${crossed}] = ${q99[crossed]} is below q01[${crossed}] = ${q01[crossed]}`,
    );
  }
  return { q01, q99 };
}

/** @throws NORM_STATS_INVALID naming the full path and, when a key is missing, the keys that were found. */
export function loadNormStats(path: string): NormStats {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw invalid(path, `cannot be read: ${error instanceof Error ? error.message : String(error)}`, error);
  }
  const root = section(path, parsed, '', 'norm_stats');
  return { state: quantiles(path, root, 'state'), actions: quantiles(path, root, 'actions') };
}
