/**
 * The rows of a .db3 file in order of their time: a page of keys at a time from the index, then row by row, so that a
 * row on a damaged page costs that row only.
 */
import { SQLite3Error } from 'node-sqlite3-wasm';
import type { Database, QueryResult, Statement } from 'node-sqlite3-wasm';
import { counted } from '../core/words';
import type { FileFaults } from './faults';
import { MAX_PIECE_BYTES, mib } from './limits';
import type { StorageSelection } from './storage';
import type { BagMessage, BagTopic } from './types';

const PAGE_ROWS = 512;
const BATCH_BYTES = 1024 * 1024;
const LEAST = -(2n ** 63n);
const MOST = 2n ** 63n - 1n;

/** The row number is what rosbag2 calls id, and a whole number whatever the table says of its id. */
interface Key {
  readonly id: bigint;
  readonly ns: bigint;
}

const KEYS = 'SELECT rowid AS id, timestamp AS ns FROM messages';
/** Every bag of rosbag2 has an index over the timestamps. */
const BY_TIME = `${KEYS} WHERE (timestamp, rowid) > (?1, ?2) AND timestamp < ?3 ORDER BY timestamp, rowid LIMIT ${PAGE_ROWS}`;
/** Without it, or where it is damaged: in the order of writing, which is nearly the same. */
const BY_ID =
  `${KEYS} NOT INDEXED WHERE (timestamp, rowid) > (?1, ?2) AND timestamp < ?3 AND rowid > ?4 ` +
  `ORDER BY rowid LIMIT ${PAGE_ROWS}`;
/** What is no number is in no order of time: texts are behind all numbers, and NULL is nowhere. */
const TIMELESS =
  'SELECT (SELECT count(*) FROM messages WHERE timestamp IS NULL) + ' +
  "(SELECT count(*) FROM messages WHERE timestamp >= '') AS rows";

/** `topics`: by their id in the file. */
export async function* readRows(
  db: Database,
  topics: ReadonlyMap<number, BagTopic>,
  selection: StorageSelection,
  faults: FileFaults,
): AsyncGenerator<readonly BagMessage[]> {
  const losses = new Losses(faults);
  try {
    yield* wholeRows(db, topics, selection, losses);
  } catch (cause) {
    if (!(cause instanceof SQLite3Error)) throw cause;
    losses.end = cause.message;
  } finally {
    losses.tell();
  }
}

function* wholeRows(
  db: Database,
  topics: ReadonlyMap<number, BagTopic>,
  selection: StorageSelection,
  losses: Losses,
): Generator<readonly BagMessage[]> {
  const rows = new Rows(db, topics, selection.topics, losses);
  try {
    for (const page of keys(db, selection, losses)) {
      let batch: BagMessage[] = [];
      let bytes = 0;
      for (const key of page) {
        const message = rows.at(key);
        if (message === null) continue;
        batch.push(message);
        bytes += message.data.byteLength;
        if (bytes < BATCH_BYTES) continue;
        yield batch;
        batch = [];
        bytes = 0;
      }
      if (batch.length > 0) yield batch;
    }
  } finally {
    rows.close();
  }
}

function* keys(db: Database, { fromNs, toNs }: StorageSelection, losses: Losses): Generator<readonly Key[]> {
  const stop = toNs === null || toNs > MOST ? MOST : toNs;
  let place: Place = { ns: fromNs ?? LEAST, id: LEAST };
  losses.timeless(timelessRows(db));
  if (hasTimeIndex(db)) {
    for (;;) {
      const { keys, end, flaw } = pageOf(db, BY_TIME, [place.ns, place.id, stop], losses);
      if (keys.length > 0) yield keys;
      place = end ?? place;
      if (flaw !== null) {
        losses.index = flaw;
        break;
      }
      if (end === null) return;
    }
  }
  let id = LEAST;
  for (;;) {
    const { keys, end, flaw } = pageOf(db, BY_ID, [place.ns, place.id, stop, id], losses);
    if (keys.length > 0) yield keys;
    losses.end = flaw;
    if (end === null || flaw !== null) return;
    id = end.id;
  }
}

function timelessRows(db: Database): number {
  try {
    return Number(db.get(TIMELESS)?.['rows'] ?? 0);
  } catch (cause) {
    // The keys meet the same damage, and it is told there.
    if (!(cause instanceof SQLite3Error)) throw cause;
    return 0;
  }
}

/** Where a reading goes on; a time need not be a whole number. */
interface Place {
  readonly ns: bigint | number;
  readonly id: bigint;
}

interface KeyPage {
  readonly keys: readonly Key[];
  /** Of the last row that was come across; null: there was none. */
  readonly end: Place | null;
  /** Why the rows behind them cannot be read; null: they can. */
  readonly flaw: string | null;
}

/** Row by row: those before a damaged place count. */
function pageOf(db: Database, sql: string, values: (bigint | number)[], losses: Losses): KeyPage {
  const keys: Key[] = [];
  let end: Place | null = null;
  let statement: Statement | null = null;
  try {
    statement = db.prepare(sql);
    for (const row of statement.iterate(values)) {
      const { id, ns } = row as { readonly id: bigint | number; readonly ns: bigint | number };
      end = { id: BigInt(id), ns };
      if (isInteger(ns)) keys.push({ id: end.id, ns: BigInt(ns) });
      else losses.row(NO_TIME);
    }
    return { keys, end, flaw: null };
  } catch (cause) {
    if (!(cause instanceof SQLite3Error)) throw cause;
    return { keys, end, flaw: cause.message };
  } finally {
    finalize(statement);
  }
}

const NO_TIME = 'its time is no whole number';

function finalize(statement: Statement | null): void {
  try {
    statement?.finalize();
  } catch {
    // It tells the error of its last step a second time.
  }
}

const hasTimeIndex = (db: Database): boolean =>
  db
    .all("SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'messages'")
    .some(({ sql }) => typeof sql === 'string' && /\(\s*["[`]?timestamp/i.test(sql));

class Rows {
  readonly #db: Database;
  readonly #topics: ReadonlyMap<number, BagTopic>;
  readonly #sql: string;
  readonly #losses: Losses;
  #statement: Statement;

  constructor(
    db: Database,
    topics: ReadonlyMap<number, BagTopic>,
    selected: ReadonlyMap<string, string>,
    losses: Losses,
  ) {
    this.#db = db;
    this.#topics = topics;
    this.#losses = losses;
    const wanted = [...topics].filter(([, { name, type }]) => selected.get(name) === type).map(([id]) => id);
    // What is not wanted stays on the disk.
    this.#sql =
      `SELECT topic_id AS topic, timestamp AS ns, length(data) AS bytes, topic_id IN (${wanted.join()}) AS wanted, ` +
      `CASE WHEN topic_id IN (${wanted.join()}) AND length(data) <= ${MAX_PIECE_BYTES} THEN data END AS data ` +
      'FROM messages WHERE rowid = ?';
    this.#statement = db.prepare(this.#sql);
  }

  /** Null: not wanted, or damaged and counted. */
  at(key: Key): BagMessage | null {
    let row: QueryResult | null;
    try {
      row = this.#statement.get(key.id);
    } catch (cause) {
      if (!(cause instanceof SQLite3Error)) throw cause;
      // A statement that has failed once fails again.
      this.close();
      this.#statement = this.#db.prepare(this.#sql);
      this.#losses.row(cause.message);
      return null;
    }
    const { topic, ns, bytes, wanted, data } = row ?? {};
    const name = this.#topics.get(Number(topic))?.name;
    if (!isInteger(ns) || BigInt(ns) !== key.ns)
      this.#losses.row('the index and the table contradict each other');
    else if (name === undefined) this.#losses.row(`there is no topic ${String(topic)}`);
    else if (wanted !== 1) return null;
    else if (data instanceof Uint8Array) return { topic: name, logNs: key.ns, data };
    else if (typeof bytes === 'number' && bytes > MAX_PIECE_BYTES)
      this.#losses.row(`it has ${bytes} bytes, at most ${mib(MAX_PIECE_BYTES)} are read`);
    else this.#losses.row('it holds no bytes');
    return null;
  }

  close(): void {
    finalize(this.#statement);
  }
}

/** What one reading has left out, told at its end. */
class Losses {
  /** Why the index, and then the table, could not be read any further. */
  index: string | null = null;
  end: string | null = null;
  #rows = 0;
  #first = '';
  readonly #faults: FileFaults;

  constructor(faults: FileFaults) {
    this.#faults = faults;
  }

  row(why: string): void {
    if (this.#rows++ === 0) this.#first = why;
  }

  timeless(rows: number): void {
    if (rows > 0) this.row(NO_TIME);
    this.#rows += Math.max(rows - 1, 0);
  }

  tell(): void {
    if (this.index !== null)
      this.#faults.general('index', `its index of times is damaged (${this.index}) and was not used`);
    if (this.#rows > 0)
      this.#faults.general(
        'rows',
        `${counted(this.#rows, 'message')} left out, the first because ${this.#first}`,
        {
          messages: this.#rows,
        },
      );
    if (this.end !== null)
      this.#faults.general('end', `the messages behind a damaged part (${this.end}) were left out`);
  }
}

const isInteger = (value: unknown): value is number | bigint =>
  typeof value === 'bigint' || Number.isSafeInteger(value);
