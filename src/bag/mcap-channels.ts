/** Schemas and channels of an MCAP file: what the numbers in its messages mean. */
import { McapStreamReader } from '@mcap/core';
import type { McapTypes } from '@mcap/core';
import type { FileFaults } from './faults';
import type { BagTopic } from './types';

export interface Channel {
  readonly id: number;
  readonly topic: string;
  readonly type: string;
  readonly definition: string;
  readonly serialization: string;
  readonly schemaId: number;
}

/** The records in `bytes`, whole ones; a record that is damaged ends them. Throws what the library finds wrong. */
export function* parsedRecords(bytes: Uint8Array): Generator<McapTypes.TypedMcapRecord> {
  const reader = new McapStreamReader({ noMagicPrefix: true, includeChunks: true, validateCrcs: true });
  reader.append(bytes);
  for (let record; (record = reader.nextRecord());) yield record;
}

export class Channels {
  readonly #byId = new Map<number, Channel>();
  readonly #schemas = new Map<number, McapTypes.TypedMcapRecords['Schema']>();
  readonly #faults: FileFaults;

  constructor(faults: FileFaults) {
    this.#faults = faults;
  }

  /** Takes note of a whole schema or channel record, header included, at `offset` of the file (or of its chunk). */
  learn(record: Uint8Array, offset: number): void {
    try {
      for (const parsed of parsedRecords(record)) this.add(parsed, offset);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      this.#faults.damaged(offset, `a description of a topic cannot be read (${why})`);
    }
  }

  /** The first description of a number holds: files repeat them, and a second one that differs is damage. */
  add(record: McapTypes.TypedMcapRecord, offset: number): void {
    if (record.type === 'Schema') {
      const known = this.#schemas.get(record.id);
      if (!known) this.#schemas.set(record.id, record);
      else if (!isSameSchema(known, record))
        this.#faults.damaged(
          offset,
          `schema ${record.id} (${known.name}) is described a second time and differently`,
        );
    } else if (record.type === 'Channel') {
      const channel = this.#channel(record);
      const known = this.#byId.get(record.id);
      if (!known) this.#byId.set(record.id, channel);
      else if (
        known.topic !== channel.topic ||
        known.serialization !== channel.serialization ||
        known.schemaId !== channel.schemaId
      )
        this.#faults.damaged(
          offset,
          `channel ${record.id} (${known.topic}) is described a second time and differently`,
        );
    }
  }

  get(id: number): Channel | undefined {
    return this.#byId.get(id);
  }

  has(id: number): boolean {
    return this.#byId.has(id);
  }

  /** `countOf`: messages of a channel; null: not known. */
  topics(countOf: (channel: number) => number | null): readonly BagTopic[] {
    return [...this.#byId.values()].map(({ id, topic, type, definition, serialization }) => ({
      name: topic,
      type,
      count: countOf(id),
      definition,
      serialization,
    }));
  }

  #channel(record: McapTypes.TypedMcapRecords['Channel']): Channel {
    const schema = this.#schemas.get(record.schemaId);
    const readable = schema?.encoding === 'ros2msg';
    return {
      id: record.id,
      topic: record.topic,
      type: schema?.name ?? '',
      definition: readable ? new TextDecoder().decode(schema.data) : '',
      serialization: record.messageEncoding,
      schemaId: record.schemaId,
    };
  }
}

type Schema = McapTypes.TypedMcapRecords['Schema'];
const isSameSchema = (a: Schema, b: Schema): boolean =>
  a.name === b.name && a.encoding === b.encoding && Buffer.compare(a.data, b.data) === 0;
