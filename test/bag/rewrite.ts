/** Bags made of the messages of another one, changed on the way: for what goes wrong with whole recordings. */
import { writeFileSync } from 'node:fs';
import { McapWriter } from '@mcap/core';
import { Database } from 'node-sqlite3-wasm';
import { openBag } from '../../src/bag/open';
import type { BagMessage } from '../../src/bag/types';

export interface Recorded extends BagMessage {
  readonly type: string;
  readonly definition: string;
}

/** The first `seconds` of a bag. */
export async function recorded(path: string, seconds: number): Promise<readonly Recorded[]> {
  const bag = await openBag(path);
  try {
    const toNs = bag.startNs! + BigInt(seconds * 1e9);
    const messages: Recorded[] = [];
    for await (const { topic, logNs, data } of bag.messages({ topics: null, fromNs: null, toNs })) {
      const { type, definition } = bag.topics.get(topic)!;
      messages.push({ topic, logNs, type, definition, data: Uint8Array.from(data) });
    }
    return messages;
  } finally {
    await bag.close();
  }
}

export async function writeMcap(path: string, messages: readonly Recorded[]): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  const writable = {
    write: (part: Uint8Array): Promise<void> => {
      parts.push(Uint8Array.from(part));
      bytes += part.byteLength;
      return Promise.resolve();
    },
    position: () => BigInt(bytes),
  };
  const writer = new McapWriter({ writable, chunkSize: 200_000 });
  await writer.start({ profile: 'ros2', library: 'test' });
  const channels = new Map<string, number>();
  for (const { topic, type, definition, logNs, data } of messages) {
    const key = `${topic} ${type}`;
    let channelId = channels.get(key);
    if (channelId === undefined) {
      const schema = { name: type, encoding: 'ros2msg', data: new TextEncoder().encode(definition) };
      const schemaId = await writer.registerSchema(schema);
      channelId = await writer.registerChannel({
        topic,
        schemaId,
        messageEncoding: 'cdr',
        metadata: new Map(),
      });
      channels.set(key, channelId);
    }
    await writer.addMessage({ channelId, sequence: 0, logTime: logNs, publishTime: logNs, data });
  }
  await writer.end();
  writeFileSync(path, Buffer.concat(parts));
  return path;
}

export function writeSqlite(path: string, messages: readonly Recorded[]): string {
  const db = new Database(path);
  db.exec('CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT)');
  db.exec('CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)');
  db.exec('CREATE INDEX timestamp_idx ON messages (timestamp ASC)');
  const ids = new Map<string, number>();
  db.exec('BEGIN');
  for (const { topic, type, logNs, data } of messages) {
    if (!ids.has(topic)) {
      ids.set(topic, ids.size + 1);
      db.run("INSERT INTO topics VALUES (?, ?, ?, 'cdr')", [ids.size, topic, type]);
    }
    const values = [ids.get(topic)!, logNs, data];
    db.run('INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)', values);
  }
  db.exec('COMMIT');
  db.close();
  return path;
}
