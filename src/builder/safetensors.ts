/**
 * Bounded reader of the safetensors format: the header is checked before anything is read, tensors are read one at
 * a time, nothing outside the file is ever touched.
 * Format: u64 header length, JSON header {name: {dtype, shape, data_offsets}}, data.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { z } from 'zod';
import { OxygenError } from '../core/errors';

const MAX_HEADER_BYTES = 100 * 1024 * 1024;

const DTYPE_BYTES = {
  F64: 8,
  F32: 4,
  F16: 2,
  BF16: 2,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U8: 1,
  BOOL: 1,
} as const;
export type Dtype = keyof typeof DTYPE_BYTES;

export interface TensorInfo {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  /** Byte range in the file. */
  readonly begin: number;
  readonly end: number;
}

const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(z.number().int().nonnegative()),
  data_offsets: z.tuple([z.number().int().nonnegative(), z.number().int().nonnegative()]),
});

export class SafetensorsFile {
  readonly path: string;
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  readonly #fd: number;

  /** Throws CHECKPOINT_NOT_FOUND or CHECKPOINT_INVALID. */
  constructor(path: string) {
    this.path = path;
    try {
      this.#fd = openSync(path, 'r');
    } catch (cause) {
      throw new OxygenError('CHECKPOINT_NOT_FOUND', `cannot open ${path}: ${String(cause)}`, { cause });
    }
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
    if (!info) throw new OxygenError('CHECKPOINT_KEYS', `${this.path} holds no tensor ${name}`);
    return info;
  }

  /** The tensor's bytes, in a buffer of their own. */
  readBytes(name: string): Uint8Array {
    const { begin, end } = this.info(name);
    const bytes = new Uint8Array(end - begin);
    readExactly(this.#fd, bytes, begin, this.path);
    return bytes;
  }

  /** The tensor as float32; F16, BF16 and F64 are converted. */
  readFloat32(name: string): Float32Array {
    const { dtype } = this.info(name);
    return toFloat32(this.readBytes(name), dtype, `${name} in ${this.path}`);
  }

  /** Rows of the first axis as float32. */
  readRowsFloat32(name: string, first: number, count: number): Float32Array {
    const { dtype, shape, begin } = this.info(name);
    const rowBytes = shape.slice(1).reduce((n, d) => n * d, DTYPE_BYTES[dtype]);
    if (first < 0 || first + count > (shape[0] ?? 0))
      throw new OxygenError('INTERNAL', `rows ${first}..${first + count - 1} are outside ${name} [${shape}]`);
    const bytes = new Uint8Array(count * rowBytes);
    readExactly(this.#fd, bytes, begin + first * rowBytes, this.path);
    return toFloat32(bytes, dtype, `${name} in ${this.path}`);
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
          `${name} in ${this.path} is ${dtype}, integers were expected`,
        );
    }
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
    new OxygenError('CHECKPOINT_INVALID', `${path} is not a safetensors file: ${why}`);
  const fileBytes = fstatSync(fd).size;
  if (fileBytes < 8) throw invalid(`${fileBytes} bytes are too few for a header`);
  const prefix = new Uint8Array(8);
  readExactly(fd, prefix, 0, path);
  const headerBytes = Number(new DataView(prefix.buffer).getBigUint64(0, true));
  if (headerBytes > MAX_HEADER_BYTES || headerBytes + 8 > fileBytes) {
    throw invalid(`the header claims ${headerBytes} bytes, the file has ${fileBytes}`);
  }
  const text = new Uint8Array(headerBytes);
  readExactly(fd, text, 8, path);
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(text));
  } catch (cause) {
    throw invalid(`the header is not JSON (${String(cause)})`);
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw invalid('the header is no object');

  const tensors = new Map<string, TensorInfo>();
  const dataStart = 8 + headerBytes;
  for (const [name, value] of Object.entries(json)) {
    if (name === '__metadata__') continue;
    const entry = entrySchema.safeParse(value);
    if (!entry.success) throw invalid(`tensor ${name}: ${z.prettifyError(entry.error)}`);
    const { dtype, shape, data_offsets } = entry.data;
    if (!(dtype in DTYPE_BYTES)) throw invalid(`tensor ${name} has the unknown dtype ${dtype}`);
    const [begin, end] = data_offsets;
    const bytes = shape.reduce((n, d) => n * d, DTYPE_BYTES[dtype as Dtype]);
    if (end - begin !== bytes)
      throw invalid(`tensor ${name} [${shape}] ${dtype} needs ${bytes} bytes, has ${end - begin}`);
    if (dataStart + end > fileBytes) throw invalid(`tensor ${name} ends beyond the file; it is truncated`);
    tensors.set(name, { dtype: dtype as Dtype, shape, begin: dataStart + begin, end: dataStart + end });
  }
  let last = { name: 'the header', end: dataStart };
  for (const [name, t] of [...tensors].sort((a, b) => a[1].begin - b[1].begin || a[1].end - b[1].end)) {
    if (t.begin < last.end) throw invalid(`tensors ${last.name} and ${name} overlap`);
    last = { name, end: t.end };
  }
  return tensors;
}

/** Converts little-endian tensor bytes (aligned to their own buffer) to float32. */
export function toFloat32(bytes: Uint8Array, dtype: Dtype, what: string): Float32Array {
  const buffer = bytes.byteOffset === 0 ? bytes.buffer : bytes.slice().buffer;
  switch (dtype) {
    case 'F32':
      return new Float32Array(buffer, 0, bytes.byteLength / 4);
    case 'F64':
      return Float32Array.from(new Float64Array(buffer, 0, bytes.byteLength / 8));
    case 'BF16': {
      const half = new Uint16Array(buffer, 0, bytes.byteLength / 2);
      const bits = new Uint32Array(half.length);
      for (let i = 0; i < half.length; i++) bits[i] = (half[i] as number) << 16;
      return new Float32Array(bits.buffer);
    }
    case 'F16': {
      const half = new Uint16Array(buffer, 0, bytes.byteLength / 2);
      const out = new Float32Array(half.length);
      for (let i = 0; i < half.length; i++) out[i] = halfToFloat(half[i] as number);
      return out;
    }
    default:
      throw new OxygenError('CHECKPOINT_INVALID', `${what} is ${dtype}, a floating-point type was expected`);
  }
}

function halfToFloat(h: number): number {
  const sign = h & 0x8000 ? -1 : 1;
  const exponent = (h >> 10) & 0x1f;
  const fraction = h & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
