/** Camera messages → RGB pictures. Every size is checked before a byte is read. */
import sharp from 'sharp';
import { OxygenError } from '../core/errors';
import { ENCODINGS } from './encodings';

/** [height, width, 3] u8, rows without padding. */
export interface RgbImage {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** The picture part of a `sensor_msgs/Image`; `step` is the bytes from one row to the next. */
export interface RawImage {
  readonly encoding: string;
  readonly width: number;
  readonly height: number;
  readonly step: number;
  readonly isBigEndian: boolean;
  readonly data: Uint8Array;
}

/** A compressed picture of a few kB can claim any size; 8K video frames still pass. */
const MAX_PIXELS = 8192 * 4608;

const sizeError = (img: RawImage, problem: string): OxygenError => {
  const { encoding, width, height, step, data } = img;
  return new OxygenError(
    'IMAGE_SIZE',
    `${problem} (encoding ${encoding}, width ${width}, height ${height}, step ${step}, ${data.length} bytes of data). ` +
      'Check the camera driver.',
    { details: { encoding, width, height, step, bytes: data.length } },
  );
};

const isSize = (n: number): boolean => Number.isSafeInteger(n) && n > 0;

/**
 * Row padding is dropped, alpha is ignored. The result never shares memory with the message.
 *
 * @throws IMAGE_ENCODING for a layout that is not in the table; IMAGE_SIZE when the numbers do not fit together.
 */
export function decodeRaw(img: RawImage): RgbImage {
  const encoding = ENCODINGS.get(img.encoding);
  if (encoding === undefined) {
    throw new OxygenError(
      'IMAGE_ENCODING',
      `Image encoding "${img.encoding}" is not supported; supported are ${[...ENCODINGS.keys()].join(', ')}. ` +
        'Set one of them in the camera driver.',
      { details: { encoding: img.encoding, supported: [...ENCODINGS.keys()] } },
    );
  }
  const { width, height, step, data } = img;
  if (!isSize(width) || !isSize(height)) throw sizeError(img, 'The image has no pixels');
  if (width * height > MAX_PIXELS) {
    throw sizeError(img, `The image has ${width * height} pixels, more than the limit of ${MAX_PIXELS}`);
  }
  const rowBytes = encoding.rowBytes(width);
  if (!isSize(step) || step < rowBytes) {
    throw sizeError(img, `The step of ${step} bytes is shorter than a row of ${rowBytes} bytes`);
  }
  if (data.length !== step * height) {
    throw sizeError(img, `The image should hold step x height = ${step * height} bytes, not ${data.length}`);
  }
  const out = new Uint8Array(width * height * 3);
  encoding.toRgb(data, width, height, step, out);
  return { width, height, data: out };
}

const startsWith = (data: Uint8Array, ...magic: number[]): boolean =>
  magic.every((byte, i) => data[i] === byte);

const isJpegOrPng = (data: Uint8Array): boolean =>
  startsWith(data, 0xff, 0xd8, 0xff) || startsWith(data, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

const corrupt = (format: string, bytes: number, problem: string, cause?: unknown): OxygenError =>
  new OxygenError('IMAGE_CORRUPT', `Compressed image (format "${format}", ${bytes} bytes): ${problem}`, {
    details: { format, bytes },
    cause,
  });

/**
 * JPEG or PNG → RGB. Which of them it is, and the order of colours, come from the bytes alone: `format` (as in
 * `sensor_msgs/CompressedImage`) differs between drivers and only goes into messages. Grey becomes R = G = B, alpha
 * is removed without being multiplied in, and neither colour profile nor EXIF orientation is applied.
 *
 * @throws IMAGE_CORRUPT for empty, cut or damaged data and for other kinds of files.
 */
export async function decodeCompressed(data: Uint8Array, format: string): Promise<RgbImage> {
  if (data.length === 0) throw corrupt(format, 0, 'the message holds no data.');
  if (!isJpegOrPng(data))
    throw corrupt(format, data.length, 'neither JPEG nor PNG; no other kind is supported.');
  try {
    const decoded = await sharp(data, { failOn: 'error', limitInputPixels: MAX_PIXELS, ignoreIcc: true })
      .removeAlpha()
      .toColourspace('srgb')
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true });
    return { width: decoded.info.width, height: decoded.info.height, data: decoded.data };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw corrupt(format, data.length, `cannot be decoded: ${reason}`, error);
  }
}
