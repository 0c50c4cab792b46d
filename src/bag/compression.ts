/** Decompression of what a bag claims to be so and so long: never more than that is given or allocated. */
import { decompress, isLoaded } from '@foxglove/wasm-zstd';
import { unpackLz4Frame } from './lz4';
import { viewOf, uint64 } from './file-window';
import { MAX_PIECE_BYTES, mib } from './limits';

export const COMPRESSIONS = ['', 'lz4', 'zstd'] as const;

/** Call it once before `unpack`. */
export const compressionReady = async (): Promise<void> => {
  await isLoaded;
};

/** `bytes` long exactly. Throws a plain Error with the reason. */
export function unpack(packed: Uint8Array, compression: string, bytes: number): Uint8Array {
  const unpacked = unpackAs(packed, compression, bytes);
  if (unpacked.byteLength !== bytes)
    throw new Error(`it holds ${unpacked.byteLength} bytes, not the ${bytes} that it claims`);
  return unpacked;
}

function unpackAs(packed: Uint8Array, compression: string, bytes: number): Uint8Array {
  if (compression === '') return packed;
  if (bytes > MAX_PIECE_BYTES)
    throw new Error(`it claims ${bytes} bytes when decompressed, at most ${mib(MAX_PIECE_BYTES)} are read`);
  if (bytes === 0) return packed.subarray(0, 0);
  if (compression === 'zstd') return unpackZstd(packed, bytes);
  if (compression === 'lz4') return unpackLz4Frame(packed, bytes);
  throw new Error(`the compression "${compression}" is not known here (lz4, zstd)`);
}

function unpackZstd(packed: Uint8Array, bytes: number): Uint8Array {
  try {
    return decompress(packed, bytes);
  } catch (cause) {
    throw new Error('its zstd data is damaged', { cause });
  }
}

export const isZstd = (data: Uint8Array): boolean =>
  data.byteLength >= 4 && data[0] === 0x28 && data[1] === 0xb5 && data[2] === 0x2f && data[3] === 0xfd;

/**
 * A zstd frame that says how long it is when decompressed, as rosbag2 writes it for each message.
 * Throws a plain Error with the reason.
 */
export function unpackZstdFrame(frame: Uint8Array): Uint8Array {
  return unpack(frame, 'zstd', zstdContentBytes(frame));
}

/** RFC 8878, 3.1.1.1: descriptor, window, dictionary id, content size. */
function zstdContentBytes(frame: Uint8Array): number {
  const descriptor = frame[4] ?? 0;
  const single = (descriptor & 0x20) !== 0;
  const sizeBytes = [single ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const at = 5 + (single ? 0 : 1) + ([0, 1, 2, 4][descriptor & 3] ?? 0);
  if (at + sizeBytes > frame.byteLength) throw new Error('its zstd frame is cut');
  const view = viewOf(frame);
  if (sizeBytes === 1) return view.getUint8(at);
  if (sizeBytes === 2) return view.getUint16(at, true) + 256;
  if (sizeBytes === 4) return view.getUint32(at, true);
  if (sizeBytes === 8) return uint64(view, at);
  throw new Error('its zstd frame does not say how long its content is');
}
