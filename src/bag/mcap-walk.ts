/**
 * The records of an MCAP file one after the other by their 9-byte headers, without its index. Where a length or a kind
 * cannot be right, the next chunk (or message, in a file without chunks) that fits is searched for, and what lies
 * between becomes one fault.
 */
import { Opcode } from '@mcap/core';
import { counted } from '../core/words';
import type { FileFaults } from './faults';
import { uint64, viewOf } from './file-window';
import type { FileWindow } from './file-window';
import {
  HEADER_BYTES,
  MAGIC_BYTES,
  MESSAGE_PREFIX_BYTES,
  PROBE_BYTES,
  chunkHead,
  flawOf,
  isLikelyChunk,
  isPrivate,
  isReserved,
  messagePrefix,
  recordName,
} from './mcap-records';
import type { ChunkHead, MessagePrefix } from './mcap-records';

export interface TopRecord {
  readonly opcode: number;
  /** Of the record and of its content, in the file. */
  readonly offset: number;
  readonly content: number;
  /** Of the content. */
  readonly length: number;
  /** First bytes of the content. */
  readonly probe: Uint8Array;
  /** Of a chunk. */
  readonly head: ChunkHead | null;
}

const FOLLOWS_A_MESSAGE: readonly number[] = [Opcode.MESSAGE, Opcode.SCHEMA, Opcode.CHANNEL, Opcode.DATA_END];

/** Whether a message that was found by searching for it may be one of this file. */
export type Familiar = (prefix: MessagePrefix) => boolean;

/**
 * Up to the end of the data section. `chunked`: the file is known to have chunks; then no message lies outside of them.
 * @throws OxygenError BAG_DAMAGED where the disk cannot be read
 */
export async function* topRecords(
  window: FileWindow,
  faults: FileFaults,
  familiar: Familiar,
  chunked: boolean,
): AsyncGenerator<TopRecord> {
  let at = MAGIC_BYTES;
  while (at < window.size) {
    const found = await recordAt(window, at);
    const flaw = typeof found === 'string' ? found : await doubt(window, found, familiar, chunked);
    if (flaw === null && typeof found !== 'string') {
      if (isReserved(found.opcode))
        faults.damaged(at, `a record of the unknown kind ${found.opcode} was left out`);
      yield found;
      if (found.opcode === Opcode.DATA_END || found.opcode === Opcode.FOOTER) return;
      chunked ||= found.opcode === Opcode.CHUNK;
      at = found.content + found.length;
      continue;
    }
    chunked ||= (await window.at(at, 1))[0] === Opcode.CHUNK;
    const next = await search(window, at + 1, chunked ? () => false : familiar);
    const lost = counted((next ?? window.size) - at, 'byte');
    faults.damaged(
      at,
      next === null
        ? `${flaw}; ${lost} up to the end of the file left out`
        : `${flaw}; ${lost} up to the next record that is whole left out`,
    );
    if (next === null) return;
    at = next;
  }
  faults.damaged(
    window.size,
    'the file ends without its closing record, as after a power cut or while it is being recorded',
  );
}

/** The record, or why there is none. */
async function recordAt(window: FileWindow, offset: number): Promise<TopRecord | string> {
  const rest = window.size - offset;
  if (rest < HEADER_BYTES) return `the file ends in the middle of a record`;
  const header = viewOf(await window.at(offset, HEADER_BYTES));
  const opcode = header.getUint8(0);
  const length = uint64(header, 1);
  const content = offset + HEADER_BYTES;
  if (length > window.size - content)
    return (
      `a ${recordName(opcode)} claims ${length === Infinity ? 'more than 2^53' : length} bytes, but the file has only ` +
      `${window.size - content} more: it is cut, or the length is damaged`
    );
  const probe = await window.at(content, Math.min(length, PROBE_BYTES));
  const flaw = flawOf(opcode, length, probe);
  if (flaw !== null) return flaw;
  return {
    opcode,
    offset,
    content,
    length,
    probe,
    head: opcode === Opcode.CHUNK ? chunkHead(length, probe) : null,
  };
}

/** Why a record that looks right is not believed; null: it is. */
async function doubt(
  window: FileWindow,
  record: TopRecord,
  familiar: Familiar,
  chunked: boolean,
): Promise<string | null> {
  const { opcode, offset, content, length, probe } = record;
  if (opcode === Opcode.HEADER && offset !== MAGIC_BYTES) return 'a second header';
  if (opcode === Opcode.MESSAGE) {
    if (chunked) return 'a message outside of the chunks';
    // It has no crc. If nothing that makes sense follows, its length may be wrong, and so its content.
    return (await isSane(window, content + length, familiar)) ? null : 'the length of a message is damaged';
  }
  if (!isReserved(opcode) && !isPrivate(opcode)) return null;
  const next = await recordAt(window, content + length);
  const strange = typeof next === 'string' || next.opcode < Opcode.MIN || next.opcode > Opcode.MAX;
  return strange || isLikelyChunk(chunkHead(length, probe)) ? `a record of the unknown kind ${opcode}` : null;
}

/** A record, or the beginning of one where the file was cut. */
async function isSane(window: FileWindow, offset: number, familiar: Familiar): Promise<boolean> {
  if (typeof (await recordAt(window, offset)) !== 'string') return true;
  const bytes = HEADER_BYTES + MESSAGE_PREFIX_BYTES;
  if (window.size - offset < bytes) return true;
  const start = await window.at(offset, bytes);
  return start[0] === Opcode.MESSAGE && familiar(messagePrefix(start.subarray(HEADER_BYTES)));
}

/** Of the next chunk or message from `from` on; null: there is none. */
async function search(window: FileWindow, from: number, familiar: Familiar): Promise<number | null> {
  const SEARCH_BYTES = 1024 * 1024;
  for (let at = from; at < window.size; at += SEARCH_BYTES) {
    const bytes = await window.at(at, Math.min(SEARCH_BYTES, window.size - at));
    for (let i = 0; i < bytes.byteLength; i++) {
      const opcode = bytes[i];
      if (opcode !== Opcode.CHUNK && opcode !== Opcode.MESSAGE) continue;
      // The upper bytes of a length below 4 GiB; nearly all candidates end here.
      if (bytes[i + 5] || bytes[i + 6] || bytes[i + 7] || bytes[i + 8]) continue;
      if (await isRecord(window, at + i, familiar)) return at + i;
    }
  }
  return null;
}

async function isRecord(window: FileWindow, offset: number, familiar: Familiar): Promise<boolean> {
  const record = await recordAt(window, offset);
  if (typeof record === 'string') return false;
  if (record.opcode === Opcode.CHUNK) return isLikelyChunk(record.head);
  if (!familiar(messagePrefix(record.probe.subarray(0, MESSAGE_PREFIX_BYTES)))) return false;
  const next = await recordAt(window, record.content + record.length);
  return typeof next !== 'string' && FOLLOWS_A_MESSAGE.includes(next.opcode);
}
