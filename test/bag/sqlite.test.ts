/** What only a .db3 can have: a damaged index of times, pages that are missing, rows without a time, a folder to open it in. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os, { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from 'node-sqlite3-wasm';
import { openBag } from '../../src/bag/open';
import { lines, readBag, writeBags } from './bags';

const PAGE_BYTES = 4096;
const folder = mkdtempSync(join(tmpdir(), 'bag-sqlite-'));
const at = (...names: string[]): string => join(folder, ...names);
const messages = lines(1600, ['/a', '/b']);
const [first, second] = [messages.slice(0, 800), messages.slice(800)];

beforeAll(() => {
  // Its index comes last, as rosbag2 may write it too.
  writeBags([{ kind: 'rosbags', path: at('whole'), storage: 'sqlite3', messages }]);
  writeBags([
    { kind: 'sqlite', path: at('first.db3'), messages: first },
    { kind: 'sqlite', path: at('second.db3'), messages: second },
  ]);
  mkdirSync(at('two'));
  copyFileSync(at('first.db3'), at('two', 'r_0.db3'));
  withDamagedIndex(at('second.db3'), at('two', 'r_1.db3'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const faultsOf = ({ faults }: { readonly faults: readonly Error[] }): string =>
  faults.map(({ message }) => message).join('\n');

/** Told without a message being read, as by --info. */
async function faultsAtOpen(path: string): Promise<string> {
  const bag = await openBag(path);
  await bag.close();
  return faultsOf(bag);
}

function withDamagedIndex(from: string, to: string): string {
  const bytes = readFileSync(from);
  const db = new Database(from, { readOnly: true });
  const root = db.get("SELECT rootpage FROM sqlite_master WHERE name = 'timestamp_idx'")!['rootpage'];
  db.close();
  const offset = (Number(root) - 1) * PAGE_BYTES;
  bytes.fill(0xff, offset, offset + 64);
  writeFileSync(to, bytes);
  return to;
}

test.each([50, 80, 95])(
  'cut at %i %%: what is whole is read, and the times are those of it',
  async percent => {
    const file = readFileSync(at('whole', 'whole.db3'));
    const pages = Math.floor((file.length * percent) / 100 / PAGE_BYTES);
    const path = at(`cut${percent}.db3`);
    writeFileSync(path, file.subarray(0, pages * PAGE_BYTES));
    expect(await faultsAtOpen(path)).toMatch(/the database is cut: \d+ of its \d+ bytes are missing/);
    const read = await readBag(path);
    expect(read.lines).toEqual(messages.slice(0, read.lines.length));
    expect(read.lines.length).toBeGreaterThan((messages.length * (percent - 30)) / 100);
    expect([read.startNs, read.endNs]).toEqual([read.lines[0]![1], read.lines.at(-1)![1]]);
  },
);

test('no row is given up that lies before the damage', async () => {
  const file = readFileSync(at('first.db3'));
  const cut = file.subarray(0, Math.floor(file.length / 2 / PAGE_BYTES) * PAGE_BYTES);
  const last = Number(/.*text (\d+)/s.exec(cut.toString('latin1'))![1]);
  writeFileSync(at('half.db3'), cut);
  const db = new Database(at('half.db3'));
  db.exec('PRAGMA writable_schema = ON');
  db.exec("DELETE FROM sqlite_master WHERE name = 'timestamp_idx'");
  db.close();
  const read = await readBag(at('half.db3'));
  expect(read.lines).toEqual(first.slice(0, read.lines.length));
  expect(read.lines.length).toBeGreaterThan(last - 100);
});

test('a damaged index of times costs nothing, and is told when the bag is opened', async () => {
  const path = withDamagedIndex(at('whole', 'whole.db3'), at('index.db3'));
  expect(await faultsAtOpen(path)).toMatch(/^index\.db3: its index of times is damaged .* and was not used$/);
  const read = await readBag(path);
  expect(read.lines).toEqual(messages);
  expect([read.startNs, read.endNs]).toEqual([messages[0]![1], messages.at(-1)![1]]);
});

test('a damaged index in one file of several does not leave that file out', async () => {
  const bag = await openBag(at('two'));
  expect([bag.startNs, bag.endNs]).toEqual([messages[0]![1], messages.at(-1)![1]]);
  await bag.close();
  // As a replay reads it.
  const read = await readBag(at('two'), { fromNs: bag.startNs, toNs: bag.endNs! + 1n });
  expect(read.lines).toEqual(messages);
  expect(faultsOf(read)).toContain('its index of times is damaged');
});

test.each([true, false])('rows whose time is no whole number are counted, with index: %s', async index => {
  const path = at(`odd${index}.db3`);
  copyFileSync(at('first.db3'), path);
  const db = new Database(path);
  if (!index) db.exec('DROP INDEX timestamp_idx');
  // The column takes what it is given; 600 rows are more than are read at once.
  db.exec('CREATE TABLE loose(id INTEGER PRIMARY KEY, topic_id, timestamp, data)');
  db.exec(`INSERT INTO loose SELECT id, topic_id, CASE
    WHEN id BETWEEN 11 AND 610 THEN 1.7e9 + 0.5 WHEN id = 700 THEN 'noon' WHEN id = 701 THEN NULL ELSE timestamp END,
    data FROM messages`);
  db.exec('DROP TABLE messages');
  db.exec('ALTER TABLE loose RENAME TO messages');
  if (index) db.exec('CREATE INDEX timestamp_idx ON messages (timestamp ASC)');
  db.close();
  const read = await readBag(path);
  expect(read.lines).toEqual(first.filter((_, i) => i < 10 || (i >= 610 && i !== 699 && i !== 700)));
  expect(faultsOf(read)).toBe(
    `odd${index}.db3: 602 messages left out, the first because its time is no whole number`,
  );
});

test('a folder for temporary files that is of no use is named, and the bag is not blamed', async () => {
  const folderOf = jest.spyOn(os, 'tmpdir').mockReturnValue(at('nowhere'));
  try {
    for (const path of [at('first.db3'), at('two')])
      await expect(openBag(path)).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringMatching(/temporary files .*nowhere cannot be used \(.*ENOENT.*set TMPDIR/),
      });
  } finally {
    folderOf.mockRestore();
  }
});
