/**
 * A database opened without a trace in its folder. SQLite puts a lock, a journal or a shared-memory file beside the file
 * that it opens, also to read it; so it is given a link in a folder of ours. The write-ahead log that a power cut leaves
 * behind holds the last messages: it is copied beside the link, and SQLite reads it there.
 */
import { Database } from 'node-sqlite3-wasm';
import {
  accessSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { OxygenError } from '../core/errors';
import type { FileFaults } from './faults';
import { MAX_PIECE_BYTES, mib } from './limits';

export interface OpenDatabase {
  readonly db: Database;
  close(): void;
}

/** @throws OxygenError BAG_DAMAGED; CONFIG_INVALID if the folder for temporary files is of no use */
export function openUntouched(path: string, faults: FileFaults): OpenDatabase {
  const folder = temporary(() => mkdtempSync(join(tmpdir(), 'oxygen-bag-')));
  let db: Database | null = null;
  const close = (): void => {
    db?.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const link = join(folder, 'bag.db3');
    temporary(() => symlinkSync(resolve(path), link));
    checkSize(path, bringLog(path, link, faults), faults);
    db = new Database(link, { readOnly: true });
    // A write-ahead log is read without shared memory, which this SQLite does not have.
    db.exec('PRAGMA locking_mode = EXCLUSIVE');
    // Else a database that is shorter than it should be is refused as a whole. Nothing is written: it is read only.
    db.exec('PRAGMA writable_schema = ON');
    return { db, close };
  } catch (error) {
    close();
    throw error instanceof OxygenError ? error : damagedDatabase(path, error);
  }
}

export const damagedDatabase = (path: string, cause: unknown): OxygenError =>
  new OxygenError(
    'BAG_DAMAGED',
    `nothing of the database ${path} can be read (${cause instanceof Error ? cause.message : String(cause)})`,
    { cause },
  );

/** What is done in the folder for temporary files: where that fails, the bag is not to blame. */
function temporary<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new OxygenError(
      'CONFIG_INVALID',
      `the folder for temporary files ${tmpdir()} cannot be used (${cause instanceof Error ? cause.message : String(cause)}), ` +
        'and a .db3 bag is opened by way of it: make room in it, or set TMPDIR to a folder that can be written to',
      { cause },
    );
  }
}

/** Whether there is one. */
function bringLog(path: string, link: string, faults: FileFaults): boolean {
  const log = `${path}-wal`;
  const bytes = existsSync(log) ? statSync(log).size : 0;
  if (bytes > MAX_PIECE_BYTES)
    faults.general(
      'wal',
      `its write-ahead log has ${mib(bytes)}, at most ${mib(MAX_PIECE_BYTES)} are read; the messages in it were left out. ` +
        `Copy the bag and open the copy once with sqlite3 ("PRAGMA wal_checkpoint;") to bring them in`,
    );
  else if (bytes > 0 && isReadable(log)) temporary(() => copyFileSync(log, `${link}-wal`));
  else if (bytes > 0)
    faults.general(
      'wal',
      'its write-ahead log may not be read by this user; the messages in it were left out',
    );
  if (existsSync(`${path}-journal`) && statSync(`${path}-journal`).size > 0)
    faults.general(
      'journal',
      'a journal lies beside it: the recording ended in the middle of writing, and its last messages may be damaged. ' +
        'Copy the bag and open the copy once with sqlite3 to roll them back',
    );
  return bytes > 0;
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** The header says how many pages there are. @throws OxygenError BAG_DAMAGED */
function checkSize(path: string, hasLog: boolean, faults: FileFaults): void {
  const header = Buffer.alloc(32);
  const file = openSync(path, 'r');
  try {
    if (readSync(file, header, 0, header.length, 0) < header.length) return;
    // A page of 65536 bytes is stored as 1.
    const pageBytes = header.readUInt16BE(16) === 1 ? 65536 : header.readUInt16BE(16);
    const bytes = pageBytes * header.readUInt32BE(28);
    const { size } = fstatSync(file);
    // SQLite would fill the page up with zeros and give them as data.
    if (pageBytes > 0 && size % pageBytes > 0)
      throw new OxygenError(
        'BAG_DAMAGED',
        `the database ${path} is cut in the middle of a page: copy it and cut the copy down to whole pages ` +
          `("truncate -s ${size - (size % pageBytes)} COPY"), then all that is whole can be read`,
      );
    if (size < bytes && !hasLog)
      faults.general('cut', `the database is cut: ${bytes - size} of its ${bytes} bytes are missing`);
  } finally {
    closeSync(file);
  }
}
