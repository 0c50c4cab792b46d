/** The records inside one chunk. */
import { crc32 } from 'node:zlib';
import { unpack } from './compression';
import { uint64, viewOf } from './file-window';
import type { FileWindow } from './file-window';
import { MAX_PIECE_BYTES } from './limits';
import { HEADER_BYTES, recordName } from './mcap-records';
import type { TopRecord } from './mcap-walk';

/**
 * Decompressed and checked against its crc, if it has one.
 * Throws a plain Error with what is wrong with it, OxygenError BAG_DAMAGED where the disk cannot be read.
 */
export async function chunkData(window: FileWindow, { content, head }: TopRecord): Promise<Uint8Array> {
  const { prefixBytes, packedBytes, compression, uncompressedBytes, crc } = head!;
  if (packedBytes > MAX_PIECE_BYTES)
    throw new Error(`it has ${packedBytes} bytes, at most ${MAX_PIECE_BYTES} are read`);
  const packed = await window.at(content + prefixBytes, packedBytes);
  const data = unpack(packed, compression, uncompressedBytes);
  const actual = crc === 0 ? 0 : crc32(data);
  if (actual !== crc) throw new Error(`its crc is ${hex(actual)}, but should be ${hex(crc)}`);
  return data;
}

/** Calls `visit` for each record, `from` and `to` with its header. Returns what ends the chunk before its end, or null. */
export function eachInChunk(
  data: Uint8Array,
  visit: (opcode: number, from: number, to: number) => void,
): string | null {
  const view = viewOf(data);
  let at = 0;
  while (at < data.byteLength) {
    const rest = data.byteLength - at - HEADER_BYTES;
    if (rest < 0) return 'it ends in the middle of a record';
    const opcode = view.getUint8(at);
    const length = uint64(view, at + 1);
    if (length > rest)
      return `a ${recordName(opcode)} in it claims ${length} bytes, but only ${rest} are left`;
    const end = at + HEADER_BYTES + length;
    visit(opcode, at, end);
    at = end;
  }
  return null;
}

const hex = (crc: number): string => crc.toString(16).padStart(8, '0');
