/**
 * The inner loop of both resampling passes, in WebAssembly SIMD: about five times as fast as JavaScript, and every
 * Node that this program supports has it.
 */
import * as wasm from './wasm';
import { get, set } from './wasm';

/** Pillow keeps 8 bits for the value and 2 for overshoot: 32 - 8 - 2. */
export const PRECISION_BITS = 22;
const ROUNDING = 1 << (PRECISION_BITS - 1);

/** A record of `taps` begins with the offset of the first tap and the bytes of all weights; the weights follow. */
export const TAPS_HEADER = 2;

const [DST, DST_END, DST_STEP, SRC, SRC_STEP, TAPS, TAPS_STEP, TAP_STEP] = [0, 1, 2, 3, 4, 5, 6, 7] as const;
const [AT, WEIGHT, WEIGHT_END, SUM] = [8, 9, 10, 11] as const;
const NUMBER_BYTES = wasm.constant(4);

const kernel = wasm.instantiate<typeof weighLine>(8, 3, 1, [
  wasm.loop(
    [
      set(AT, wasm.add(get(SRC), wasm.load(get(TAPS), 0))),
      set(WEIGHT, wasm.add(get(TAPS), wasm.constant(4 * TAPS_HEADER))),
      set(WEIGHT_END, wasm.add(get(WEIGHT), wasm.load(get(TAPS), 4))),
      set(SUM, wasm.lanesOf(wasm.constant(ROUNDING))),
      wasm.loop(
        [
          set(
            SUM,
            wasm.lanesAdd(
              get(SUM),
              wasm.lanesMultiply(wasm.loadBytes(get(AT)), wasm.loadInAllLanes(get(WEIGHT))),
            ),
          ),
          set(AT, wasm.add(get(AT), get(TAP_STEP))),
          set(WEIGHT, wasm.add(get(WEIGHT), NUMBER_BYTES)),
        ],
        wasm.isBelow(get(WEIGHT), get(WEIGHT_END)),
      ),
      wasm.storeBytes(get(DST), wasm.lanesShiftRight(get(SUM), PRECISION_BITS)),
      set(DST, wasm.add(get(DST), get(DST_STEP))),
      set(SRC, wasm.add(get(SRC), get(SRC_STEP))),
      set(TAPS, wasm.add(get(TAPS), get(TAPS_STEP))),
    ],
    wasm.isBelow(get(DST), get(DST_END)),
  ),
]);

/** Grown to at least `bytes`. Scratch: whatever lies in it is anybody's. */
export function kernelMemory(bytes: number): ArrayBuffer {
  const missing = bytes - kernel.memory.buffer.byteLength;
  if (missing > 0) kernel.memory.grow(Math.ceil(missing / wasm.PAGE_BYTES));
  return kernel.memory.buffer;
}

/**
 * Writes groups of four bytes at `dst`, `dst + dstStep` … below `dstEnd`. Each is the weighted sum of the groups of
 * four bytes at `src + first tap`, then `tapStep` apart, rounded and clipped to u8. From one to the next `src` moves on
 * by `srcStep` and `taps`, the address of a record, by `tapsStep`. All are bytes in `kernelMemory`; up to three bytes
 * beyond the last pixel are read and written.
 */
export function weighLine(
  dst: number,
  dstEnd: number,
  dstStep: number,
  src: number,
  srcStep: number,
  taps: number,
  tapsStep: number,
  tapStep: number,
): void {
  kernel.run(dst, dstEnd, dstStep, src, srcStep, taps, tapsStep, tapStep);
}
