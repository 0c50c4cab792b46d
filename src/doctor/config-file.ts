/** Recognises what a configuration file is, and checks it with the functions of the node and the builder. */
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { basename, dirname, extname } from 'node:path';
import { readManifest, type Manifest } from '../model/manifest';
import { refusedYaml } from '../ros/yaml-guard';
import { fault, ok, type Check } from './check';
import { BUILD, describeEngine } from './engine';
import {
  modelConfigCheck,
  normStatsCheck,
  robotCheck,
  robotFitCheck,
  tokenizerCheck,
  tokenizerNeeds,
} from './files';
import { parametersCheck } from './parameters';

export type ConfigKind = 'robot' | 'parameters' | 'model config' | 'norm_stats' | 'tokenizer' | 'engine';

const KIND_BY_NAME: Readonly<Record<string, ConfigKind>> = {
  'config.json': 'model config',
  'norm_stats.json': 'norm_stats',
  'tokenizer.json': 'tokenizer',
  'engine.json': 'engine',
};

const EXPECTED =
  'expected is a robot file or ROS parameter file (.yaml), config.json, norm_stats.json, tokenizer.json, a ' +
  'tokenizer .model, or engine.json';

/** A real tokenizer.json has 35 MB. */
const MAX_BYTES = 128 * 1024 * 1024;

export interface ConfigCheckOptions {
  /** The engine that the file must fit, or null. */
  readonly manifest: Manifest | null;
  /** Name of the node whose parameters are meant. */
  readonly node: string;
}

export function configCheck(path: string, options: ConfigCheckOptions): Check {
  return {
    name: 'file',
    cure: EXPECTED,
    run: () => {
      const found = recognise(path);
      return 'why' in found
        ? fault(`${path}: ${found.why}`, EXPECTED)
        : ok(`${path} is a ${TITLES[found.kind]}`, checksOf(found.kind, path, options));
    },
  };
}

const TITLES: Readonly<Record<ConfigKind, string>> = {
  robot: 'robot file',
  parameters: 'ROS parameter file',
  'model config': 'model configuration',
  norm_stats: 'file of normalisation statistics',
  tokenizer: 'tokenizer',
  engine: 'description of an engine',
};

function checksOf(kind: ConfigKind, path: string, { manifest, node }: ConfigCheckOptions): readonly Check[] {
  switch (kind) {
    case 'robot':
      return [robotCheck(path), ...(manifest ? [robotFitCheck(path, manifest)] : [])];
    case 'parameters':
      return [parametersCheck(path, node)];
    case 'model config':
      return [modelConfigCheck(path)];
    case 'norm_stats':
      return [normStatsCheck(path, manifest)];
    case 'tokenizer':
      return [tokenizerCheck(path, manifest && tokenizerNeeds(manifest))];
    case 'engine':
      return [engineJsonCheck(path)];
  }
}

const engineJsonCheck = (path: string): Check => ({
  name: 'engine',
  cure: BUILD,
  run: () => ok(describeEngine(dirname(path), readManifest(dirname(path)))),
});

type Recognised = { readonly kind: ConfigKind } | { readonly why: string };

/** By content where that is clear, else by name: a damaged tokenizer.json is still meant as one. */
export function recognise(path: string): Recognised {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return { why: 'there is no such file' };
  if (stat.isDirectory()) return { why: 'is a folder; `oxygen doctor` checks engines and checkpoints' };
  if (!stat.isFile()) return { why: 'is no regular file' };
  if (stat.size === 0) return { why: 'is empty' };
  if (stat.size > MAX_BYTES)
    return { why: `has ${stat.size} bytes, no configuration has more than ${MAX_BYTES}` };
  if (extname(path) === '.model') return { kind: 'tokenizer' };
  const named = KIND_BY_NAME[basename(path)];
  if (named) return { kind: named };
  const start = firstBytes(path);
  if (start.includes(0)) return { why: 'is binary' };
  if (extname(path) === '.json' || /^\s*\{\s*(?:"|$)/.test(start.toString('utf8'))) {
    return recogniseJson(readFileSync(path, 'utf8'));
  }
  return recogniseYaml(readFileSync(path, 'utf8'));
}

function firstBytes(path: string): Buffer {
  const bytes = Buffer.alloc(512);
  const fd = openSync(path, 'r');
  try {
    return bytes.subarray(0, readSync(fd, bytes));
  } finally {
    closeSync(fd);
  }
}

/** Keys that only one kind has. */
const JSON_KEYS: readonly (readonly [string, ConfigKind])[] = [
  ['norm_stats', 'norm_stats'],
  ['added_tokens', 'tokenizer'],
  ['hostTensors', 'engine'],
  ['paligemma_config', 'model config'],
  ['paligemma_variant', 'model config'],
  ['text_config', 'model config'],
  ['pi05', 'model config'],
];

function recogniseJson(text: string): Recognised {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return { why: `is not JSON: ${(error as Error).message}` };
  }
  const keys = typeof json === 'object' && json !== null ? Object.keys(json) : [];
  const kind = JSON_KEYS.find(([key]) => keys.includes(key))?.[1];
  return kind ? { kind } : { why: `has none of our keys; found: ${keys.slice(0, 8).join(', ') || 'none'}` };
}

function recogniseYaml(text: string): Recognised {
  const refused = refusedYaml(text);
  if (refused !== null) return { why: refused };
  if (/ros__?parameters["']?\s*:/.test(text)) return { kind: 'parameters' };
  if (/^\s*["']?(?:cameras|actions|state|rates|platform)["']?\s*:/m.test(text)) return { kind: 'robot' };
  return { why: 'has neither ros__parameters nor the keys of a robot file' };
}
