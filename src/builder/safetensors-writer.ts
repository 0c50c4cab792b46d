/** Writes safetensors files row by row: a checkpoint of many gigabytes never is in memory. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { OxygenError } from '../core/errors';
import { elements } from '../model/tensors';
import { fromFloat32, type StoredDtype } from './safetensors-floats';
import { DTYPE_BYTES } from './safetensors-header';

export interface StoredTensor {
  readonly dtype: StoredDtype;
  readonly shape: readonly number[];
}

/** Values converted and written at a time. */
const CHUNK = 1 << 20;

export class SafetensorsWriter {
  readonly #path: string;
  readonly #fd: number;
  /** Tensors not yet complete, in the order of the file. */
  readonly #pending: { readonly name: string; readonly dtype: StoredDtype; left: number }[];

  /** Writes the header. The tensors must then come in the order of the map. */
  constructor(path: string, tensors: ReadonlyMap<string, StoredTensor>) {
    this.#path = path;
    this.#pending = Array.from(tensors, ([name, { dtype, shape }]) => ({
      name,
      dtype,
      left: elements(shape),
    }));
    const header = encodeHeader(tensors);
    this.#fd = openSync(path, 'w');
    try {
      this.#append(header);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** The next values of a tensor: all of it, or as many whole rows as the caller has at hand. */
  write(name: string, values: Float32Array): void {
    this.#skipComplete();
    const tensor = this.#pending[0];
    if (tensor?.name !== name || values.length > tensor.left) {
      const wanted = tensor ? `${tensor.left} values of ${tensor.name}` : 'nothing more';
      throw new OxygenError('INTERNAL', `${this.#path}: ${wanted} expected, got ${values.length} of ${name}`);
    }
    for (let i = 0; i < values.length; i += CHUNK)
      this.#append(fromFloat32(values.subarray(i, i + CHUNK), tensor.dtype));
    tensor.left -= values.length;
  }

  /** Closes a file that is complete; throws INTERNAL otherwise. */
  finish(): void {
    this.#skipComplete();
    this.close();
    const tensor = this.#pending[0];
    if (tensor)
      throw new OxygenError('INTERNAL', `${this.#path}: ${tensor.left} values of ${tensor.name} are missing`);
  }

  /** Gives the file up as it is. */
  close(): void {
    closeSync(this.#fd);
  }

  #skipComplete(): void {
    while (this.#pending[0]?.left === 0) this.#pending.shift();
  }

  #append(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.byteLength;) done += writeSync(this.#fd, bytes, done);
  }
}

function encodeHeader(tensors: ReadonlyMap<string, StoredTensor>): Uint8Array {
  let end = 0;
  const entries = Array.from(tensors, ([name, { dtype, shape }]) => {
    const begin = end;
    end += shape.reduce((n, d) => n * d, DTYPE_BYTES[dtype]);
    return [name, { dtype, shape, data_offsets: [begin, end] }] as const;
  });
  const text = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  // the data starts at a multiple of eight
  const header = Buffer.alloc(8 + Math.ceil(text.byteLength / 8) * 8, ' ');
  header.writeBigUInt64LE(BigInt(header.byteLength - 8));
  text.copy(header, 8);
  return header;
}

export interface TensorValues {
  readonly shape: readonly number[];
  readonly values: ArrayLike<number>;
}

/** A file of float32 tensors that are in memory anyway. */
export function writeSafetensors(path: string, tensors: ReadonlyMap<string, TensorValues>): void {
  const stored = Array.from(tensors, ([name, { shape }]) => [name, { dtype: 'F32', shape }] as const);
  const writer = new SafetensorsWriter(path, new Map(stored));
  try {
    for (const [name, { values }] of tensors) writer.write(name, Float32Array.from(values));
  } catch (error) {
    writer.close();
    throw error;
  }
  writer.finish();
}
