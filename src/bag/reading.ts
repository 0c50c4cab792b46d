/** One reading of a bag: all files after each other, in order, decompressed; what is left out is counted. */
import { isZstd, unpackZstdFrame } from './compression';
import type { Epoch } from './epoch';
import { counted } from '../core/words';
import type { Faults } from './faults';
import { inOrder } from './order';
import type { StorageFile, StorageSelection } from './storage';
import type { BagMessage, BagSelection, BagTopic } from './types';

export class Reading {
  readonly #files: readonly StorageFile[];
  readonly #topics: ReadonlyMap<string, BagTopic>;
  readonly #faults: Faults;
  readonly #selection: StorageSelection;
  #backwards = 0;
  #firstBackwards = '';
  #packed = 0;
  #firstPacked = '';

  constructor(
    files: readonly StorageFile[],
    topics: ReadonlyMap<string, BagTopic>,
    epoch: Epoch | null,
    faults: Faults,
    selection: BagSelection,
  ) {
    this.#files = files;
    this.#topics = topics;
    this.#faults = faults;
    const { fromNs, toNs } = selection.far === true ? selection : within(epoch, selection);
    this.#selection = { fromNs, toNs, topics: this.#readable(selection.topics) };
  }

  async *messages(): AsyncGenerator<BagMessage> {
    const ordered = inOrder(this.#batches(), ({ topic }, newestNs) => {
      if (this.#backwards++ === 0) this.#firstBackwards = `${topic} at ${newestNs} ns`;
    });
    try {
      for await (const batch of ordered) {
        for (const message of batch) {
          const data = isZstd(message.data) ? this.#unpacked(message) : message.data;
          if (data !== null) yield data === message.data ? message : { ...message, data };
        }
      }
    } finally {
      this.#tell();
    }
  }

  async *#batches(): AsyncGenerator<readonly BagMessage[]> {
    for (const file of this.#files) yield* file.batches(this.#selection);
  }

  /** A message that rosbag2 has compressed by itself (compression_mode: MESSAGE): CDR never begins like this. */
  #unpacked({ topic, data }: BagMessage): Uint8Array | null {
    try {
      return unpackZstdFrame(data);
    } catch (cause) {
      if (this.#packed++ === 0)
        this.#firstPacked = `${topic}: ${cause instanceof Error ? cause.message : String(cause)}`;
      return null;
    }
  }

  /** Topics in CDR; others that were asked for by name are told of. */
  #readable(asked: ReadonlySet<string> | null): ReadonlyMap<string, string> {
    const types = new Map<string, string>();
    for (const { name, type, serialization } of this.#topics.values()) {
      if (asked !== null && !asked.has(name)) continue;
      if (serialization === 'cdr') types.set(name, type);
      else if (asked !== null)
        this.#faults.put(
          `serialization:${name}`,
          'BAG_UNSUPPORTED',
          `${name} (${type}) is serialised as "${serialization}", only cdr is read: record it with ros2 bag record`,
        );
    }
    return types;
  }

  #tell(): void {
    const put = (
      key: string,
      code: 'BAG_DISORDER' | 'BAG_DAMAGED',
      message: string,
      messages: number,
    ): void => {
      if (messages > 0) this.#faults.put(key, code, message, { messages });
    };
    put(
      'backwards',
      'BAG_DISORDER',
      `${counted(this.#backwards, 'message')} with times that run backwards by more than a second, given in the order ` +
        `of the file; the first after ${this.#firstBackwards}`,
      this.#backwards,
    );
    put(
      'packed',
      'BAG_DAMAGED',
      `${counted(this.#packed, 'message')} cannot be decompressed and left out, the first of ${this.#firstPacked}`,
      this.#packed,
    );
  }
}

type Times = Pick<BagSelection, 'fromNs' | 'toNs'>;

/** Without messages far apart in time. */
function within(epoch: Epoch | null, { fromNs, toNs }: Times): Times {
  if (epoch === null || epoch.far === 0) return { fromNs, toNs };
  const endNs = epoch.toNs + 1n;
  return {
    fromNs: fromNs === null || fromNs < epoch.fromNs ? epoch.fromNs : fromNs,
    toNs: toNs === null || toNs > endNs ? endNs : toNs,
  };
}
