/** Where weights come from: a safetensors folder, or the formula weights of `--random-init`. */
import { basename, join } from 'node:path';
import { OxygenError } from '../core/errors';
import { readModelConfig, readModelDescription, type Family, type ModelConfig } from '../model/config';
import { tensorShapes, UNUSED_TENSORS } from '../model/tensors';
import { openWeights, refuseOtherFormats } from './checkpoint-files';
import { matchTensors } from './checkpoint-names';
import { formulaRows, formulaTensor } from './formula';

export interface Checkpoint {
  readonly config: ModelConfig;
  /** What it is, for engine.json. */
  readonly source: string;
  readonly family: Family;
  /** Element types of the weights, sorted: `F32`, `BF16`, `BF16+F32`. */
  readonly dtype: string;
  /** A tensor of `tensorShapes(config)` as float32. */
  read(name: string): Float32Array;
  /** Rows first .. first+count-1 (of the first axis) of a tensor: nobody holds a table of 2 GB in memory. */
  readRows(name: string, first: number, count: number): Float32Array;
  /** What a person should know before the engine runs: what the config leaves open, tensors that nothing uses. */
  readonly notes: readonly string[];
  close(): void;
}

/** The formula weights of a config (see formula.ts), made tensor by tensor. */
export function randomCheckpoint(configPath: string, seed: number): Checkpoint {
  const config = readModelConfig(configPath);
  const shapes = tensorShapes(config);
  return {
    config,
    source: `formula weights, seed ${seed}`,
    family: 'openpi',
    dtype: 'F32',
    notes: [],
    read: name => formulaTensor(name, shapeOf(shapes, name), seed),
    readRows: (name, first, count) => formulaRows(name, shapeOf(shapes, name), seed, first, count),
    close: () => undefined,
  };
}

/**
 * Opens the folder of a converted openpi or a lerobot checkpoint and checks every tensor's name, shape and type before
 * any is read. Throws CHECKPOINT_NOT_FOUND, CHECKPOINT_INVALID, CHECKPOINT_KEYS or MODEL_UNSUPPORTED.
 */
export function openCheckpoint(dir: string): Checkpoint {
  refuseOtherFormats(dir);
  const { config, family, notes } = readModelDescription(join(dir, 'config.json'));
  const weights = openWeights(dir);
  try {
    const { names, unused } = matchTensors(config, weights);
    const inFile = (name: string) => names.get(name) ?? unknownTensor(name);
    return {
      config,
      source: basename(weights.path),
      family,
      dtype: [...new Set([...names.values()].map(name => weights.tensors.get(name)?.dtype))].sort().join('+'),
      notes: [...notes, ...unusedNote(unused)],
      read: name => weights.readFloat32(inFile(name)),
      readRows: (name, first, count) => weights.readRowsFloat32(inFile(name), first, count),
      close: () => weights.close(),
    };
  } catch (error) {
    weights.close();
    throw error;
  }
}

/** The expert's head is in every file; the others are worth a word. */
function unusedNote(unused: readonly string[]): string[] {
  const odd = unused.filter(name => !name.endsWith(UNUSED_TENSORS[0]));
  return odd.length === 0 ? [] : [`not used by pi0.5 and left out: ${odd.join(', ')}`];
}

export function shapeOf(shapes: ReadonlyMap<string, readonly number[]>, name: string): readonly number[] {
  return shapes.get(name) ?? unknownTensor(name);
}

function unknownTensor(name: string): never {
  throw new OxygenError('INTERNAL', `the builder asked for the unknown tensor ${name}`);
}
