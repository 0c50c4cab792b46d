/** Bags that are cut, flipped or lie about lengths: whole chunks are read, nothing wrong is given, each damage is told. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { Opcode } from '@mcap/core';
import { Faults } from '../../src/bag/faults';
import { OxygenError } from '../../src/core/errors';
import { lines, readBag, writeBags } from './bags';
import type { Line, Read } from './bags';

const folder = mkdtempSync(join(tmpdir(), 'bag-damage-'));
const at = (name: string): string => join(folder, name);
const messages = lines(16, ['/a', '/b']);
const small = { kind: 'mcap', chunk_bytes: 250, messages };
const FILES = {
  'plain.mcap': {},
  'lz4.mcap': { compression: 'lz4' },
  'zstd.mcap': { compression: 'zstd' },
  'no-index.mcap': { indexed: false },
  'no-chunks.mcap': { chunked: false, indexed: false },
};
/** Messages of the files that are cut at every byte. */
const TINY = 4;
type Name = keyof typeof FILES;
const CHUNKED: Name[] = ['plain.mcap', 'lz4.mcap', 'zstd.mcap', 'no-index.mcap'];

beforeAll(() =>
  writeBags([
    ...Object.entries(FILES).map(([name, options]) => ({ ...small, path: at(name), ...options })),
    ...Object.entries(FILES).map(([name, options]) => ({
      ...small,
      path: at(`tiny-${name}`),
      ...options,
      chunk_bytes: 120,
      messages: messages.slice(0, TINY),
    })),
    { kind: 'sqlite', path: at('rows.db3'), messages: lines(400, ['/a', '/b']) },
    { kind: 'rosbags', path: at('packed'), storage: 'sqlite3', mode: 'message', messages },
  ]),
);
afterAll(() => rmSync(folder, { recursive: true }));

/** Null: refused with a plain error. Anything but an OxygenError is a bug. */
async function readBytes(bytes: Uint8Array): Promise<Read | null> {
  writeFileSync(at('damaged'), bytes);
  try {
    return await readBag(at('damaged'));
  } catch (error) {
    expect(error).toBeInstanceOf(OxygenError);
    return null;
  }
}

function writeTo(name: string, bytes: Uint8Array): string {
  writeFileSync(at(name), bytes);
  return at(name);
}

const key = (line: Line): string => line.join('|');
const written = new Set(messages.map(key));
const isWritten = (read: Read): boolean => read.lines.every(line => written.has(key(line)));
const messageOf = (read: Read | null): string => read!.faults.map(f => `${f.code} ${f.message}`).join('\n');

interface Record {
  readonly opcode: number;
  readonly offset: number;
  readonly content: number;
  readonly end: number;
}

/** The records of a whole file. */
function records(file: Buffer): Record[] {
  const found: Record[] = [];
  for (let offset = 8; offset < file.length - 8;) {
    const end = offset + 9 + Number(file.readBigUInt64LE(offset + 1));
    found.push({ opcode: file[offset]!, offset, content: offset + 9, end });
    offset = end;
  }
  return found;
}

const chunks = (file: Buffer): Record[] => records(file).filter(({ opcode }) => opcode === Opcode.CHUNK);

test.each(['zstd.mcap', 'no-index.mcap', 'no-chunks.mcap'] as const)(
  '%s, cut at any byte: all that is whole, and one fault',
  async name => {
    const file = readFileSync(at(`tiny-${name}`));
    const tiny = messages.slice(0, TINY);
    // Where messages become whole: with their chunk, or by themselves.
    const ends = records(file).filter(({ opcode }) => opcode === Opcode.CHUNK || opcode === Opcode.MESSAGE);
    const counts: number[] = [];
    for (const { end } of ends) counts.push((await readBytes(file.subarray(0, end)))!.lines.length);
    expect(counts.at(-1)).toBe(TINY);
    expect(new Set(counts).size).toBeGreaterThan(1);
    for (let length = 0; length < file.length; length++) {
      const read = await readBytes(file.subarray(0, length));
      if (length < 8) {
        expect(read).toBeNull();
        continue;
      }
      const whole = ends.filter(({ end }) => end <= length).length;
      expect(read!.lines).toEqual(tiny.slice(0, whole === 0 ? 0 : counts[whole - 1]));
      expect(read!.faults).toHaveLength(1);
    }
  },
);

test.each(CHUNKED)('%s, cut in a chunk: the chunks before it, whole', async name => {
  const file = readFileSync(at(name));
  const [, , third] = chunks(file);
  const toSecond = (await readBytes(file.subarray(0, third!.offset)))!.lines;
  const read = await readBytes(file.subarray(0, third!.end - 1));
  expect(read!.lines).toEqual(toSecond);
  expect(read!.lines.length).toBeGreaterThan(0);
  expect(messageOf(read)).toMatch(
    /BAG_DAMAGED damaged, byte \d+: a chunk claims \d+ bytes, but the file has only \d+ more: it is cut/,
  );
});

test.each(CHUNKED)(
  '%s: a flipped bit never gives a wrong message, and never loses one silently',
  async name => {
    const file = readFileSync(at(name));
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 8, max: file.length - 1 }), fc.nat(7), async (byte, bit) => {
        const damaged = Buffer.from(file);
        damaged[byte]! ^= 1 << bit;
        const read = await readBytes(damaged);
        if (read === null) return;
        expect(isWritten(read)).toBe(true);
        if (read.lines.length < messages.length) expect(read.faults.length).toBeGreaterThan(0);
      }),
      { numRuns: 100 },
    );
  },
);

test.each(['plain.mcap', 'lz4.mcap', 'zstd.mcap'] as const)(
  '%s: a damaged chunk costs that chunk only, and the index says how many messages it held',
  async name => {
    const file = readFileSync(at(name));
    const [, second] = chunks(file);
    file[second!.end - 5]! ^= 0xff;
    const read = await readBytes(file);
    expect(read!.lines).toEqual(
      [...messages.slice(0, 2), ...messages.slice(5)].slice(0, 0).concat(read!.lines),
    );
    expect(isWritten(read!)).toBe(true);
    const lost = messages.length - read!.lines.length;
    expect(lost).toBeGreaterThan(0);
    expect(lost).toBeLessThan(7);
    expect(messageOf(read)).toMatch(
      new RegExp(
        `^BAG_DAMAGED damaged, byte ${second!.offset}: a chunk is damaged: .*; ${lost} messages? left out$`,
      ),
    );
  },
);

test('a chunk with a wrong crc is left out', async () => {
  const file = readFileSync(at('plain.mcap'));
  const [first] = chunks(file);
  file.writeUInt32LE(7, first!.content + 24);
  expect(messageOf(await readBytes(file))).toContain('its crc is ');
});

test.each([
  [
    'the length of a chunk',
    (file: Buffer) => file.writeBigUInt64LE(1n << 60n, chunks(file)[1]!.offset + 1),
    'claims more than 2^53 bytes',
  ],
  [
    'the length of a chunk, by 4 GiB',
    (file: Buffer) => file.writeBigUInt64LE(1n << 32n, chunks(file)[1]!.offset + 1),
    'claims 4294967296 bytes',
  ],
  [
    'the decompressed size',
    (file: Buffer) => file.writeBigUInt64LE(1n << 40n, chunks(file)[1]!.content + 16),
    'at most 256 MiB are read',
  ],
  [
    'the decompressed size, a little',
    (file: Buffer) => file.writeBigUInt64LE(3n, chunks(file)[1]!.content + 16),
    'a chunk is damaged',
  ],
])(
  '%s is a lie: nothing of that size is allocated, all other chunks are read',
  async (_what, lie, message) => {
    const file = readFileSync(at('zstd.mcap'));
    lie(file);
    const before = process.memoryUsage().arrayBuffers;
    const read = await readBytes(file);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100e6);
    expect(messageOf(read)).toContain(message);
    expect(read!.lines.length).toBeGreaterThan(9);
    expect(isWritten(read!)).toBe(true);
  },
);

test('a message longer than its chunk ends the chunk', async () => {
  const file = readFileSync(at('plain.mcap'));
  const [, second] = chunks(file);
  const data = second!.content + 40;
  file.writeBigUInt64LE(1_000_000n, data + 1);
  file.writeUInt32LE(crc32(file.subarray(data, second!.end)), second!.content + 24);
  const read = await readBytes(file);
  expect(messageOf(read)).toMatch(
    /a message in it claims 1000000 bytes, but only \d+ are left; the rest of it was left out/,
  );
  expect(isWritten(read!)).toBe(true);
});

test('a message longer than the file, in a file without chunks: those before and behind it are read', async () => {
  const file = readFileSync(at('no-chunks.mcap'));
  const all = records(file).filter(({ opcode }) => opcode === Opcode.MESSAGE);
  file.writeBigUInt64LE(1n << 40n, all[5]!.offset + 1);
  const read = await readBytes(file);
  expect(read!.lines.map(key)).toEqual(messages.filter((_, i) => i !== 5).map(key));
  expect(read!.faults).toHaveLength(1);
});

test('a file whose first chunk, with the description of its topics, is damaged says why the others are of no use', async () => {
  const file = readFileSync(at('no-index.mcap'));
  file[chunks(file)[0]!.end - 5]! ^= 1;
  const read = await readBytes(file);
  expect(read!.lines).toEqual([]);
  expect(messageOf(read)).toMatch(
    /7 messages of channel 1 left out: the description of that channel is damaged or missing/,
  );
});

test('a damaged database gives the rows that can be read', async () => {
  const file = readFileSync(at('rows.db3'));
  const all = await readBag(at('rows.db3'));
  for (let page = 1; page < file.length / 4096; page++) {
    const damaged = Buffer.from(file);
    damaged.fill(0x5a, page * 4096, (page + 1) * 4096);
    const read = await readBytes(damaged);
    if (read === null) continue;
    const good = new Set(all.lines.map(key));
    expect(read.lines.filter(line => !good.has(key(line)))).toEqual([]);
    if (read.lines.length < all.lines.length) expect(read.faults.length).toBeGreaterThan(0);
  }
});

test('a database that is cut gives the rows before the cut, and says how much is missing', async () => {
  const file = readFileSync(at('rows.db3'));
  const all = new Set((await readBag(at('rows.db3'))).lines.map(key));
  let most = 0;
  for (let length = 4096; length < file.length; length += 4096) {
    const read = await readBytes(file.subarray(0, length));
    expect(await readBytes(file.subarray(0, length - 700))).toBeNull();
    if (read === null) continue;
    expect(messageOf(read)).toMatch(/the database is cut: \d+ of its \d+ bytes are missing/);
    expect(read.lines.every(line => all.has(key(line)))).toBe(true);
    most = Math.max(most, read.lines.length);
  }
  expect(most).toBeGreaterThan(100);
});

test('a flipped byte in a database, also in its description of itself, is never taken for a bug', async () => {
  const file = readFileSync(at('rows.db3'));
  // SQLite gives the first page what it knows of tables.
  const place = fc.oneof(fc.integer({ min: 16, max: 4095 }), fc.nat(file.length - 1));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(place, fc.nat(255)), { minLength: 1, maxLength: 4 }), async flips => {
      const damaged = Buffer.from(file);
      for (const [byte, value] of flips) damaged[byte] = value;
      await readBytes(damaged);
    }),
    { numRuns: 60 },
  );
});

test('a table that is listed but cannot be opened is told of', async () => {
  const file = readFileSync(at('rows.db3'));
  const place = file.indexOf('CREATE TABLE messages');
  file.write('CREATE TABLX', place);
  expect(messageOf(await readBag(writeTo('listed.db3', file)))).toBe(
    'BAG_DAMAGED listed.db3: the messages behind a damaged part (no such table: messages) were left out',
  );
});

test('a message whose own compression is damaged is left out', async () => {
  const { Database } = await import('node-sqlite3-wasm');
  const db = new Database(join(at('packed'), 'packed.db3'));
  db.exec('UPDATE messages SET data = substr(data, 1, 9) WHERE id = 3');
  db.close();
  const read = await readBag(at('packed'));
  expect(read.lines).toHaveLength(15);
  expect(messageOf(read)).toMatch(
    /1 message cannot be decompressed and left out, the first of \/a: its zstd/,
  );
});

test('records of other kinds are passed over; one of a reserved kind is told of', async () => {
  const file = readFileSync(at('no-index.mcap'));
  const [first] = chunks(file);
  const record = (opcode: number): Buffer =>
    Buffer.concat([Buffer.of(opcode, 4, 0, 0, 0, 0, 0, 0, 0), Buffer.alloc(4)]);
  const withRecord = (opcode: number): Buffer =>
    Buffer.concat([file.subarray(0, first!.offset), record(opcode), file.subarray(first!.offset)]);
  expect(await readBytes(withRecord(0x80))).toMatchObject({ lines: messages, faults: [] });
  const reserved = await readBytes(withRecord(0x42));
  expect(reserved!.lines).toEqual(messages);
  expect(messageOf(reserved)).toMatch(/^BAG_DAMAGED .*a record of the unknown kind 66 was left out$/);
});

test('a chunk that has become a record of another kind is missed', async () => {
  for (const name of ['plain.mcap', 'no-index.mcap'] as const) {
    const file = readFileSync(at(name));
    file[chunks(file)[1]!.offset]! = 0x86;
    const read = await readBytes(file);
    expect(read!.lines.length).toBeLessThan(messages.length);
    expect(read!.faults.length).toBeGreaterThan(0);
  }
});

test('a journal beside a database is told of', async () => {
  copyFileSync(at('rows.db3'), at('journal.db3'));
  writeFileSync(at('journal.db3-journal'), 'x'.repeat(600));
  const read = await readBag(at('journal.db3'));
  expect(read.lines).toHaveLength(400);
  expect(messageOf(read)).toMatch(/a journal lies beside it: .*roll them back/);
});

test('a bag that is damaged everywhere gives a short list, in one line each', () => {
  const faults = new Faults();
  for (let i = 0; i < 1000; i++) faults.put(`${i}`, 'BAG_DAMAGED', `a\n\u001b[2Jb ${i}`);
  expect(faults.list).toHaveLength(101);
  expect(faults.list[0]!.message).toBe('a [2Jb 0');
  expect(faults.list[100]!.message).toContain('more damage');
});
