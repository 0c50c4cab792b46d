/** Finds the normalisation statistics of a checkpoint where openpi and lerobot put them. Nothing is guessed. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { OxygenError } from '../core/errors';
import type { Normalization } from '../model/manifest';
import { loadNormStats, shown, type NormModes, type NormStats } from '../policies/norm-stats';
import { lerobotModes, lerobotStats, PREPROCESSOR, refuseBuffers, tensorStats } from './lerobot-processor';

export interface NormStatsRequest {
  /** Checkpoint folder; null for formula weights. */
  readonly dir: string | null;
  /** Whose formula the checkpoint was trained with. */
  readonly family: Normalization['convention'];
  /** `--norm-stats FILE`: openpi's JSON, or a safetensors file with lerobot's names. */
  readonly file: string | null;
  /** `--asset-id ID`, e.g. `physical-intelligence/libero`. */
  readonly assetId: string | null;
}

export type NormStatsSource =
  | {
      readonly stats: NormStats;
      readonly normalization: Normalization;
      /** The file that they come from. */
      readonly source: string;
      /** What the user must know about the checkpoint. */
      readonly notes: readonly string[];
    }
  /** Full paths that were looked for. */
  | { readonly missing: readonly string[] };

const FILE = 'norm_stats.json';
/** An asset id is a data set's name, with or without its owner. */
const ID_DEPTH = 2;
const OPENPI_MODES: NormModes = { state: 'quantile', actions: 'quantile' };

/** @throws NORM_STATS_INVALID when what is there is damaged, or several sets are there and none was chosen. */
export function findNormStats({ dir, family, file, assetId }: NormStatsRequest): NormStatsSource {
  const modes = family === 'lerobot' && dir !== null ? lerobotModes(dir) : OPENPI_MODES;
  const from = (source: string): NormStatsSource => ({
    stats: source.endsWith('.safetensors') ? tensorStats(source, modes) : loadNormStats(source, modes),
    normalization: { convention: family, ...modes },
    source,
    notes: [],
  });
  if (file !== null) return from(resolve(file));
  if (dir === null) return { missing: [] };

  if (family === 'lerobot' && assetId === null) {
    const found = lerobotStats(dir);
    if (found) return { ...found, normalization: { convention: family, ...found.modes } };
  }
  const own = resolve(dir, FILE);
  if (assetId === null && existsSync(own)) return from(own);
  // openpi's converter leaves them beside the weights, where the training run had them.
  const folders = [resolve(dir, 'assets'), resolve(dir, '..', 'assets')];
  const found = assetFile(folders, assetId);
  if (found !== null) return from(found);
  if (family === 'lerobot') refuseBuffers(dir);
  const lerobot = family === 'lerobot' ? [resolve(dir, PREPROCESSOR)] : [];
  return { missing: [...lerobot, own, ...folders.map(folder => join(folder, '<asset id>', FILE))] };
}

/** The one statistics file of the first folder that has any; null when none has. */
function assetFile(folders: readonly string[], assetId: string | null): string | null {
  const sets = folders.map(folder => ({ folder, ids: assetIds(folder) }));
  const { folder, ids } = sets.find(set => set.ids.length > 0) ?? { folder: '', ids: [] };
  const chosen = assetId ?? (ids.length === 1 ? ids[0]! : null);
  if (chosen !== null && ids.includes(chosen)) return join(folder, chosen, FILE);
  if (chosen === null && ids.length === 0) return null;
  const there = ids.length === 0 ? `none in ${folders.join(' and ')}` : `in ${folder}: ${shown(ids)}`;
  throw new OxygenError(
    'NORM_STATS_INVALID',
    assetId === null
      ? `several sets of statistics are ${there}. Choose one with --asset-id ID, or give --norm-stats FILE.`
      : `there are no statistics of the asset id ${assetId}; ${there}. Choose with --asset-id ID.`,
    { details: { ids, assetId } },
  );
}

/** Sub-folders that hold a statistics file, named from `folder`, sorted. */
function assetIds(folder: string, depth = ID_DEPTH): readonly string[] {
  if (depth === 0 || !isFolder(folder)) return [];
  return readdirSync(folder)
    .flatMap(name => [
      ...(existsSync(join(folder, name, FILE)) ? [name] : []),
      ...assetIds(join(folder, name), depth - 1).map(id => `${name}/${id}`),
    ])
    .sort();
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
