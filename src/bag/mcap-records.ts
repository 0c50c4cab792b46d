/** The shapes of MCAP records that can be checked from their first bytes, so that garbage is not taken for a record. */
import { Opcode } from '@mcap/core';
import { COMPRESSIONS } from './compression';
import { uint64, viewOf } from './file-window';
import { MAX_DESCRIPTION_BYTES, MAX_PIECE_BYTES, mib } from './limits';

/** Opcode and length. */
export const HEADER_BYTES = 9;
/** Channel, sequence number, log and publish time of a message. */
export const MESSAGE_PREFIX_BYTES = 22;
export const MAGIC_BYTES = 8;
export const FOOTER_CONTENT_BYTES = 20;
/** Of a chunk without the name of its compression. */
const CHUNK_FIXED_BYTES = 40;
/** So much of the content is enough for `flawOf` and `chunkHead`. */
export const PROBE_BYTES = CHUNK_FIXED_BYTES + 16;

export interface ChunkHead {
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly uncompressedBytes: number;
  /** 0: not given. */
  readonly crc: number;
  readonly compression: string;
  readonly packedBytes: number;
  /** Bytes of the chunk record's content before the packed records. */
  readonly prefixBytes: number;
}

const NAMES: Readonly<Record<number, string>> = {
  [Opcode.HEADER]: 'header',
  [Opcode.FOOTER]: 'footer',
  [Opcode.SCHEMA]: 'schema',
  [Opcode.CHANNEL]: 'channel',
  [Opcode.MESSAGE]: 'message',
  [Opcode.CHUNK]: 'chunk',
  [Opcode.MESSAGE_INDEX]: 'message index',
  [Opcode.DATA_END]: 'end of data',
};

export const recordName = (opcode: number): string => NAMES[opcode] ?? 'record';

export const isReserved = (opcode: number): boolean => opcode === 0 || (opcode > Opcode.MAX && opcode < 0x80);
export const isPrivate = (opcode: number): boolean => opcode >= 0x80;

/** What makes a record of this length impossible; null: nothing. `probe`: the first bytes of its content, up to PROBE_BYTES. */
export function flawOf(opcode: number, length: number, probe: Uint8Array): string | null {
  switch (opcode) {
    case Opcode.FOOTER:
      return length === FOOTER_CONTENT_BYTES ? null : `a footer of ${length} bytes`;
    case Opcode.DATA_END:
      return length === 4 ? null : `an end of data of ${length} bytes`;
    case Opcode.SUMMARY_OFFSET:
      return length === 17 ? null : `a summary offset of ${length} bytes`;
    case Opcode.MESSAGE_INDEX:
      return messageIndexEntries(length, probe) === null ? 'a message index that contradicts itself' : null;
    case Opcode.CHUNK:
      return chunkHead(length, probe) === null ? 'a chunk that contradicts itself' : null;
    case Opcode.MESSAGE:
      return length < MESSAGE_PREFIX_BYTES
        ? `a message of ${length} bytes`
        : tooLong(opcode, length, MAX_PIECE_BYTES);
    case Opcode.SCHEMA:
    case Opcode.CHANNEL:
      return tooLong(opcode, length, MAX_DESCRIPTION_BYTES);
    default:
      return null;
  }
}

const tooLong = (opcode: number, length: number, limit: number): string | null =>
  length > limit ? `a ${recordName(opcode)} of ${length} bytes, at most ${mib(limit)} are read` : null;

/** Null if the lengths in it do not fit together. */
export function chunkHead(length: number, probe: Uint8Array): ChunkHead | null {
  if (length < CHUNK_FIXED_BYTES || probe.byteLength < CHUNK_FIXED_BYTES) return null;
  const view = viewOf(probe);
  const nameBytes = view.getUint32(28, true);
  const prefixBytes = CHUNK_FIXED_BYTES + nameBytes;
  if (prefixBytes > Math.min(length, probe.byteLength)) return null;
  const compression = Buffer.from(probe.subarray(32, 32 + nameBytes)).toString('latin1');
  const packedBytes = uint64(view, 32 + nameBytes);
  if (packedBytes !== length - prefixBytes || !/^[a-z0-9]*$/.test(compression)) return null;
  return {
    startNs: view.getBigUint64(0, true),
    endNs: view.getBigUint64(8, true),
    uncompressedBytes: uint64(view, 16),
    crc: view.getUint32(24, true),
    compression,
    packedBytes,
    prefixBytes,
  };
}

/** Of a chunk that was found by searching for it: stricter, because any bytes may look like one. */
export const isLikelyChunk = (head: ChunkHead | null): head is ChunkHead =>
  head !== null &&
  COMPRESSIONS.some(each => each === head.compression) &&
  head.uncompressedBytes <= MAX_PIECE_BYTES &&
  (head.compression !== '' || head.uncompressedBytes === head.packedBytes);

/** Messages of the chunk that it counts; null if its lengths do not fit together. */
export function messageIndexEntries(length: number, probe: Uint8Array): number | null {
  if (length < 6 || probe.byteLength < 6) return null;
  const bytes = viewOf(probe).getUint32(2, true);
  return bytes === length - 6 && bytes % 16 === 0 ? bytes / 16 : null;
}

export const messageIndexChannel = (probe: Uint8Array): number => viewOf(probe).getUint16(0, true);

export interface MessagePrefix {
  readonly channel: number;
  readonly logNs: bigint;
}

export function messagePrefix(content: Uint8Array): MessagePrefix {
  const view = viewOf(content);
  return { channel: view.getUint16(0, true), logNs: view.getBigUint64(6, true) };
}
