/** Where weights come from: a safetensors folder, or the formula weights of `--random-init`. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { OxygenError } from '../core/errors';
import { readModelConfig, type ModelConfig } from '../model/config';
import { EMBEDDING_NAMES, tensorShapes, UNUSED_TENSORS } from '../model/tensors';
import { formulaRows, formulaTensor } from './formula';
import { SafetensorsFile } from './safetensors';

export interface Checkpoint {
  readonly config: ModelConfig;
  /** What it is, for engine.json. */
  readonly source: string;
  /** Whose file it is: decides resize, normalisation formula and where statistics are looked for. */
  readonly family: 'openpi' | 'lerobot';
  /** Element types of the weights, sorted: `F32`, `BF16`, `BF16+F32`. */
  readonly dtype: string;
  /** A tensor of `tensorShapes(config)` as float32. */
  read(name: string): Float32Array;
  /** Rows first .. first+count-1 (of the first axis) of a tensor: nobody holds a table of 2 GB in memory. */
  readRows(name: string, first: number, count: number): Float32Array;
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
    read: name => formulaTensor(name, shapeOf(shapes, name), seed),
    readRows: (name, first, count) => formulaRows(name, shapeOf(shapes, name), seed, first, count),
    close: () => undefined,
  };
}

/** Opens DIR/config.json and DIR/model.safetensors and checks every tensor's presence and shape before any is read. */
export function openCheckpoint(dir: string): Checkpoint {
  if (!existsSync(dir)) throw new OxygenError('CHECKPOINT_NOT_FOUND', `no checkpoint folder at ${dir}`);
  const config = readModelConfig(join(dir, 'config.json'));
  const file = new SafetensorsFile(join(dir, 'model.safetensors'));
  try {
    const names = matchTensors(config, file);
    return {
      config,
      source: 'model.safetensors',
      family: 'openpi',
      dtype: [...new Set([...names.values()].map(name => file.info(name).dtype))].sort().join('+'),
      read: name => file.readFloat32(names.get(name) ?? name),
      readRows: (name, first, count) => file.readRowsFloat32(names.get(name) ?? name, first, count),
      close: () => file.close(),
    };
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Maps each wanted name to its name in the file; throws CHECKPOINT_KEYS listing what does not fit. */
function matchTensors(config: ModelConfig, file: SafetensorsFile): ReadonlyMap<string, string> {
  const shapes = tensorShapes(config);
  const prefix = [...file.tensors.keys()].every(n => n.startsWith('model.')) ? 'model.' : '';
  const tied = EMBEDDING_NAMES.filter(n => file.tensors.has(prefix + n));
  const names = new Map<string, string>();
  const faults: string[] = [];
  for (const [name, shape] of shapes) {
    const inFile = prefix + (name === EMBEDDING_NAMES[0] && tied[0] ? tied[0] : name);
    const found = file.tensors.get(inFile);
    if (!found) faults.push(`missing ${name} [${shape}]`);
    else if (found.shape.join() !== shape.join())
      faults.push(`${inFile} is [${found.shape}], expected [${shape}]`);
    names.set(name, inFile);
  }
  const known = new Set([...names.values(), ...[...EMBEDDING_NAMES, ...UNUSED_TENSORS].map(n => prefix + n)]);
  for (const name of file.tensors.keys()) if (!known.has(name)) faults.push(`unexpected ${name}`);
  if (faults.length > 0) {
    const hint = [...file.tensors.keys()].some(n => n.includes('state_proj') || n.includes('action_time_mlp'))
      ? ' It looks like a pi0 checkpoint; only pi0.5 is supported.'
      : '';
    const shown = faults.slice(0, 5).join('; ') + (faults.length > 5 ? '; ...' : '');
    throw new OxygenError(
      'CHECKPOINT_KEYS',
      `${file.path}: ${faults.length} tensors do not fit: ${shown}.${hint}`,
      {
        details: { faults },
      },
    );
  }
  if (tied.length === 2) refuseDifferentTables(file, prefix);
  return names;
}

function refuseDifferentTables(file: SafetensorsFile, prefix: string): void {
  const [a, b] = EMBEDDING_NAMES.map(n => file.readBytes(prefix + n));
  if (a && b && Buffer.compare(a, b) !== 0) {
    throw new OxygenError(
      'CHECKPOINT_KEYS',
      `${file.path}: ${EMBEDDING_NAMES.join(' and ')} are tied in pi0.5 but differ in this file`,
    );
  }
}

export function shapeOf(shapes: ReadonlyMap<string, readonly number[]>, name: string): readonly number[] {
  const shape = shapes.get(name);
  if (!shape) throw new OxygenError('INTERNAL', `the builder asked for the unknown tensor ${name}`);
  return shape;
}
