/**
 * Bounded reader of the safetensors format (u64 header length, JSON header, data): tensors are read one at a time or
 * by rows, never the file whole, and nothing is allocated that the file does not hold.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { OxygenError } from '../core/errors';
import { toFloat32 } from './safetensors-floats';
import { DTYPE_BYTES, MAX_HEADER_BYTES, parseHeader, printable, type TensorInfo } from './safetensors-header';

export class SafetensorsFile {
  readonly path: string;
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  readonly #fd: number;

  /** Throws CHECKPOINT_NOT_FOUND or CHECKPOINT_INVALID. */
  constructor(path: string) {
    this.path = path;
    this.#fd = openFile(path);
    try {
      this.tensors = readHeader(this.#fd, path);
    } catch (error) {
      closeSync(this.#fd);
      throw error;
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  info(name: string): TensorInfo {
    const info = this.tensors.get(name);
    if (!info) throw new OxygenError('CHECKPOINT_KEYS', `${this.path} holds no tensor ${printable(name)}`);
    return info;
  }

  /** The tensor's bytes, in a buffer of their own. */
  readBytes(name: string): Uint8Array {
    const { begin, end } = this.info(name);
    return this.#read(begin, end - begin);
  }

  /** The tensor as float32; F16, BF16 and F64 are converted. */
  readFloat32(name: string): Float32Array {
    const { dtype } = this.info(name);
    return toFloat32(this.readBytes(name), dtype, `${printable(name)} in ${this.path}`);
  }

  /** Rows first .. first+count-1 of the first axis as float32. */
  readRowsFloat32(name: string, first: number, count: number): Float32Array {
    const { dtype, shape, begin } = this.info(name);
    const rowBytes = shape.slice(1).reduce((n, d) => n * d, DTYPE_BYTES[dtype]);
    if (first < 0 || first + count > (shape[0] ?? 0))
      throw new OxygenError('INTERNAL', `rows ${first}..${first + count - 1} are outside ${name} [${shape}]`);
    const bytes = this.#read(begin + first * rowBytes, count * rowBytes);
    return toFloat32(bytes, dtype, `${printable(name)} in ${this.path}`);
  }

  /** An integer or boolean tensor as numbers. */
  readInts(name: string): number[] {
    const { dtype } = this.info(name);
    const { buffer } = this.readBytes(name);
    switch (dtype) {
      case 'I64':
        return Array.from(new BigInt64Array(buffer), Number);
      case 'I32':
        return Array.from(new Int32Array(buffer));
      case 'I16':
        return Array.from(new Int16Array(buffer));
      case 'I8':
        return Array.from(new Int8Array(buffer));
      case 'U8':
      case 'BOOL':
        return Array.from(new Uint8Array(buffer));
      default:
        throw new OxygenError(
          'CHECKPOINT_INVALID',
          `${printable(name)} in ${this.path} is ${dtype}, integers were expected`,
        );
    }
  }

  #read(position: number, count: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(count);
    readExactly(this.#fd, bytes, position, this.path);
    return bytes;
  }
}

function openFile(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) throw new OxygenError('CHECKPOINT_NOT_FOUND', `no file at ${path}`);
  // a pipe would wait for a writer
  if (!found.isFile()) throw new OxygenError('CHECKPOINT_INVALID', `${path} is no regular file`);
  try {
    return openSync(path, 'r');
  } catch (cause) {
    throw new OxygenError('CHECKPOINT_NOT_FOUND', `cannot open ${path}: ${String(cause)}`, { cause });
  }
}

function readExactly(fd: number, into: Uint8Array, position: number, path: string): void {
  // readSync takes at most 2 GiB a call.
  const step = 1 << 30;
  for (let done = 0; done < into.byteLength;) {
    const n = readSync(fd, into, done, Math.min(step, into.byteLength - done), position + done);
    if (n === 0) {
      throw new OxygenError('CHECKPOINT_INVALID', `${path} ends at byte ${position + done}, it is truncated`);
    }
    done += n;
  }
}

function readHeader(fd: number, path: string): ReadonlyMap<string, TensorInfo> {
  const invalid = (why: string) =>
    new OxygenError('CHECKPOINT_INVALID', `${path} is not a whole safetensors file: ${why}`);
  const fileBytes = fstatSync(fd).size;
  if (fileBytes < 8) throw invalid(`${fileBytes} bytes are too few for a header`);
  const prefix = new Uint8Array(8);
  readExactly(fd, prefix, 0, path);
  const headerBytes = Number(new DataView(prefix.buffer).getBigUint64(0, true));
  if (headerBytes + 8 > fileBytes) {
    throw invalid(`the header claims ${headerBytes} bytes, the file has ${fileBytes}`);
  }
  if (headerBytes > MAX_HEADER_BYTES) {
    throw invalid(`the header has ${headerBytes} bytes, at most ${MAX_HEADER_BYTES} are read`);
  }
  const header = new Uint8Array(headerBytes);
  readExactly(fd, header, 8, path);
  return parseHeader(header, 8 + headerBytes, fileBytes, invalid);
}
