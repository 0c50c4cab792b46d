/** Raw image layouts of `sensor_msgs/image_encodings` as a table; a new encoding is a new row. */

export interface Encoding {
  /** Bytes that one row of `width` pixels needs; `step` may be larger. */
  readonly rowBytes: (width: number) => number;
  /**
   * Writes [height, width, 3] RGB into `out`. Rows begin `step` bytes apart in `data`; the sizes have been checked.
   */
  readonly toRgb: (data: Uint8Array, width: number, height: number, step: number, out: Uint8Array) => void;
}

/** Interleaved 8-bit channels; `r`, `g` and `b` are byte positions inside a pixel, other bytes are ignored. */
const packed = (pixelBytes: number, r: number, g: number, b: number): Encoding => ({
  rowBytes: width => width * pixelBytes,
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
  toRgb(data, width, height, step, out) {
    for (let y = 0; y < height; y++) out.set(data.subarray(y * step, y * step + width * 3), y * width * 3);
  },
};

export const ENCODINGS: ReadonlyMap<string, Encoding> = new Map([
  ['rgb8', rgb8],
  ['bgr8', packed(3, 2, 1, 0)],
  ['rgba8', packed(4, 0, 1, 2)],
  ['bgra8', packed(4, 2, 1, 0)],
  ['mono8', packed(1, 0, 0, 0)],
]);
