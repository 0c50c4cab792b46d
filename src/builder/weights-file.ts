/** Appends tensors to one weight file, each at a 4096-aligned offset so that it can be mapped. */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { basename } from 'node:path';

const ALIGNMENT = 4096;

export interface WeightRange {
  /** Bare file name beside the graphs. */
  readonly file: string;
  readonly offset: number;
  readonly bytes: number;
}

type Values = Float32Array | Uint8Array;

export class WeightsFile {
  readonly #fd: number;
  readonly #file: string;
  #end = 0;

  constructor(path: string) {
    this.#file = basename(path);
    this.#fd = openSync(path, 'wx');
  }

  append(values: Values): WeightRange {
    return this.stream(append => append(values));
  }

  /** What `write` appends piece by piece is one tensor. */
  stream(write: (append: (values: Values) => void) => void): WeightRange {
    const offset = Math.ceil(this.#end / ALIGNMENT) * ALIGNMENT;
    this.#end = offset;
    write(values => {
      const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
      for (let done = 0; done < bytes.byteLength;) {
        const length = Math.min(1 << 30, bytes.byteLength - done);
        done += writeSync(this.#fd, bytes, done, length, this.#end + done);
      }
      this.#end += bytes.byteLength;
    });
    return { file: this.#file, offset, bytes: this.#end - offset };
  }

  close(): void {
    try {
      fsyncSync(this.#fd);
    } finally {
      closeSync(this.#fd);
    }
  }
}
