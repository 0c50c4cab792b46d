/**
 * Linear weights [out, in] of a checkpoint in the layout of the engine's products: transposed and side by side,
 * [in, Σ out], as float32 or as one byte each. Read in slices: the embedding table of pi0.5 is 2 GB.
 */

/** The part of a checkpoint that the graphs read. */
export interface WeightSource {
  /** A whole tensor as float32. */
  read(name: string): Float32Array;
  /** Rows of the first axis as float32. */
  readRows(name: string, first: number, count: number): Float32Array;
}

/** Several [out, in] tensors with the same `in`. */
export interface Stack {
  readonly names: readonly string[];
  readonly into: number;
  /** Rows of each tensor. */
  readonly outs: readonly number[];
}

const SLICE_VALUES = 4 * 1024 * 1024;

/** Calls `visit` with rows of the stack in order; `column` is the first row's place in [0, Σ out). */
export function forRows(
  source: WeightSource,
  { names, into, outs }: Stack,
  visit: (rows: Float32Array, column: number) => void,
): void {
  const step = Math.max(1, Math.floor(SLICE_VALUES / into));
  let column = 0;
  names.forEach((name, n) => {
    const out = outs[n] as number;
    for (let first = 0; first < out; first += step) {
      const count = Math.min(step, out - first);
      visit(source.readRows(name, first, count), column + first);
    }
    column += out;
  });
}

export const width = (stack: Stack): number => stack.outs.reduce((a, b) => a + b, 0);

/** [in, Σ out] in float32. */
export function transposed(source: WeightSource, stack: Stack): Float32Array {
  const total = width(stack);
  const all = new Float32Array(stack.into * total);
  forRows(source, stack, (rows, column) => transposeInto(all, total, column, rows, stack.into));
  return all;
}

export interface Int8Weights {
  /** [in, Σ out]: 128 + round(w / scale of its column), 1..255. */
  readonly codes: Uint8Array;
  /** [Σ out] */
  readonly scales: Float32Array;
}

/** Symmetric 8-bit weights with one scale per output. */
export function quantized(source: WeightSource, stack: Stack): Int8Weights {
  const total = width(stack);
  const codes = new Uint8Array(stack.into * total);
  const scales = new Float32Array(total);
  forRows(source, stack, (rows, column) => {
    const slice = new Uint8Array(rows.length);
    for (let row = 0, at = 0; at < rows.length; row++, at += stack.into) {
      scales[column + row] = quantizeRow(rows, at, stack.into, slice);
    }
    transposeInto(codes, total, column, slice, stack.into);
  });
  return { codes, scales };
}

function quantizeRow(rows: Float32Array, at: number, length: number, into: Uint8Array): number {
  let largest = 0;
  for (let i = at; i < at + length; i++) largest = Math.max(largest, Math.abs(rows[i] as number));
  const scale = largest === 0 ? 1 : largest / 127;
  for (let i = at; i < at + length; i++) into[i] = Math.round((rows[i] as number) / scale) + 128;
  return scale;
}

/** rows [n, in] → columns `column` .. `column + n - 1` of all [in, total]. */
function transposeInto<T extends Float32Array | Uint8Array>(
  all: T,
  total: number,
  column: number,
  rows: T,
  into: number,
): void {
  const tile = 32; // both sides of a tile stay in cache
  const count = rows.length / into;
  for (let o0 = 0; o0 < count; o0 += tile)
    for (let i0 = 0; i0 < into; i0 += tile)
      for (let i = i0; i < Math.min(into, i0 + tile); i++)
        for (let o = o0; o < Math.min(count, o0 + tile); o++)
          all[i * total + column + o] = rows[o * into + i] as number;
}
