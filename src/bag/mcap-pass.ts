/** One reading of an MCAP file from its beginning to its end. */
import { Opcode } from '@mcap/core';
import { counted } from '../core/words';
import type { FileFaults } from './faults';
import type { FileWindow } from './file-window';
import { chunkData, eachInChunk } from './mcap-chunk';
import type { Channels } from './mcap-channels';
import {
  HEADER_BYTES,
  MESSAGE_PREFIX_BYTES,
  isPrivate,
  isReserved,
  messageIndexEntries,
  messagePrefix,
} from './mcap-records';
import type { MessagePrefix } from './mcap-records';
import { topRecords } from './mcap-walk';
import type { TopRecord } from './mcap-walk';
import { inTime } from './storage';
import type { StorageSelection } from './storage';
import type { BagMessage } from './types';

const BATCH_MESSAGES = 256;
const BATCH_BYTES = 1024 * 1024;
/** Messages that were found by searching must be as near as this to the one before. */
const FAMILIAR_NS = 3_600_000_000_000n;

export class McapPass {
  readonly #window: FileWindow;
  readonly #channels: Channels;
  readonly #faults: FileFaults;
  readonly #selection: StorageSelection;
  /** Topic of a channel; null: not wanted. */
  readonly #wanted = new Map<number, string | null>();
  readonly #orphans = new Map<number, number>();
  #lastNs: bigint | null = null;
  #seen = 0;
  #skipped = false;
  #lost: { readonly offset: number; readonly why: string; messages: number } | null = null;
  #batch: BagMessage[] = [];
  #batchBytes = 0;

  readonly #chunked: boolean;

  /** `chunked`: the index says that the file has chunks. */
  constructor(
    window: FileWindow,
    channels: Channels,
    faults: FileFaults,
    selection: StorageSelection,
    chunked: boolean,
  ) {
    this.#chunked = chunked;
    this.#window = window;
    this.#channels = channels;
    this.#faults = faults;
    this.#selection = selection;
  }

  /** Chunks outside the selected time were not looked into. */
  get skipped(): boolean {
    return this.#skipped;
  }

  /** All messages that were come across, selected or not. */
  get seen(): number {
    return this.#seen;
  }

  /** @throws OxygenError BAG_DAMAGED where the disk cannot be read */
  async *batches(): AsyncGenerator<readonly BagMessage[]> {
    let indexed = false;
    const familiar = (prefix: MessagePrefix): boolean => this.#familiar(prefix);
    for await (const record of topRecords(this.#window, this.#faults, familiar, this.#chunked)) {
      const { opcode, offset } = record;
      if (opcode === Opcode.MESSAGE_INDEX) this.#countLoss(record, indexed);
      else if (!isReserved(opcode)) indexed = opcode === Opcode.CHUNK;
      if (isPrivate(opcode)) continue;
      if (opcode === Opcode.CHUNK) await this.#chunk(record);
      else if (opcode === Opcode.MESSAGE) await this.#message(record);
      else if (opcode === Opcode.SCHEMA || opcode === Opcode.CHANNEL)
        this.#channels.learn(await this.#window.at(offset, HEADER_BYTES + record.length), offset);
      if (this.#batch.length >= BATCH_MESSAGES || this.#batchBytes >= BATCH_BYTES || opcode === Opcode.CHUNK)
        yield* this.#flush();
    }
    yield* this.#flush();
    for (const [id, count] of this.#orphans)
      this.#faults.general(
        `channel ${id}`,
        `${counted(count, 'message')} of channel ${id} left out: the description of that channel is damaged or missing`,
      );
  }

  async #chunk(record: TopRecord): Promise<void> {
    const { head, offset } = record;
    this.#lost = null;
    if (head!.startNs <= head!.endNs && this.#isOutside(head!.startNs, head!.endNs)) {
      this.#skipped = true;
      return;
    }
    let data: Uint8Array;
    try {
      data = await chunkData(this.#window, record);
    } catch (cause) {
      this.#lose(offset, `a chunk is damaged: ${cause instanceof Error ? cause.message : String(cause)}`);
      return;
    }
    const flaw = eachInChunk(data, (opcode, from, to) => {
      if (opcode === Opcode.MESSAGE) this.#inChunk(data, from + HEADER_BYTES, to, offset);
      else if (opcode === Opcode.SCHEMA || opcode === Opcode.CHANNEL)
        this.#channels.learn(data.subarray(from, to), offset);
    });
    if (flaw !== null)
      this.#faults.damaged(offset, `a chunk is damaged: ${flaw}; the rest of it was left out`);
  }

  #inChunk(data: Uint8Array, content: number, end: number, chunk: number): void {
    if (end - content < MESSAGE_PREFIX_BYTES) {
      this.#faults.damaged(chunk, `a message in the chunk has ${end - content} bytes and was left out`);
      return;
    }
    const { channel, logNs } = messagePrefix(data.subarray(content, end));
    const topic = this.#topicOf(channel, logNs);
    if (topic !== null)
      this.#give({ topic, logNs, data: data.subarray(content + MESSAGE_PREFIX_BYTES, end) });
  }

  /** A message that lies in no chunk. */
  async #message({ content, length, probe }: TopRecord): Promise<void> {
    const { channel, logNs } = messagePrefix(probe);
    this.#lastNs = logNs;
    const topic = this.#topicOf(channel, logNs);
    if (topic === null) return;
    const data = await this.#window.at(content + MESSAGE_PREFIX_BYTES, length - MESSAGE_PREFIX_BYTES);
    this.#give({ topic, logNs, data });
  }

  /** Null: the message is not wanted. */
  #topicOf(channel: number, logNs: bigint): string | null {
    this.#seen++;
    let topic = this.#wanted.get(channel);
    if (topic === undefined) {
      const known = this.#channels.get(channel);
      if (!known) {
        this.#orphans.set(channel, (this.#orphans.get(channel) ?? 0) + 1);
        return null;
      }
      topic = this.#selection.topics.get(known.topic) === known.type ? known.topic : null;
      this.#wanted.set(channel, topic);
    }
    return topic !== null && inTime(logNs, this.#selection) ? topic : null;
  }

  #give(message: BagMessage): void {
    this.#batch.push(message);
    this.#batchBytes += message.data.byteLength;
  }

  *#flush(): Generator<readonly BagMessage[]> {
    if (this.#batch.length > 0) yield this.#batch;
    this.#batch = [];
    this.#batchBytes = 0;
  }

  #isOutside(startNs: bigint, endNs: bigint): boolean {
    const { fromNs, toNs } = this.#selection;
    return (fromNs !== null && endNs < fromNs) || (toNs !== null && startNs >= toNs);
  }

  #familiar({ channel, logNs }: MessagePrefix): boolean {
    if (!this.#channels.has(channel)) return false;
    const apart = this.#lastNs === null ? 0n : logNs - this.#lastNs;
    return apart < FAMILIAR_NS && apart > -FAMILIAR_NS;
  }

  #lose(offset: number, why: string): void {
    this.#lost = { offset, why, messages: 0 };
    this.#tellLoss();
  }

  /** The index behind a damaged chunk says how many messages it held. */
  #countLoss({ offset, length, probe }: TopRecord, indexed: boolean): void {
    if (!indexed) this.#faults.damaged(offset, 'the index of a chunk has no chunk before it');
    if (this.#lost === null) return;
    this.#lost.messages += messageIndexEntries(length, probe) ?? 0;
    this.#tellLoss();
  }

  #tellLoss(): void {
    const { offset, why, messages } = this.#lost!;
    const lost = messages === 0 ? 'it was left out' : `${counted(messages, 'message')} left out`;
    this.#faults.damaged(offset, `${why}; ${lost}`, { messages });
  }
}
