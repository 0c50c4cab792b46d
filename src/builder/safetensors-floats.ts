/** Number formats of weights: everything becomes float32, and float32 becomes what a file wants. */
import { OxygenError } from '../core/errors';
import { fromBfloat16 } from '../model/bfloat16';
import type { Dtype } from './safetensors-header';

/** Formats that hold weights. */
export const FLOAT_DTYPES: ReadonlySet<Dtype> = new Set(['F64', 'F32', 'F16', 'BF16']);

/** Converts little-endian tensor bytes to float32; exact but for F64. `what` names the tensor in errors. */
export function toFloat32(bytes: Uint8Array, dtype: Dtype, what: string): Float32Array {
  const { buffer } = bytes.byteOffset === 0 ? bytes : bytes.slice();
  switch (dtype) {
    case 'F32':
      return new Float32Array(buffer, 0, bytes.byteLength / 4);
    case 'F64':
      return new Float32Array(new Float64Array(buffer, 0, bytes.byteLength / 8));
    case 'BF16':
      return fromBfloat16(new Uint16Array(buffer, 0, bytes.byteLength / 2));
    case 'F16': {
      const half = new Uint16Array(buffer, 0, bytes.byteLength / 2);
      const bits = new Uint32Array(half.length);
      const table = halfTable();
      for (let i = 0; i < half.length; i++) bits[i] = table[half[i] as number] as number;
      return new Float32Array(bits.buffer);
    }
    default:
      throw new OxygenError('CHECKPOINT_INVALID', `${what} is ${dtype}, a floating-point type was expected`);
  }
}

let halves: Uint32Array | null = null;

/** The float32 bits of every half. */
function halfTable(): Uint32Array {
  if (halves) return halves;
  const values = new Float32Array(65536);
  for (let h = 0; h < 65536; h++) {
    const exponent = (h >> 10) & 0x1f;
    const fraction = h & 0x3ff;
    const sign = h & 0x8000 ? -1 : 1;
    if (exponent === 0) values[h] = sign * fraction * 2 ** -24;
    else if (exponent === 31) values[h] = fraction ? NaN : sign * Infinity;
    else values[h] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  }
  halves = new Uint32Array(values.buffer);
  return halves;
}

/** Formats that the writer knows. */
export type StoredDtype = 'F32' | 'BF16' | 'F16';

/** The values as little-endian bytes of `dtype`, rounded to nearest, ties to even. F32 shares the memory of `values`. */
export function fromFloat32(values: Float32Array, dtype: StoredDtype): Uint8Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  if (dtype === 'F32') return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const words = new Uint16Array(bits.length);
  const round = dtype === 'BF16' ? brainBits : halfBits;
  for (let i = 0; i < bits.length; i++) words[i] = round(bits[i] as number);
  return new Uint8Array(words.buffer);
}

/** bfloat16 is the upper half of a float32. */
function brainBits(x: number): number {
  // a NaN whose lower half is cut or rounded away would read as infinity
  if ((x & 0x7fffffff) > 0x7f800000) return (x >>> 16) | 0x40;
  return (x + 0x7fff + ((x >>> 16) & 1)) >>> 16;
}

function halfBits(x: number): number {
  const sign = (x >>> 16) & 0x8000;
  const magnitude = x & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  // 65520 and above round to infinity
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  const exponent = magnitude >>> 23;
  // below 2^-14 the half is subnormal: the shift grows as the value shrinks
  const subnormal = exponent < 113;
  const shift = subnormal ? Math.min(126 - exponent, 25) : 13;
  const mantissa = subnormal ? (magnitude & 0x7fffff) | 0x800000 : magnitude - 0x38000000;
  const kept = mantissa >>> shift;
  const half = 1 << (shift - 1);
  const rest = mantissa & (2 * half - 1);
  return sign | (kept + (rest > half || (rest === half && (kept & 1) === 1) ? 1 : 0));
}
