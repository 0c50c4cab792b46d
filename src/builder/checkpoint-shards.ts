/** A checkpoint in several safetensors files, listed in an index: {weight_map: {tensor: file}}. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { OxygenError } from '../core/errors';
import { readSmallFile } from '../model/small-file';
import { SafetensorsFile } from './safetensors';
import { MAX_HEADER_BYTES, printable, type TensorInfo } from './safetensors-header';

export class ShardedSafetensors {
  readonly path: string;
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  readonly #dir: string;
  readonly #fileOf: ReadonlyMap<string, string>;
  /** Opened when first read. */
  readonly #open = new Map<string, SafetensorsFile>();

  /** Checks index and shards against each other. Throws CHECKPOINT_NOT_FOUND, CHECKPOINT_INVALID or CHECKPOINT_KEYS. */
  constructor(dir: string, index: string) {
    this.path = join(dir, index);
    this.#dir = dir;
    this.#fileOf = readIndex(this.path);
    const shards = [...new Set(this.#fileOf.values())].sort();
    const missing = shards.filter(file => !existsSync(join(dir, file)));
    if (missing.length > 0) {
      throw new OxygenError(
        'CHECKPOINT_NOT_FOUND',
        `${this.path} names ${shards.length} shards, ${missing.length} of them missing: ${firstOf(missing)}`,
        { details: { missing } },
      );
    }
    this.tensors = this.#readHeaders(shards);
  }

  readFloat32(name: string): Float32Array {
    return this.#shard(name).readFloat32(name);
  }

  readRowsFloat32(name: string, first: number, count: number): Float32Array {
    return this.#shard(name).readRowsFloat32(name, first, count);
  }

  close(): void {
    for (const file of this.#open.values()) file.close();
    this.#open.clear();
  }

  /** What all shards hold; each is closed again. */
  #readHeaders(shards: readonly string[]): ReadonlyMap<string, TensorInfo> {
    const tensors = new Map<string, TensorInfo>();
    const strangers: string[] = [];
    for (const shard of shards) {
      const file = new SafetensorsFile(join(this.#dir, shard));
      file.close();
      for (const [name, info] of file.tensors) {
        if (this.#fileOf.get(name) === shard) tensors.set(name, info);
        else strangers.push(`${shard} holds ${printable(name)}, which the index does not place there`);
      }
    }
    const absent = [...this.#fileOf].filter(([name]) => !tensors.has(name));
    const faults = [...absent.map(([name, shard]) => `${printable(name)} is not in ${shard}`), ...strangers];
    if (faults.length > 0) {
      throw new OxygenError(
        'CHECKPOINT_KEYS',
        `${this.path} and its shards contradict each other in ${faults.length} tensors: ${firstOf(faults)}`,
        { details: { faults } },
      );
    }
    return tensors;
  }

  #shard(name: string): SafetensorsFile {
    const shard = this.#fileOf.get(name);
    if (shard === undefined)
      throw new OxygenError('CHECKPOINT_KEYS', `${this.path} names no tensor ${printable(name)}`);
    let file = this.#open.get(shard);
    if (!file) this.#open.set(shard, (file = new SafetensorsFile(join(this.#dir, shard))));
    return file;
  }
}

/** Tensor → bare name of its file. */
function readIndex(path: string): ReadonlyMap<string, string> {
  const invalid = (why: string) =>
    new OxygenError('CHECKPOINT_INVALID', `${path} is no safetensors index: ${why}`);
  let json: unknown;
  try {
    json = JSON.parse(readSmallFile(path, MAX_HEADER_BYTES).toString('utf8'));
  } catch (cause) {
    throw invalid(printable(String(cause)));
  }
  const map = typeof json === 'object' && json !== null && 'weight_map' in json ? json.weight_map : null;
  if (typeof map !== 'object' || map === null || Array.isArray(map)) throw invalid('it has no weight_map');
  const files = new Map<string, string>();
  for (const [name, file] of Object.entries(map)) {
    // a shard lies beside its index and nowhere else
    if (typeof file !== 'string' || !/^[\w][\w.-]{0,199}\.safetensors$/.test(file)) {
      throw invalid(
        `${printable(name)} is said to be in ${printable(String(file))}, which is no file name of a shard`,
      );
    }
    files.set(name, file);
  }
  if (files.size === 0) throw invalid('its weight_map is empty');
  return files;
}

const firstOf = (list: readonly string[]): string =>
  list.slice(0, 5).join('; ') + (list.length > 5 ? '; ...' : '');
