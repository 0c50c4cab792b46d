/** Camera messages → the pictures that the vision encoder takes. */
import { toOxygenError, type ErrorCode } from '../core/errors';
import type { CameraRotation } from '../core/robot';
import { decodeCompressed, decodeRaw } from '../model/image';
import type { RawImage } from '../model/image-checks';
import type { ResizeProfile } from '../model/manifest';
import { resizeWithPad } from '../model/resize';

interface Camera {
  readonly slot: string;
  readonly rotate: CameraRotation;
}

export type PreprocessImage = Camera &
  (
    | { readonly kind: 'raw'; readonly image: RawImage }
    | { readonly kind: 'compressed'; readonly format: string; readonly data: Uint8Array }
  );

/** `height`, `width` and `resize` are the engine's. */
export interface PreprocessJob {
  readonly height: number;
  readonly width: number;
  readonly resize: ResizeProfile;
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

async function pictureOf(image: PreprocessImage, job: PreprocessJob): Promise<Uint8Array> {
  const rgb =
    image.kind === 'raw' ? decodeRaw(image.image) : await decodeCompressed(image.data, image.format);
  return resizeWithPad(rgb, job.width, job.height, job.resize, image.rotate);
}

/** Never rejects because of an image: one that cannot be used is listed in `failures`. */
export async function preprocess(job: PreprocessJob): Promise<PreprocessResult> {
  const pictures: Uint8Array[] = [];
  const failures: PreprocessFailure[] = [];
  for (const image of job.images) {
    try {
      pictures.push(await pictureOf(image, job));
    } catch (error) {
      const { code, message } = toOxygenError(error);
      failures.push({ slot: image.slot, code, message });
    }
  }
  const size = job.height * job.width * 3;
  const out = new Uint8Array(pictures.length * size);
  pictures.forEach((picture, i) => out.set(picture, i * size));
  return { images: out, failures };
}
