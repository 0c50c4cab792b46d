/** What can be said about a camera message without decoding it. Cheap: nothing here looks at more than a few bytes. */
import { OxygenError } from '../core/errors';
import { ENCODINGS, type Encoding } from './encodings';

/** The picture part of a `sensor_msgs/Image`; `step` is the bytes from one row to the next. */
export interface RawImage {
  readonly encoding: string;
  readonly width: number;
  readonly height: number;
  readonly step: number;
  readonly data: Uint8Array;
}

/** A compressed picture of a few kB can claim any size; 8K video frames still pass. */
export const MAX_PIXELS = 8192 * 4608;
/** No JPEG or PNG of that many pixels is larger, and rows with more padding than that are a mistake. */
const MAX_BYTES = MAX_PIXELS * 4;

const SUPPORTED = [...ENCODINGS.keys()];

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
 * After this every byte of the picture is where its numbers say.
 *
 * @throws IMAGE_ENCODING for a layout that is not in the table; IMAGE_SIZE when the numbers do not fit together.
 */
export function checkRaw(img: RawImage): Encoding {
  const encoding = ENCODINGS.get(img.encoding);
  if (encoding === undefined) {
    throw new OxygenError(
      'IMAGE_ENCODING',
      `Image encoding "${img.encoding}" is not supported; supported are ${SUPPORTED.join(', ')}. ` +
        'Set one of them in the camera driver.',
      { details: { encoding: img.encoding, supported: SUPPORTED } },
    );
  }
  const { width, height, step, data } = img;
  if (!isSize(width) || !isSize(height)) throw sizeError(img, 'The image has no pixels');
  if (width * height > MAX_PIXELS) {
    throw sizeError(img, `The image has ${width * height} pixels, more than the limit of ${MAX_PIXELS}`);
  }
  const fault = encoding.sizeFault(width, height);
  if (fault !== null) throw sizeError(img, fault);
  const rowBytes = encoding.rowBytes(width);
  if (!isSize(step) || step < rowBytes) {
    throw sizeError(img, `The step of ${step} bytes is shorter than a row of ${rowBytes} bytes`);
  }
  if (data.length !== step * height) {
    throw sizeError(img, `The image should hold step x height = ${step * height} bytes, not ${data.length}`);
  }
  if (data.length > MAX_BYTES)
    throw sizeError(img, `The image is larger than the limit of ${MAX_BYTES} bytes`);
  return encoding;
}

const startsWith = (data: Uint8Array, ...magic: number[]): boolean =>
  magic.every((byte, i) => data[i] === byte);

const isJpeg = (data: Uint8Array): boolean => startsWith(data, 0xff, 0xd8, 0xff);
const isPng = (data: Uint8Array): boolean => startsWith(data, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
/** Bit depth and colour type of the header: 16 bits of grey, with or without alpha, are depth or a raw sensor. */
const isGrey16Png = (data: Uint8Array): boolean =>
  isPng(data) && data[24] === 16 && (data[25] === 0 || data[25] === 4);

/** What a compressed file holds, by the words of `format`. */
interface Format {
  /** Layout of the pixels that went into the file; null: not said. */
  readonly layout: string | null;
  /** The layout is what the encoder was given in place of BGR: `compressed rgb8` means exchanged colours. */
  readonly exchanged: boolean;
}

/** Layouts whose JPEG or PNG is a picture; another one is a mosaic, a pair of half planes or a table of numbers. */
const PICTURES = new Set(['rgb8', 'bgr8', 'rgba8', 'bgra8', 'mono8']);
/** Depth has a header of its own; the others are kinds of files. */
const OTHER_KINDS = /\b(?:compressedDepth|tiff?|webp|bmp|gif|qoi|rvl|h26[45]|hevc|av1|vp[89]|ffmpeg)\b|^lib/i;

/**
 * image_transport writes `ORIGINAL; KIND compressed LAYOUT`. ORIGINAL is what the picture was before; LAYOUT is what
 * the encoder got. The encoder writes a right file from `bgr8`; from `rgb8` it writes one with red and blue exchanged,
 * which image_transport's own subscriber puts right by this word. Many drivers write less: a bare kind, or nothing.
 */
function readFormat(format: string): Format {
  const [, original, layout] = /^\s*(\w*)\s*;[^;]*?(?:\bcompressed\s*(\w*))?\s*$/.exec(format) ?? [];
  if (layout) return { layout, exchanged: /^rgba?8$/.test(layout) };
  return { layout: original && !/^(?:jpe?g|png)$/i.test(original) ? original : null, exchanged: false };
}

const corrupt = (format: string, bytes: number, problem: string): OxygenError =>
  new OxygenError('IMAGE_CORRUPT', `Compressed image (format "${format}", ${bytes} bytes): ${problem}`, {
    details: { format, bytes },
  });

const otherKind = (format: string, problem: string): OxygenError =>
  new OxygenError(
    'IMAGE_ENCODING',
    `Compressed image format "${format}" is not supported: ${problem}; supported are JPEG and PNG of ` +
      `${[...PICTURES].join(', ')}. Choose another topic or set the publisher's format.`,
    { details: { format, supported: ['jpeg', 'png'] } },
  );

/**
 * Whether it is a JPEG or PNG comes from the bytes; the layout of its pixels from `format`, where that says one.
 * Returns whether red and blue of the file are exchanged.
 *
 * @throws IMAGE_ENCODING for another kind of file and for pixels that are not colours; IMAGE_CORRUPT for none at all.
 */
export function checkCompressed(data: Uint8Array, format: string): { readonly exchanged: boolean } {
  if (data.length === 0) throw corrupt(format, 0, 'the message holds no data.');
  if (data.length > MAX_BYTES)
    throw corrupt(format, data.length, `it is larger than the limit of ${MAX_BYTES}.`);
  if (OTHER_KINDS.test(format)) throw otherKind(format, 'it is neither JPEG nor PNG');
  if (!isJpeg(data) && !isPng(data))
    throw corrupt(format, data.length, 'neither JPEG nor PNG; no other kind is supported.');
  const { layout, exchanged } = readFormat(format);
  if (layout !== null && !PICTURES.has(layout))
    throw otherKind(format, `the file holds ${layout}, which is no picture of 8-bit colours`);
  if (isGrey16Png(data)) throw otherKind(format, 'the file holds 16 bits of grey, as depth does');
  return { exchanged };
}
