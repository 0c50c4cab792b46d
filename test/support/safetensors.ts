/** A small safetensors reader, so that tests do not lean on the code they test. */
import { readFileSync } from 'node:fs';

export interface TestTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** F32, F64, U8, I32, I64 as their arrays; BOOL as bytes; F16 and BF16 as raw 16-bit words. */
  readonly data: Float32Array | Float64Array | Uint8Array | Int32Array | BigInt64Array | Uint16Array;
}

const ARRAYS = {
  F64: Float64Array,
  F32: Float32Array,
  F16: Uint16Array,
  BF16: Uint16Array,
  I64: BigInt64Array,
  I32: Int32Array,
  U8: Uint8Array,
  BOOL: Uint8Array,
} as const;

interface Entry {
  readonly dtype: keyof typeof ARRAYS;
  readonly shape: number[];
  readonly data_offsets: [number, number];
}

export function readSafetensors(path: string): Map<string, TestTensor> {
  const file = readFileSync(path);
  const start = 8 + Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString('utf8', 8, start)) as Record<string, Entry>;
  const tensors = new Map<string, TestTensor>();
  for (const [name, { dtype, shape, data_offsets: at }] of Object.entries(header)) {
    if (name === '__metadata__') continue;
    // A copy: tensors in the file need not be aligned.
    const bytes = Uint8Array.from(file.subarray(start + at[0], start + at[1]));
    tensors.set(name, { dtype, shape, data: new ARRAYS[dtype](bytes.buffer) });
  }
  return tensors;
}
