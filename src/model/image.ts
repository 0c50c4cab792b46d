/** Camera messages → RGB pictures. Every size is checked before a byte is read. */
import sharp from 'sharp';
import { OxygenError } from '../core/errors';
import { checkCompressed, checkRaw, MAX_PIXELS, type RawImage } from './image-checks';

/** [height, width, 3] u8, rows without padding. */
export interface RgbImage {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/**
 * Row padding is dropped, alpha is ignored. The result never shares memory with the message.
 *
 * @throws IMAGE_ENCODING for a layout that is not in the table; IMAGE_SIZE when the numbers do not fit together.
 */
export function decodeRaw(img: RawImage): RgbImage {
  const encoding = checkRaw(img);
  const { width, height, step, data } = img;
  const out = new Uint8Array(width * height * 3);
  encoding.toRgb(data, width, height, step, out);
  return { width, height, data: out };
}

/**
 * JPEG or PNG → RGB. Which of them it is comes from the bytes. A file holds its colours in the usual order whatever
 * the picture was before, so `format` (as in `sensor_msgs/CompressedImage`) changes nothing, unless it says that the
 * encoder was given RGB for BGR: see `checkCompressed`. Grey becomes R = G = B, alpha is removed without being
 * multiplied in, and neither colour profile nor EXIF orientation is applied.
 *
 * @throws IMAGE_ENCODING for other kinds of files and contents; IMAGE_CORRUPT for empty, cut or damaged data.
 */
export async function decodeCompressed(data: Uint8Array, format: string): Promise<RgbImage> {
  const { exchanged } = checkCompressed(data, format);
  try {
    const decoded = await sharp(data, { failOn: 'error', limitInputPixels: MAX_PIXELS, ignoreIcc: true })
      .removeAlpha()
      .toColourspace('srgb')
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true });
    if (exchanged) exchangeRedAndBlue(decoded.data);
    return { width: decoded.info.width, height: decoded.info.height, data: decoded.data };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `Compressed image (format "${format}", ${data.length} bytes): cannot be decoded: ${reason}`;
    throw new OxygenError('IMAGE_CORRUPT', message, { details: { format, bytes: data.length }, cause });
  }
}

/** In place, [pixels, 3]. */
function exchangeRedAndBlue(data: Uint8Array): void {
  for (let at = 0; at < data.length; at += 3) {
    const red = data[at]!;
    data[at] = data[at + 2]!;
    data[at + 2] = red;
  }
}
