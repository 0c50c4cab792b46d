/** What an MCAP file without a summary holds: a walk over the headers, which decompresses only chunks that describe topics. */
import { Opcode } from '@mcap/core';
import type { FileFaults } from './faults';
import type { FileWindow } from './file-window';
import { chunkData, eachInChunk } from './mcap-chunk';
import type { Channels } from './mcap-channels';
import {
  HEADER_BYTES,
  MESSAGE_PREFIX_BYTES,
  messageIndexChannel,
  messageIndexEntries,
  messagePrefix,
} from './mcap-records';
import type { MessagePrefix } from './mcap-records';
import { topRecords } from './mcap-walk';
import type { TopRecord } from './mcap-walk';
import type { Span } from './storage';

export interface Survey {
  readonly spans: readonly Span[] | null;
  /** Messages per channel. */
  readonly counts: ReadonlyMap<number, number>;
}

/** A chunk that says 0 holds no message, or some whose stamp is 0. */
export const tellsTimes = ({ fromNs, toNs }: Span): boolean => fromNs <= toNs && toNs > 0n;

/** Fills `channels`. @throws OxygenError BAG_DAMAGED where the disk cannot be read */
export async function survey(window: FileWindow, channels: Channels, faults: FileFaults): Promise<Survey> {
  const spans: Span[] = [];
  const counts = new Map<number, number>();
  const count = (channel: number, messages: number): void => {
    counts.set(channel, (counts.get(channel) ?? 0) + messages);
  };
  let chunk: TopRecord | null = null;
  let index = new Map<number, number>();
  let loose: Span | null = null;

  const endOfChunk = async (): Promise<void> => {
    if (chunk === null) return;
    const counted = index.size > 0 && [...index.keys()].every(id => channels.has(id));
    const inside = counted ? index : await lookInto(window, chunk, channels);
    for (const [channel, messages] of inside ?? index) count(channel, messages);
    const { startNs, endNs } = chunk.head!;
    if (inside === null || inside.size > 0) spans.push({ fromNs: startNs, toNs: endNs });
    chunk = null;
    index = new Map();
  };

  const familiar = ({ channel }: MessagePrefix): boolean => channels.has(channel);
  for await (const record of topRecords(window, faults, familiar, false)) {
    const { opcode, offset, length, probe } = record;
    if (opcode === Opcode.MESSAGE_INDEX) {
      index.set(messageIndexChannel(probe), messageIndexEntries(length, probe) ?? 0);
      continue;
    }
    await endOfChunk();
    if (opcode === Opcode.CHUNK) chunk = record;
    else if (opcode === Opcode.SCHEMA || opcode === Opcode.CHANNEL)
      channels.learn(await window.at(offset, HEADER_BYTES + length), offset);
    else if (opcode === Opcode.MESSAGE) {
      const { channel, logNs } = messagePrefix(probe);
      count(channel, 1);
      loose = grown(loose, logNs);
    }
  }
  await endOfChunk();
  const all = loose ? [...spans, loose] : spans;
  return { spans: spans.every(tellsTimes) ? all : null, counts };
}

/** Messages per channel; null: it is damaged, and the reading will say so. */
async function lookInto(
  window: FileWindow,
  chunk: TopRecord,
  channels: Channels,
): Promise<Map<number, number> | null> {
  const counts = new Map<number, number>();
  let data: Uint8Array;
  try {
    data = await chunkData(window, chunk);
  } catch {
    return null;
  }
  eachInChunk(data, (opcode, from, to) => {
    if (opcode === Opcode.MESSAGE && to - from >= HEADER_BYTES + MESSAGE_PREFIX_BYTES) {
      const { channel } = messagePrefix(data.subarray(from + HEADER_BYTES, to));
      counts.set(channel, (counts.get(channel) ?? 0) + 1);
    } else if (opcode === Opcode.SCHEMA || opcode === Opcode.CHANNEL)
      channels.learn(data.subarray(from, to), chunk.offset);
  });
  return counts;
}

const grown = (span: Span | null, ns: bigint): Span => ({
  fromNs: span === null || ns < span.fromNs ? ns : span.fromNs,
  toNs: span === null || ns > span.toNs ? ns : span.toNs,
});
