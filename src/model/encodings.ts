/**
 * Raw image layouts of `sensor_msgs/image_encodings` as a table; a new encoding is a new row. All have 8 bits per
 * sample, so `is_bigendian` says nothing about them.
 *
 * Not here, and so refused: layouts that do not say what their numbers mean (`8UC1`, `8UC3`), depth and 16-bit ones.
 */
import { demosaic } from './bayer';

export interface Encoding {
  /** Bytes that one row of `width` pixels needs; `step` may be larger. */
  readonly rowBytes: (width: number) => number;
  /** Why a picture of this size cannot be in this layout; null: it can. */
  readonly sizeFault: (width: number, height: number) => string | null;
  /**
   * Writes [height, width, 3] RGB into `out`. Rows begin `step` bytes apart in `data`; the sizes have been checked.
   */
  readonly toRgb: (data: Uint8Array, width: number, height: number, step: number, out: Uint8Array) => void;
}

const anySize = (): null => null;

/** Interleaved 8-bit channels; `r`, `g` and `b` are byte positions inside a pixel, other bytes are ignored. */
const packed = (pixelBytes: number, r: number, g: number, b: number): Encoding => ({
  rowBytes: width => width * pixelBytes,
  sizeFault: anySize,
  toRgb(data, width, height, step, out) {
    let at = 0;
    for (let y = 0; y < height; y++) {
      const row = y * step;
      for (let p = row; p < row + width * pixelBytes; p += pixelBytes) {
        out[at] = data[p + r]!;
        out[at + 1] = data[p + g]!;
        out[at + 2] = data[p + b]!;
        at += 3;
      }
    }
  },
});

/** Already RGB: rows are copied whole. */
const rgb8: Encoding = {
  rowBytes: width => width * 3,
  sizeFault: anySize,
  toRgb(data, width, height, step, out) {
    for (let y = 0; y < height; y++) out.set(data.subarray(y * step, y * step + width * 3), y * width * 3);
  },
};

/** ITU-R BT.601 from video range (luma 16..235, colour differences 16..240), in 1/65536. */
const YUV = (() => {
  const [red, blue] = [0.299, 0.114];
  const green = 1 - red - blue;
  const fixed = (factor: number): number => Math.round(factor * 65536);
  const colour = 255 / 224;
  return {
    luma: fixed(255 / 219),
    redOfV: fixed(colour * 2 * (1 - red)),
    greenOfU: fixed((colour * 2 * (1 - blue) * blue) / green),
    greenOfV: fixed((colour * 2 * (1 - red) * red) / green),
    blueOfU: fixed(colour * 2 * (1 - blue)),
  };
})();

/** From 1/65536 to 0..255. */
const toByte = (value: number): number => (value < 0 ? 0 : value > 0xffffff ? 255 : value >> 16);

/** 4:2:2: four bytes hold two pixels that share U and V; `y`, `u` and `v` are positions, the second luma is at y + 2. */
const yuv422 = (y: number, u: number, v: number): Encoding => ({
  rowBytes: width => width * 2,
  sizeFault: width => (width % 2 === 0 ? null : 'The width must be even, because two pixels share a colour'),
  toRgb(data, width, height, step, out) {
    const { luma, redOfV, greenOfU, greenOfV, blueOfU } = YUV;
    let at = 0;
    for (let line = 0; line < height; line++) {
      const row = line * step;
      for (let p = row; p < row + width * 2; p += 4) {
        const first = luma * (data[p + y]! - 16);
        const second = luma * (data[p + y + 2]! - 16);
        const cb = data[p + u]! - 128;
        const cr = data[p + v]! - 128;
        const red = redOfV * cr + 32768;
        const green = 32768 - greenOfU * cb - greenOfV * cr;
        const blue = blueOfU * cb + 32768;
        out[at] = toByte(first + red);
        out[at + 1] = toByte(first + green);
        out[at + 2] = toByte(first + blue);
        out[at + 3] = toByte(second + red);
        out[at + 4] = toByte(second + green);
        out[at + 5] = toByte(second + blue);
        at += 6;
      }
    }
  },
});

const bayer = (redX: number, redY: number): Encoding => ({
  rowBytes: width => width,
  sizeFault: (width, height) =>
    width >= 2 && height >= 2 ? null : 'A Bayer picture needs at least 2 x 2 pixels',
  toRgb: (data, width, height, step, out) => demosaic(data, { width, height, step }, redX, redY, out),
});

const uyvy = yuv422(1, 0, 2);
const yuyv = yuv422(0, 1, 3);

export const ENCODINGS: ReadonlyMap<string, Encoding> = new Map([
  ['rgb8', rgb8],
  ['bgr8', packed(3, 2, 1, 0)],
  ['rgba8', packed(4, 0, 1, 2)],
  ['bgra8', packed(4, 2, 1, 0)],
  ['mono8', packed(1, 0, 0, 0)],
  ['uyvy', uyvy],
  ['yuv422', uyvy],
  ['yuyv', yuyv],
  ['yuv422_yuy2', yuyv],
  ['bayer_rggb8', bayer(0, 0)],
  ['bayer_bggr8', bayer(1, 1)],
  ['bayer_gbrg8', bayer(0, 1)],
  ['bayer_grbg8', bayer(1, 0)],
]);
