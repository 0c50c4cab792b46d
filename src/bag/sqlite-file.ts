/** A .db3 file of rosbag2, of any of its schema versions (they differ in what they say beside topics and messages). */
import type { Database, QueryResult } from 'node-sqlite3-wasm';
import { OxygenError } from '../core/errors';
import { compressionReady } from './compression';
import type { FileFaults } from './faults';
import { damagedDatabase, openUntouched } from './sqlite-copy';
import { readRows } from './sqlite-rows';
import type { Span, StorageFile } from './storage';
import type { BagTopic } from './types';

/** @throws OxygenError BAG_UNSUPPORTED (another database), BAG_DAMAGED (nothing of it can be read), CONFIG_INVALID (see openUntouched) */
export async function openSqlite(path: string, faults: FileFaults): Promise<StorageFile> {
  await compressionReady();
  const { db, close } = openUntouched(path, faults);
  try {
    const tables = new Set(
      db.all("SELECT name FROM sqlite_master WHERE type = 'table'").map(row => row['name']),
    );
    if (!tables.has('topics') || !tables.has('messages'))
      throw new OxygenError(
        'BAG_UNSUPPORTED',
        `${path} is an SQLite database, but no bag: it has no tables "topics" and "messages"`,
      );
    const topics = readTopics(db, tables.has('message_definitions'));
    return {
      topics: [...topics.values()],
      // What is missing may be what the index of times begins or ends with.
      spans: faults.any ? null : spans(db),
      batches: selection => readRows(db, topics, selection, faults),
      close: async () => close(),
    };
  } catch (error) {
    close();
    throw error instanceof OxygenError ? error : damagedDatabase(path, error);
  }
}

/** By their id. Messages are counted by metadata.yaml only: here it would mean to look at every row. */
function readTopics(db: Database, withDefinitions: boolean): ReadonlyMap<number, BagTopic> {
  const definitions = new Map<unknown, string>();
  if (withDefinitions)
    for (const row of db.all(
      "SELECT topic_type, encoded_message_definition AS text FROM message_definitions WHERE encoding = 'ros2msg'",
    ))
      definitions.set(row['topic_type'], textOf(row['text']));
  const topics = new Map<number, BagTopic>();
  for (const row of db.all('SELECT id, name, type, serialization_format FROM topics ORDER BY id')) {
    if (typeof row['id'] !== 'number') continue;
    topics.set(row['id'], {
      name: textOf(row['name']),
      type: textOf(row['type']),
      count: null,
      definition: definitions.get(row['type']) ?? '',
      serialization: textOf(row['serialization_format']),
    });
  }
  return topics;
}

/** Null: the index of times is damaged, or its messages are. */
function spans(db: Database): readonly Span[] | null {
  try {
    // One each: SQLite looks up a lone min or max in the index, but both together in all rows.
    const from = db.get('SELECT min(timestamp) AS ns FROM messages');
    const to = db.get('SELECT max(timestamp) AS ns FROM messages');
    const [fromNs, toNs] = [nsOf(from), nsOf(to)];
    if (fromNs !== null && toNs !== null) return [{ fromNs, toNs }];
    return db.get('SELECT rowid FROM messages NOT INDEXED LIMIT 1') === null ? [] : null;
  } catch {
    // The reading says what is damaged.
    return null;
  }
}

const nsOf = (row: QueryResult | null): bigint | null => {
  const ns = row?.['ns'];
  return typeof ns === 'number' || typeof ns === 'bigint' ? BigInt(ns) : null;
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
