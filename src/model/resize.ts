/** Resize with pad: a camera picture into the square that the vision encoder takes, with black bars. */
import { OxygenError } from '../core/errors';
import type { CameraRotation } from '../core/robot';
import type { RgbImage } from './image';
import type { ResizeProfile } from './manifest';
import { scalePillow } from './resize-pillow';
import { scaleTorch } from './resize-torch';

const SCALE = { pillow: scalePillow, torch: scaleTorch } as const;

/**
 * Scales `image`, turned by `rotate` degrees before, into `width` x `height` keeping its proportions, centred on black;
 * when the bars cannot be equal the bottom or right one is a pixel wider. Sizes and bars are the same in both profiles,
 * and an image that already has the size keeps its values.
 *
 * @returns [height, width, 3] RGB, always a new array.
 * @throws IMAGE_SIZE when so long and thin that no pixel is left of one side.
 */
export function resizeWithPad(
  image: RgbImage,
  width: number,
  height: number,
  profile: ResizeProfile,
  rotate: CameraRotation = 0,
): Uint8Array {
  const ratio = Math.max(image.width / width, image.height / height);
  const newWidth = Math.trunc(image.width / ratio);
  const newHeight = Math.trunc(image.height / ratio);
  if (newWidth < 1 || newHeight < 1) {
    throw new OxygenError(
      'IMAGE_SIZE',
      `An image of ${image.width}x${image.height} is too narrow: resized into ${width}x${height} nothing of it is left.`,
      { details: { inWidth: image.width, inHeight: image.height, width, height } },
    );
  }
  const same = rotate === 0 && newWidth === image.width && newHeight === image.height;
  const picture = same ? image.data : SCALE[profile](image, rotate, newWidth, newHeight);
  const out = new Uint8Array(width * height * 3);
  const left = (width - newWidth) >> 1;
  const top = (height - newHeight) >> 1;
  const rowBytes = newWidth * 3;
  for (let y = 0; y < newHeight; y++) {
    out.set(picture.subarray(y * rowBytes, (y + 1) * rowBytes), ((top + y) * width + left) * 3);
  }
  return out;
}
