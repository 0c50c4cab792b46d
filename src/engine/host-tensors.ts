/** Tensors that the host reads straight from the weight files, by range: no second copy of the embedding table. */
import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { OxygenError } from '../core/errors';
import { fromBfloat16 } from '../model/bfloat16';
import type { Manifest } from '../model/manifest';
import { elements, EMBEDDING_NAMES } from '../model/tensors';

export class HostTensors {
  readonly #dir: string;
  readonly #manifest: Manifest;
  readonly #fds = new Map<string, number>();

  constructor(dir: string, manifest: Manifest) {
    this.#dir = dir;
    this.#manifest = manifest;
  }

  /** A whole tensor. */
  read(name: string): Float32Array {
    return this.#readFrom(name, 0, elements(this.#entry(name).shape));
  }

  /** Embedding rows × √width, [ids.length, width], as the model was trained. */
  embed(ids: readonly number[]): Float32Array {
    const { width, vocab } = this.#manifest.model.language;
    const scale = Math.fround(Math.sqrt(width));
    const rows = new Float32Array(ids.length * width);
    ids.forEach((id, i) => {
      if (!Number.isInteger(id) || id < 0 || id >= vocab) {
        throw new OxygenError('INTERNAL', `token id ${id} is outside the vocabulary of ${vocab}`);
      }
      const row = this.#readFrom(EMBEDDING_NAMES[0], id * width, width);
      for (let d = 0; d < width; d++) rows[i * width + d] = (row[d] as number) * scale;
    });
    return rows;
  }

  close(): void {
    for (const fd of this.#fds.values()) closeSync(fd);
    this.#fds.clear();
  }

  #entry(name: string): Manifest['hostTensors'][string] {
    const entry = this.#manifest.hostTensors[name];
    if (!entry)
      throw new OxygenError(
        'ENGINE_INVALID',
        `engine.json names no host tensor ${name}; build the engine again`,
      );
    return entry;
  }

  #readFrom(name: string, start: number, count: number): Float32Array {
    const { file, offset, dtype } = this.#entry(name);
    let fd = this.#fds.get(file);
    if (fd === undefined) {
      fd = openSync(join(this.#dir, file), 'r');
      this.#fds.set(file, fd);
    }
    const stored = dtype === 'BF16' ? new Uint16Array(count) : new Float32Array(count);
    const at = offset + stored.BYTES_PER_ELEMENT * start;
    if (readSync(fd, stored, 0, stored.byteLength, at) !== stored.byteLength) {
      throw new OxygenError(
        'ENGINE_INVALID',
        `${join(this.#dir, file)} ends inside ${name}; build the engine again`,
      );
    }
    return stored instanceof Float32Array ? stored : fromBfloat16(stored);
  }
}
