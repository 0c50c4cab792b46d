/** Writes float32 tensors as a safetensors file. */
import { closeSync, openSync, writeSync } from 'node:fs';

export interface TensorValues {
  readonly shape: readonly number[];
  readonly values: ArrayLike<number>;
}

export function writeSafetensors(path: string, tensors: ReadonlyMap<string, TensorValues>): void {
  let end = 0;
  const entries = Array.from(tensors, ([name, { shape, values }]) => {
    const begin = end;
    end += 4 * values.length;
    return [name, { dtype: 'F32', shape, data_offsets: [begin, end] }] as const;
  });
  const text = JSON.stringify(Object.fromEntries(entries));
  // the data starts at a multiple of eight
  const header = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(header.byteLength));
  const fd = openSync(path, 'w');
  try {
    writeSync(fd, prefix);
    writeSync(fd, header);
    for (const { values } of tensors.values())
      writeSync(fd, new Uint8Array(Float32Array.from(values).buffer));
  } finally {
    closeSync(fd);
  }
}
