/** A .db3 file of rosbag2, of any of its schema versions (they differ in what they say beside topics and messages). */
import type { Database, QueryResult } from 'node-sqlite3-wasm';
import { OxygenError } from '../core/errors';
import { compressionReady } from './compression';
import type { FileFaults } from './faults';
import { openUntouched } from './sqlite-copy';
import { readRows } from './sqlite-rows';
import type { Span, StorageFile } from './storage';
import type { BagTopic } from './types';

/** @throws OxygenError BAG_UNSUPPORTED (another database), BAG_DAMAGED (nothing of it can be read) */
export async function openSqlite(path: string, faults: FileFaults): Promise<StorageFile> {
  await compressionReady();
  let opened;
  try {
    opened = openUntouched(path, faults);
  } catch (error) {
    throw error instanceof OxygenError ? error : damaged(path, error);
  }
  const { db, close } = opened;
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
      spans: span(db),
      batches: selection => readRows(db, topics, selection, faults),
      close: async () => close(),
    };
  } catch (error) {
    close();
    throw error instanceof OxygenError ? error : damaged(path, error);
  }
}

const damaged = (path: string, cause: unknown): OxygenError =>
  new OxygenError(
    'BAG_DAMAGED',
    `nothing of the database ${path} can be read (${cause instanceof Error ? cause.message : String(cause)})`,
    { cause },
  );

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

function span(db: Database): readonly Span[] {
  try {
    // One each: SQLite looks up a lone min or max in the index, but both together in all rows.
    const from = db.get('SELECT min(timestamp) AS ns FROM messages');
    const to = db.get('SELECT max(timestamp) AS ns FROM messages');
    const [fromNs, toNs] = [nsOf(from), nsOf(to)];
    return fromNs === null || toNs === null ? [] : [{ fromNs, toNs }];
  } catch {
    // The reading says what is damaged.
    return [];
  }
}

const nsOf = (row: QueryResult | null): bigint | null => {
  const ns = row?.['ns'];
  return typeof ns === 'number' || typeof ns === 'bigint' ? BigInt(ns) : null;
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
