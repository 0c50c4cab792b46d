/**
 * What a replay says, as a recording of rosbag2: MCAP with chunks of zstd, an index and the definitions of all messages.
 * Equal messages give equal bytes: no time, machine or version gets into the file.
 */
import { compress, isLoaded } from '@foxglove/wasm-zstd';
import { McapWriter } from '@mcap/core';
import type { McapTypes } from '@mcap/core';
import { lstatSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OxygenError } from '../core/errors';
import { Draft } from '../draft';
import { asNotWritten, beginsWith, notWritten } from '../result-file';
import { serialiser } from '../ros/serialise';
import { metadataYaml, offeredQos } from './bag-metadata';
import type { RecordedTopic } from './bag-metadata';
import { messageText } from './message-text';
import { OrderedFile } from './ordered-file';

const STORAGE_FILE = 'result.mcap';
const METADATA_FILE = 'metadata.yaml';
/** Who wrote the file. Recordings, and what other tools make of them, say another name. */
const HEADER = { profile: 'ros2', library: 'oxygen_vla' };

/** Ten minutes of a robot with seven actions: 34 MB. Level 1 saves little time, level 6 or larger chunks little room. */
const CHUNK_BYTES = 1 << 20;
const ZSTD_LEVEL = 3;

interface Channel extends RecordedTopic {
  readonly id: number;
  readonly serialise: (message: object) => Buffer;
  /** Messages so far. */
  count: number;
}

interface Parts {
  readonly path: string;
  readonly draft: Draft;
  readonly file: OrderedFile;
  readonly writer: McapWriter;
  /** By topic. */
  readonly channels: ReadonlyMap<string, Channel>;
}

export class ResultBag {
  readonly #parts: Parts;
  /** Not yet with the writer, which takes the next message when it has done with the last. */
  #waiting: McapTypes.Message[] = [];
  #writing: Promise<void> | null = null;
  #failure: OxygenError | null = null;
  #closed = false;

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * A path that ends in `.mcap` becomes that file; any other a folder with metadata.yaml, as `ros2 bag record` makes it
   * and older readers demand it. Nothing has that name before `close`. The topics come in the given order, also those
   * that get no message. What is replaced is an earlier result or empty: never a recording. Throws RESULT_NOT_WRITTEN.
   */
  static async open(path: string, topics: readonly RecordedTopic[]): Promise<ResultBag> {
    const draft = isFile(path)
      ? await Draft.file(path, isResultFile, notWritten)
      : await Draft.folder(path, isResultFolder, notWritten);
    let file: OrderedFile | null = null;
    try {
      await isLoaded;
      file = await OrderedFile.create(isFile(path) ? draft.path : join(draft.path, STORAGE_FILE));
      const writer = new McapWriter({
        writable: file,
        chunkSize: CHUNK_BYTES,
        compressChunk: data => ({ compression: 'zstd', compressedData: compress(data, ZSTD_LEVEL) }),
      });
      await writer.start(HEADER);
      return new ResultBag({ path, draft, file, writer, channels: await register(writer, topics) });
    } catch (cause) {
      await file?.close();
      await draft.discard();
      throw asNotWritten(path, cause);
    }
  }

  /**
   * Takes a message of a topic, with the time at which it was published; serialises at once, so the message may change
   * afterwards. Throws what kept earlier messages from the file (RESULT_NOT_WRITTEN).
   */
  write(topic: string, message: object, timeNs: bigint): void {
    if (this.#failure !== null) throw this.#failure;
    const { path, channels } = this.#parts;
    if (this.#closed) throw new OxygenError('INTERNAL', `${path} is closed`);
    const channel = channels.get(topic);
    if (channel === undefined) throw new OxygenError('INTERNAL', `${topic} is no topic of ${path}`);
    this.#waiting.push({
      channelId: channel.id,
      sequence: channel.count,
      logTime: timeNs,
      publishTime: timeNs,
      data: channel.serialise(message),
    });
    channel.count += 1;
    this.#writing ??= this.#writeWaiting();
  }

  /**
   * Resolves when no message waits for the file. What waits is in memory: whoever writes for long without waiting for
   * anything else waits for this now and then. Throws RESULT_NOT_WRITTEN.
   */
  async flush(): Promise<void> {
    await this.#writing;
    if (this.#failure !== null) throw this.#failure;
  }

  /** Completes the file, which now gets its name. Throws RESULT_NOT_WRITTEN, and then leaves nothing behind. */
  async close(): Promise<void> {
    const { path, draft, file, writer } = this.#parts;
    this.#closed = true;
    try {
      await this.flush();
      await writer.end();
      await file.finish();
      if (!isFile(path)) await writeFile(join(draft.path, METADATA_FILE), this.#metadata());
      await draft.keep();
    } catch (cause) {
      throw asNotWritten(path, cause);
    } finally {
      await this.abort();
    }
  }

  /** Leaves nothing behind but what `close` has completed. */
  async abort(): Promise<void> {
    this.#closed = true;
    await this.#writing;
    await this.#parts.file.close();
    await this.#parts.draft.discard();
  }

  async #writeWaiting(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const messages = this.#waiting;
        this.#waiting = [];
        for (const message of messages) await this.#parts.writer.addMessage(message);
      }
    } catch (cause) {
      this.#waiting = [];
      this.#failure = asNotWritten(this.#parts.path, cause);
    } finally {
      this.#writing = null;
    }
  }

  #metadata(): string {
    const { messageStartTime: startNs, messageEndTime: endNs } = this.#parts.writer.statistics!;
    return metadataYaml({ file: STORAGE_FILE, startNs, endNs, topics: [...this.#parts.channels.values()] });
  }
}

const isFile = (path: string): boolean => path.endsWith('.mcap');

/** A field of MCAP: its length, and its bytes. */
const counted = (length: Buffer, bytes: Buffer): Buffer => {
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([length, bytes]);
};
const text = (value: string): Buffer => counted(Buffer.alloc(4), Buffer.from(value));

const isResultFile = beginsWith(
  Buffer.concat([
    Buffer.from('\x89MCAP0\r\n\x01', 'latin1'),
    counted(Buffer.alloc(8), Buffer.concat([text(HEADER.profile), text(HEADER.library)])),
  ]),
);

/** Nothing else may be in it: what lies beside a result is somebody's work. */
function isResultFolder(path: string): boolean {
  const entries = readdirSync(path);
  const isPart = (name: string): boolean =>
    [STORAGE_FILE, METADATA_FILE].includes(name) && lstatSync(join(path, name)).isFile();
  const isResult = entries.includes(STORAGE_FILE) && entries.every(isPart);
  return entries.length === 0 || (isResult && isResultFile(join(path, STORAGE_FILE)));
}

async function register(
  writer: McapWriter,
  topics: readonly RecordedTopic[],
): Promise<ReadonlyMap<string, Channel>> {
  const schemas = new Map<string, number>();
  const channels = new Map<string, Channel>();
  for (const topic of topics) {
    const { name, type, qos } = topic;
    const serialise = serialiser(type);
    const schemaId =
      schemas.get(type) ??
      (await writer.registerSchema({
        name: type,
        encoding: 'ros2msg',
        data: Buffer.from(messageText(type)),
      }));
    schemas.set(type, schemaId);
    const id = await writer.registerChannel({
      topic: name,
      schemaId,
      messageEncoding: 'cdr',
      metadata: new Map([['offered_qos_profiles', offeredQos(qos)]]),
    });
    channels.set(name, { ...topic, id, serialise, count: 0 });
  }
  return channels;
}
