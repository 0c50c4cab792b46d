/** Pictures for tests of resizing. */
import { ENCODINGS } from '../../src/model/encodings';
import type { RgbImage } from '../../src/model/image';
import type { RawImage } from '../../src/model/image-checks';

export const filled = (width: number, height: number, value: number): RgbImage => ({
  width,
  height,
  data: new Uint8Array(width * height * 3).fill(value),
});

/** Noise that depends on the seed only. */
export function noise(width: number, height: number, seed: number): RgbImage {
  let state = seed * 2654435761 + 1;
  const data = new Uint8Array(width * height * 3).map(() => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state;
  });
  return { width, height, data };
}

/** The same picture turned by 180°. */
export function turned({ width, height, data }: RgbImage): RgbImage {
  const out = new Uint8Array(data.length);
  for (let pixel = 0; pixel < width * height; pixel++)
    out.set(data.subarray(pixel * 3, pixel * 3 + 3), (width * height - 1 - pixel) * 3);
  return { width, height, data: out };
}

/** A camera message of noise with `padding` bytes of noise after each row. */
export function rawNoise(
  encoding: string,
  width: number,
  height: number,
  padding: number,
  seed: number,
): RawImage {
  const step = ENCODINGS.get(encoding)!.rowBytes(width) + padding;
  return { encoding, width, height, step, data: noise(step, height, seed).data.slice(0, step * height) };
}
