/**
 * Pillow's antialiased bilinear `resize`, bit for bit: two passes, a triangle filter whose support grows with the
 * scale, 22-bit fixed-point weights, and rounding to u8 between the passes. The horizontal pass comes first, as in
 * every Pillow up to 12 and in what the checkpoints were trained with. Pillow 13 goes vertical first where
 * `h - h' > max(0, 2 * (w - w'))`, that is for pictures more than about twice as high as wide; single values then
 * differ by 1.
 */
import type { CameraRotation } from '../core/robot';
import type { RgbImage } from './image';
import { kernelMemory, PRECISION_BITS, TAPS_HEADER, weighLine } from './resize-kernel';

/** Looking `Math` up in an inner loop costs much in an embedded context (Jest). */
const { abs, max, min, trunc } = Math;

/** How each output sample of one axis is made: `length` records for the kernel, `stride` numbers each. */
interface Taps {
  readonly records: Int32Array;
  readonly stride: number;
}

/** Input sample i of the axis lies at byte `origin + i * unit`. */
function makeTaps(inSize: number, outSize: number, origin: number, unit: number): Taps {
  const scale = inSize / outSize;
  const support = max(scale, 1);
  const stride = TAPS_HEADER + Math.ceil(support) * 2 + 1;
  const records = new Int32Array(outSize * stride);
  const exact = new Float64Array(stride);
  const inverse = 1 / support;
  for (let i = 0; i < outSize; i++) {
    const centre = (i + 0.5) * scale;
    const first = max(0, trunc(centre - support + 0.5));
    const count = min(inSize, trunc(centre + support + 0.5)) - first;
    let total = 0;
    for (let t = 0; t < count; t++) {
      const w = max(0, 1 - abs((t + first - centre + 0.5) * inverse));
      exact[t] = w;
      total += w;
    }
    const record = i * stride;
    records[record] = origin + first * unit;
    records[record + 1] = count * Int32Array.BYTES_PER_ELEMENT;
    for (let t = 0; t < count; t++) {
      records[record + TAPS_HEADER + t] = trunc(0.5 + (exact[t]! / total) * (1 << PRECISION_BITS));
    }
  }
  return { records, stride: stride * Int32Array.BYTES_PER_ELEMENT };
}

/** Every area of the kernel's memory may be overrun by a few bytes. */
const SLACK = 16;

/** Start addresses of areas of these sizes, and where they end. */
function layOut(...sizes: readonly number[]): { readonly starts: readonly number[]; readonly end: number } {
  let end = 0;
  const starts = sizes.map(bytes => {
    const start = end;
    end = Math.ceil((end + bytes + SLACK) / SLACK) * SLACK;
    return start;
  });
  return { starts, end };
}

/**
 * Scales the image, turned by `rotate` before, to exactly `width` x `height`.
 *
 * @returns [height, width, 3] RGB in scratch memory: to be copied before the next call.
 */
export function scalePillow(
  image: RgbImage,
  rotate: CameraRotation,
  width: number,
  height: number,
): Uint8Array {
  const inPitch = image.width * 3;
  const pitch = width * 3;
  // Turned by 180°, a row is read from its end and the rows from the last one: the sums are those of the turned image.
  const turned = rotate === 180;
  const pixel = turned ? -3 : 3;
  const across = makeTaps(image.width, width, turned ? inPitch - 3 : 0, pixel);
  const down = makeTaps(image.height, height, 0, pitch);
  const { starts, end } = layOut(
    across.records.byteLength,
    down.records.byteLength,
    inPitch,
    pitch * image.height,
    pitch * height,
  );
  const [acrossAt, downAt, row, rows, out] = starts as [number, number, number, number, number];
  const memory = kernelMemory(end);
  const bytes = new Uint8Array(memory);
  new Int32Array(memory, acrossAt).set(across.records);
  new Int32Array(memory, downAt).set(down.records);
  for (let y = 0; y < image.height; y++) {
    const from = (turned ? image.height - 1 - y : y) * inPitch;
    bytes.set(image.data.subarray(from, from + inPitch), row);
    const to = rows + y * pitch;
    weighLine(to, to + pitch, 3, row, 0, acrossAt, across.stride, pixel);
  }
  for (let y = 0; y < height; y++) {
    const to = out + y * pitch;
    weighLine(to, to + pitch, 4, rows, 4, downAt + y * down.stride, 0, pitch);
  }
  return bytes.subarray(out, out + pitch * height);
}
