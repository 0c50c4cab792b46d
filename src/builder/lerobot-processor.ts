/**
 * Statistics of a lerobot checkpoint: policy_preprocessor.json lists the steps of its input pipeline, and the step
 * normalizer_processor names a safetensors file with `observation.state.q01`, `action.q99` and so on.
 */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { OxygenError } from '../core/errors';
import type { NormMode } from '../model/manifest';
import {
  featureStats,
  invalid,
  LISTS_OF_MODE,
  shown,
  STAT_NAMES,
  type FeatureStats,
  type NormModes,
  type NormStats,
} from '../policies/norm-stats';
import { readSmallFile } from '../model/small-file';
import { elements } from '../model/tensors';
import { SafetensorsFile } from './safetensors';

export const PREPROCESSOR = 'policy_preprocessor.json';
const POSTPROCESSOR = 'policy_postprocessor.json';
const MAX_JSON_BYTES = 16 * 1024 * 1024;
/** Widest feature that is read; pi0.5 has 32 dimensions. */
const MAX_WIDTH = 4096;
/** lerobot's default, and part of our formula. */
const EPS = 1e-8;
const KEYS = { state: 'observation.state', actions: 'action' } as const;
const MODES: Readonly<Record<string, NormMode>> = {
  QUANTILES: 'quantile',
  MEAN_STD: 'zscore',
  IDENTITY: 'identity',
};

const step = z.looseObject({
  registry_name: z.string().optional(),
  state_file: z.string().nullish(),
  config: z
    .looseObject({
      norm_map: z.record(z.string(), z.string()).optional(),
      eps: z.number().optional(),
      enabled: z.boolean().optional(),
      exclude_joints: z.array(z.string()).nullish(),
    })
    .default({}),
});
const pipeline = z.looseObject({ steps: z.array(step) });
type Step = z.infer<typeof step>;

export interface LerobotStats {
  readonly stats: NormStats;
  readonly modes: NormModes;
  readonly source: string;
  /** What the user must know about the checkpoint. */
  readonly notes: readonly string[];
}

/** Null when the folder has no preprocessor with statistics. @throws NORM_STATS_INVALID */
export function lerobotStats(dir: string): LerobotStats | null {
  const input = statsStep(dir, PREPROCESSOR, 'normalizer_processor');
  if (!input) return null;
  // The actions are undone by a pipeline of their own, where there is one.
  const output = statsStep(dir, POSTPROCESSOR, 'unnormalizer_processor') ?? input;
  const modes = { state: input.modes.state, actions: output.modes.actions };
  return {
    stats: {
      state: tensorFeature(input.source, KEYS.state, modes.state),
      actions: tensorFeature(output.source, KEYS.actions, modes.actions),
    },
    modes,
    source: input.source,
    notes: readSteps(join(dir, PREPROCESSOR)).flatMap(relativeNote),
  };
}

/** Which normalisation a lerobot folder asks for; quantiles, lerobot's default for pi0.5, when it does not say. */
export function lerobotModes(dir: string): NormModes {
  const path = join(dir, PREPROCESSOR);
  const normalizer = readSteps(path).find(s => s.registry_name === 'normalizer_processor');
  if (normalizer) return stepModes(path, normalizer);
  const config = join(dir, 'config.json');
  const schema = z.looseObject({ normalization_mapping: z.record(z.string(), z.string()).optional() });
  const mapping = existsSync(config) ? readJson(config, schema).normalization_mapping : undefined;
  return mapping ? modesOf(config, mapping) : { state: 'quantile', actions: 'quantile' };
}

/** Statistics from a safetensors file with lerobot's names. @throws NORM_STATS_INVALID listing the keys found. */
export const tensorStats = (path: string, modes: NormModes): NormStats => ({
  state: tensorFeature(path, KEYS.state, modes.state),
  actions: tensorFeature(path, KEYS.actions, modes.actions),
});

/** Older lerobot kept the statistics among the weights, by names that say neither mode nor feature reliably. */
export function refuseBuffers(dir: string): void {
  const path = join(dir, 'model.safetensors');
  if (!existsSync(path)) return;
  const file = new SafetensorsFile(path);
  try {
    const buffers = [...file.tensors.keys()].filter(name =>
      /^(un)?normalize_(inputs|targets|outputs)\./.test(name),
    );
    if (buffers.length === 0) return;
    throw invalid(
      path,
      `it was saved by an older lerobot, with its statistics among the weights (${shown(buffers)}). Convert it with ` +
        "lerobot's migrate_policy_normalization, which writes policy_preprocessor.json, or give --norm-stats FILE",
    );
  } finally {
    file.close();
  }
}

/** The file and the modes of the step `name`; null when the pipeline or its statistics are not there. */
function statsStep(
  dir: string,
  pipelineFile: string,
  name: string,
): { source: string; modes: NormModes } | null {
  const path = join(dir, pipelineFile);
  const found = readSteps(path).find(s => s.registry_name === name);
  const file = found?.state_file;
  if (!file) return null;
  if (basename(file) !== file || file === '..')
    throw invalid(path, `state_file ${JSON.stringify(file.slice(0, 80))} is not a bare file name`);
  return { source: join(dir, file), modes: stepModes(path, found) };
}

const relativeNote = ({ registry_name, config }: Step): readonly string[] =>
  registry_name === 'relative_actions_processor' && config.enabled
    ? [
        'the checkpoint gives actions relative to the state: set relative_to_state: true in the robot file for all ' +
          `but ${shown(config.exclude_joints ?? [])}`,
      ]
    : [];

const readSteps = (path: string): readonly Step[] => (existsSync(path) ? readJson(path, pipeline).steps : []);

function stepModes(path: string, { config }: Step): NormModes {
  const eps = config.eps ?? EPS;
  if (eps !== EPS) throw invalid(path, `eps ${eps} of the normalisation is not supported, only ${EPS}`);
  return modesOf(path, config.norm_map ?? {});
}

/** lerobot leaves a feature that the map does not name as it is. */
function modesOf(path: string, map: Readonly<Record<string, string>>): NormModes {
  const mode = (feature: string): NormMode => {
    const name = map[feature] ?? 'IDENTITY';
    const found = Object.hasOwn(MODES, name) ? MODES[name] : undefined;
    if (found) return found;
    throw invalid(
      path,
      `${feature} is normalised by ${name.slice(0, 40)}; supported are ${Object.keys(MODES).join(', ')}`,
    );
  };
  return { state: mode('STATE'), actions: mode('ACTION') };
}

function tensorFeature(path: string, key: string, mode: NormMode): FeatureStats {
  let file: SafetensorsFile | null = null;
  try {
    file = new SafetensorsFile(path);
    return featureOf(file, key, mode);
  } catch (error) {
    const foreign = error instanceof OxygenError && error.code !== 'NORM_STATS_INVALID';
    throw foreign ? invalid(path, error.message, error) : error;
  } finally {
    file?.close();
  }
}

function featureOf(file: SafetensorsFile, key: string, mode: NormMode): FeatureStats {
  const block: Record<string, readonly number[]> = {};
  for (const name of STAT_NAMES) {
    const info = file.tensors.get(`${key}.${name}`);
    if (!info) continue;
    const count = elements(info.shape);
    if (count > MAX_WIDTH)
      throw invalid(file.path, `${key}.${name} holds ${count} values, at most ${MAX_WIDTH} are read`);
    block[name] = [...file.readFloat32(`${key}.${name}`)];
  }
  const absent = LISTS_OF_MODE[mode].find(name => !(name in block));
  if (absent) {
    const found = shown([...file.tensors.keys()].sort());
    throw invalid(file.path, `it holds no ${key}.${absent}; found: ${found}`);
  }
  return featureStats(file.path, key, block, mode);
}

function readJson<T>(path: string, schema: z.ZodType<T>): T {
  let json: unknown;
  try {
    json = JSON.parse(readSmallFile(path, MAX_JSON_BYTES).toString('utf8'));
  } catch (error) {
    throw invalid(path, `cannot be read: ${error instanceof Error ? error.message : String(error)}`, error);
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw invalid(path, z.prettifyError(parsed.error).slice(0, 500));
  return parsed.data;
}
