/**
 * Resize with pad, bit for bit as Pillow's antialiased bilinear `resize` inside openpi's `resize_with_pad`:
 * two passes, horizontal first, a triangle filter whose support grows with the scale, 22-bit fixed-point
 * weights, and rounding to u8 between the passes. (Pillow 13 goes vertical first for pictures about twice as high as
 * wide, which moves single values by 1; the order here is that of all earlier versions and of the checkpoints.)
 */
import { OxygenError } from '../core/errors';
import type { RgbImage } from './image';

/** Pillow keeps 8 bits for the value and 2 for overshoot: 32 - 8 - 2. */
const PRECISION_BITS = 22;
const ROUNDING = 1 << (PRECISION_BITS - 1);

/** Looking `Math` up in the inner loop costs much in an embedded context (Jest). */
const { imul } = Math;

/** How each output sample of one axis is made: taps `first[i] .. first[i] + count[i]`, weights at `i * stride`. */
interface Axis {
  readonly first: Int32Array;
  readonly count: Int32Array;
  readonly weights: Int32Array;
  readonly stride: number;
}

/** Everything about one pair of shapes; `rows` is the picture between the passes, scratch of every call. */
interface Plan {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly top: number;
  readonly horizontal: Axis | null;
  readonly vertical: Axis | null;
  readonly rows: Uint8Array;
}

function makeAxis(inSize: number, outSize: number): Axis {
  const scale = inSize / outSize;
  const support = Math.max(scale, 1);
  const stride = Math.ceil(support) * 2 + 1;
  const first = new Int32Array(outSize);
  const count = new Int32Array(outSize);
  const weights = new Int32Array(outSize * stride);
  const exact = new Float64Array(stride);
  const inverse = 1 / support;
  for (let i = 0; i < outSize; i++) {
    const centre = (i + 0.5) * scale;
    const begin = Math.max(0, Math.trunc(centre - support + 0.5));
    const taps = Math.min(inSize, Math.trunc(centre + support + 0.5)) - begin;
    let total = 0;
    for (let t = 0; t < taps; t++) {
      const w = Math.max(0, 1 - Math.abs((t + begin - centre + 0.5) * inverse));
      exact[t] = w;
      total += w;
    }
    first[i] = begin;
    count[i] = taps;
    for (let t = 0; t < taps; t++) {
      weights[i * stride + t] = Math.trunc(0.5 + (exact[t]! / total) * (1 << PRECISION_BITS));
    }
  }
  return { first, count, weights, stride };
}

function makePlan(inWidth: number, inHeight: number, width: number, height: number): Plan {
  const ratio = Math.max(inWidth / width, inHeight / height);
  const newWidth = Math.trunc(inWidth / ratio);
  const newHeight = Math.trunc(inHeight / ratio);
  if (newWidth < 1 || newHeight < 1) {
    throw new OxygenError(
      'IMAGE_SIZE',
      `An image of ${inWidth}x${inHeight} is too narrow: resized into ${width}x${height} nothing of it is left.`,
      { details: { inWidth, inHeight, width, height } },
    );
  }
  return {
    width: newWidth,
    height: newHeight,
    left: (width - newWidth) >> 1,
    top: (height - newHeight) >> 1,
    horizontal: newWidth === inWidth ? null : makeAxis(inWidth, newWidth),
    vertical: newHeight === inHeight ? null : makeAxis(inHeight, newHeight),
    rows: newWidth === inWidth ? new Uint8Array(0) : new Uint8Array(newWidth * inHeight * 3),
  };
}

/** A deployment has a handful of camera shapes; a flood of odd ones must not grow the cache. */
const MAX_PLANS = 8;
const plans = new Map<string, Plan>();

function planFor(inWidth: number, inHeight: number, width: number, height: number): Plan {
  const key = `${inWidth}x${inHeight}>${width}x${height}`;
  let plan = plans.get(key);
  if (plan === undefined) {
    plan = makePlan(inWidth, inHeight, width, height);
    if (plans.size >= MAX_PLANS) plans.delete(plans.keys().next().value!);
    plans.set(key, plan);
  }
  return plan;
}

/**
 * One RGB pixel of `dst` at byte `to`: the weighted sum of pixels of `src`, the first at byte `from` and the others
 * `step` bytes apart, with the weights `k .. end`. Both passes are this sum along another axis.
 */
function blend(
  src: Uint8Array,
  from: number,
  step: number,
  weights: Int32Array,
  k: number,
  end: number,
  dst: Uint8Array,
  to: number,
): void {
  let r = ROUNDING;
  let g = ROUNDING;
  let b = ROUNDING;
  for (let at = from; k < end; k++, at += step) {
    const w = weights[k]!;
    r = (r + imul(src[at]!, w)) | 0;
    g = (g + imul(src[at + 1]!, w)) | 0;
    b = (b + imul(src[at + 2]!, w)) | 0;
  }
  r >>= PRECISION_BITS;
  g >>= PRECISION_BITS;
  b >>= PRECISION_BITS;
  // No weight is negative and they sum to 1 within rounding: only the upper side can need a clip.
  dst[to] = r > 255 ? 255 : r;
  dst[to + 1] = g > 255 ? 255 : g;
  dst[to + 2] = b > 255 ? 255 : b;
}

/** [height, inWidth, 3] → [height, axis, 3]. */
function resizeRows(src: Uint8Array, inWidth: number, height: number, axis: Axis, dst: Uint8Array): void {
  const { first, count, weights, stride } = axis;
  const outWidth = first.length;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < outWidth; x++) {
      const k = x * stride;
      const from = (y * inWidth + first[x]!) * 3;
      blend(src, from, 3, weights, k, k + count[x]!, dst, (y * outWidth + x) * 3);
    }
  }
}

/** [inHeight, width, 3] → rows of `dst`, the first at byte `to`, `pitch` bytes apart. */
function resizeColumns(
  src: Uint8Array,
  width: number,
  axis: Axis,
  dst: Uint8Array,
  to: number,
  pitch: number,
): void {
  const { first, count, weights, stride } = axis;
  for (let y = 0; y < first.length; y++) {
    const k = y * stride;
    for (let x = 0; x < width; x++) {
      const from = (first[y]! * width + x) * 3;
      blend(src, from, width * 3, weights, k, k + count[y]!, dst, to + y * pitch + x * 3);
    }
  }
}

/**
 * Scales `image` into `width` x `height` keeping its proportions, centred on black; when the bars cannot be equal
 * the bottom or right one is a pixel wider. An image that already has the size is copied untouched.
 *
 * @returns [height, width, 3] RGB, always a new array.
 * @throws IMAGE_SIZE when so long and thin that no pixel is left of one side.
 */
export function resizeWithPad(image: RgbImage, width: number, height: number): Uint8Array {
  if (image.width === width && image.height === height) return Uint8Array.from(image.data);
  const plan = planFor(image.width, image.height, width, height);
  let rows = image.data;
  if (plan.horizontal !== null) {
    resizeRows(image.data, image.width, image.height, plan.horizontal, plan.rows);
    rows = plan.rows;
  }
  const out = new Uint8Array(width * height * 3);
  const pitch = width * 3;
  const to = plan.top * pitch + plan.left * 3;
  if (plan.vertical !== null) {
    resizeColumns(rows, plan.width, plan.vertical, out, to, pitch);
  } else {
    const rowBytes = plan.width * 3;
    for (let y = 0; y < plan.height; y++) {
      out.set(rows.subarray(y * rowBytes, (y + 1) * rowBytes), to + y * pitch);
    }
  }
  return out;
}
