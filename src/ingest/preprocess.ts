/** Camera messages → the pictures that the vision encoder takes. */
import { toOxygenError, type ErrorCode } from '../core/errors';
import { decodeCompressed, decodeRaw, type RawImage } from '../model/image';
import { resizeWithPad } from '../model/resize';

export type PreprocessImage =
  | { readonly slot: string; readonly kind: 'raw'; readonly image: RawImage }
  | {
      readonly slot: string;
      readonly kind: 'compressed';
      readonly format: string;
      readonly data: Uint8Array;
    };

/** `height` and `width` are the engine's resolution. */
export interface PreprocessJob {
  readonly height: number;
  readonly width: number;
  readonly images: readonly PreprocessImage[];
}

export interface PreprocessFailure {
  readonly slot: string;
  readonly code: ErrorCode;
  readonly message: string;
}

export interface PreprocessResult {
  /** [n, height, width, 3] u8 RGB: the cameras of the job, in its order, without those in `failures`. */
  readonly images: Uint8Array;
  readonly failures: readonly PreprocessFailure[];
}

async function pictureOf(image: PreprocessImage, width: number, height: number): Promise<Uint8Array> {
  const rgb =
    image.kind === 'raw' ? decodeRaw(image.image) : await decodeCompressed(image.data, image.format);
  return resizeWithPad(rgb, width, height);
}

/** Never rejects because of an image: one that cannot be used is listed in `failures`. */
export async function preprocess({ height, width, images }: PreprocessJob): Promise<PreprocessResult> {
  const pictures: Uint8Array[] = [];
  const failures: PreprocessFailure[] = [];
  for (const image of images) {
    try {
      pictures.push(await pictureOf(image, width, height));
    } catch (error) {
      const { code, message } = toOxygenError(error);
      failures.push({ slot: image.slot, code, message });
    }
  }
  const size = height * width * 3;
  const out = new Uint8Array(pictures.length * size);
  pictures.forEach((picture, i) => out.set(picture, i * size));
  return { images: out, failures };
}
