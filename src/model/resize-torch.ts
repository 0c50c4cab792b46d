/**
 * Plain bilinear interpolation of the four nearest pixels, as torch's `interpolate(mode='bilinear',
 * align_corners=False)` in lerobot. There the result stays a float; here it is rounded to u8, which the vision encoder
 * takes, so it is off by up to half a level: 0.004 of the range [-1, 1].
 */
import type { CameraRotation } from '../core/robot';
import type { RgbImage } from './image';

/** Output sample i of an axis: `low[i]` with the weight `1 - share[i]` and `high[i]` with `share[i]`. */
interface Neighbours {
  readonly low: Int32Array;
  readonly high: Int32Array;
  readonly share: Float64Array;
}

function neighbours(inSize: number, outSize: number, turned: boolean): Neighbours {
  const scale = inSize / outSize;
  const low = new Int32Array(outSize);
  const high = new Int32Array(outSize);
  const share = new Float64Array(outSize);
  for (let i = 0; i < outSize; i++) {
    const position = Math.max(0, (i + 0.5) * scale - 0.5);
    const before = Math.trunc(position);
    const after = Math.min(before + 1, inSize - 1);
    low[i] = turned ? inSize - 1 - before : before;
    high[i] = turned ? inSize - 1 - after : after;
    share[i] = position - before;
  }
  return { low, high, share };
}

/**
 * Scales the image, turned by `rotate` before, to exactly `width` x `height`.
 *
 * @returns [height, width, 3] RGB.
 */
export function scaleTorch(
  image: RgbImage,
  rotate: CameraRotation,
  width: number,
  height: number,
): Uint8Array {
  const { data, width: inWidth, height: inHeight } = image;
  const across = neighbours(inWidth, width, rotate === 180);
  const down = neighbours(inHeight, height, rotate === 180);
  const out = new Uint8Array(width * height * 3);
  let at = 0;
  for (let y = 0; y < height; y++) {
    const upper = down.low[y]! * inWidth;
    const lower = down.high[y]! * inWidth;
    const v = down.share[y]!;
    for (let x = 0; x < width; x++) {
      const left = across.low[x]!;
      const right = across.high[x]!;
      const h = across.share[x]!;
      for (let c = 0; c < 3; c++) {
        const a = data[(upper + left) * 3 + c]!;
        const b = data[(upper + right) * 3 + c]!;
        const d = data[(lower + left) * 3 + c]!;
        const e = data[(lower + right) * 3 + c]!;
        // Storing into u8 cuts the fraction off.
        out[at++] = (1 - v) * ((1 - h) * a + h * b) + v * ((1 - h) * d + h * e) + 0.5;
      }
    }
  }
  return out;
}
