/** The summary section at the end of an MCAP file: everything about it at once, if it is whole. */
import { MCAP_MAGIC, Opcode } from '@mcap/core';
import type { McapTypes } from '@mcap/core';
import { crc32 } from 'node:zlib';
import type { FileFaults } from './faults';
import { uint64, viewOf } from './file-window';
import type { FileWindow } from './file-window';
import { MAX_SUMMARY_BYTES } from './limits';
import { parsedRecords } from './mcap-channels';
import { FOOTER_CONTENT_BYTES, HEADER_BYTES, MAGIC_BYTES } from './mcap-records';

export interface Summary {
  /** Schemas before the channels that use them. */
  readonly descriptions: readonly McapTypes.TypedMcapRecord[];
  readonly statistics: McapTypes.TypedMcapRecords['Statistics'];
  readonly chunks: readonly McapTypes.TypedMcapRecords['ChunkIndex'][];
}

export interface Ending {
  /** False: the file is cut or was never finished. */
  readonly finished: boolean;
  /** Null: there is none, or it is not complete, or it is damaged (then there is a fault). */
  readonly summary: Summary | null;
}

const CLOSING_BYTES = HEADER_BYTES + FOOTER_CONTENT_BYTES + MAGIC_BYTES;
/** Of the footer, up to its crc: the crc covers them too. */
const FOOTER_COVERED_BYTES = HEADER_BYTES + 16;

/** @throws OxygenError BAG_DAMAGED where the disk cannot be read */
export async function readEnding(window: FileWindow, faults: FileFaults): Promise<Ending> {
  const footerAt = window.size - CLOSING_BYTES;
  if (footerAt < MAGIC_BYTES) return { finished: false, summary: null };
  const closing = await window.load(footerAt, CLOSING_BYTES);
  const view = viewOf(closing);
  const finished =
    closing[0] === Opcode.FOOTER &&
    uint64(view, 1) === FOOTER_CONTENT_BYTES &&
    MCAP_MAGIC.every((byte, i) => closing[CLOSING_BYTES - MAGIC_BYTES + i] === byte);
  if (!finished) return { finished: false, summary: null };

  const start = uint64(view, HEADER_BYTES);
  if (start === 0) return { finished: true, summary: null };
  const bytes = footerAt - start;
  try {
    if (start < MAGIC_BYTES || bytes < 0) throw new Error('its place is outside the file');
    if (bytes > MAX_SUMMARY_BYTES)
      throw new Error(`it has ${bytes} bytes, at most ${MAX_SUMMARY_BYTES} are read`);
    const section = await window.load(start, bytes);
    const crc = view.getUint32(FOOTER_COVERED_BYTES, true);
    if (crc !== 0 && crc !== crc32(closing.subarray(0, FOOTER_COVERED_BYTES), crc32(section)))
      throw new Error('its crc is wrong');
    return { finished: true, summary: parseSummary(section) };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    faults.damaged(start, `the index at the end of the file was not used: ${why}`);
    return { finished: true, summary: null };
  }
}

/** Null if something that it counts is not in it: writers may leave out parts of a summary. */
function parseSummary(section: Uint8Array): Summary | null {
  const schemas: McapTypes.TypedMcapRecord[] = [];
  const channels: McapTypes.TypedMcapRecord[] = [];
  const chunks: McapTypes.TypedMcapRecords['ChunkIndex'][] = [];
  let statistics: McapTypes.TypedMcapRecords['Statistics'] | null = null;
  for (const record of parsedRecords(section)) {
    if (record.type === 'Schema') schemas.push(record);
    else if (record.type === 'Channel') channels.push(record);
    else if (record.type === 'ChunkIndex') chunks.push(record);
    else if (record.type === 'Statistics') statistics = record;
  }
  const complete =
    statistics !== null &&
    statistics.channelCount === channels.length &&
    statistics.schemaCount <= schemas.length &&
    statistics.chunkCount === chunks.length;
  return complete ? { descriptions: [...schemas, ...channels], statistics: statistics!, chunks } : null;
}
