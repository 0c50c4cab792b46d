/**
 * A database opened without a trace in its folder. SQLite puts a lock, a journal or a shared-memory file beside the file
 * that it opens, also to read it; so it is given a link in a folder of ours. The write-ahead log that a power cut leaves
 * behind holds the last messages: it is copied beside the link, and SQLite reads it there.
 */
import { Database } from 'node-sqlite3-wasm';
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { FileFaults } from './faults';
import { MAX_PIECE_BYTES, mib } from './limits';

export interface OpenDatabase {
  readonly db: Database;
  close(): void;
}

/** Throws what SQLite says. */
export function openUntouched(path: string, faults: FileFaults): OpenDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'oxygen-bag-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const link = join(folder, 'bag.db3');
    symlinkSync(resolve(path), link);
    bringLog(path, link, faults);
    const db = new Database(link, { readOnly: true });
    // A write-ahead log is read without shared memory, which this SQLite does not have.
    db.exec('PRAGMA locking_mode = EXCLUSIVE');
    return {
      db,
      close: () => {
        db.close();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

function bringLog(path: string, link: string, faults: FileFaults): void {
  const log = `${path}-wal`;
  const bytes = existsSync(log) ? statSync(log).size : 0;
  if (bytes > MAX_PIECE_BYTES)
    faults.general(
      'wal',
      `its write-ahead log has ${mib(bytes)}, at most ${mib(MAX_PIECE_BYTES)} are read; the messages in it were left out. ` +
        `Copy the bag and open the copy once with sqlite3 ("PRAGMA wal_checkpoint;") to bring them in`,
    );
  else if (bytes > 0) copyFileSync(log, `${link}-wal`);
  if (existsSync(`${path}-journal`) && statSync(`${path}-journal`).size > 0)
    faults.general(
      'journal',
      'a journal lies beside it: the recording ended in the middle of writing, and its last messages may be damaged. ' +
        'Copy the bag and open the copy once with sqlite3 to roll them back',
    );
}
