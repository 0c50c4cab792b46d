/** What the end of an MCAP file and its index say must fit what was found: also where a replay reads from first to last. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Opcode } from '@mcap/core';
import { openBag } from '../../src/bag/open';
import { START_NS, lines, readBag, writeBags } from './bags';
import type { Line, Read } from './bags';

const folder = mkdtempSync(join(tmpdir(), 'bag-ending-'));
const at = (name: string): string => join(folder, name);
const messages = lines(16, ['/a', '/b']);
/** The first chunk holds nothing else. */
const zeros: Line[] = messages.map(([topic, ns, text], i) => [topic, i < 3 ? 0n : ns, text]);
const small = { kind: 'mcap', chunk_bytes: 250, messages };

beforeAll(() =>
  writeBags([
    { ...small, path: at('chunks.mcap') },
    { ...small, path: at('loose.mcap'), chunked: false },
    { ...small, path: at('plain.mcap'), chunked: false, indexed: false },
    { ...small, path: at('zeros.mcap'), messages: zeros, chunk_bytes: 150 },
    { ...small, path: at('zeros-no-index.mcap'), messages: zeros, chunk_bytes: 150, indexed: false },
  ]),
);
afterAll(() => rmSync(folder, { recursive: true }));

interface Found {
  readonly opcode: number;
  readonly from: number;
  readonly to: number;
}

function records(file: Buffer): Found[] {
  const found: Found[] = [];
  for (let from = 8; from < file.length - 8;) {
    const to = from + 9 + Number(file.readBigUInt64LE(from + 1));
    found.push({ opcode: file[from]!, from, to });
    from = to;
  }
  return found;
}

const recordOf = (file: Buffer, opcode: number): Found => records(file).find(one => one.opcode === opcode)!;

function written(name: string, bytes: Uint8Array): string {
  writeFileSync(at(name), bytes);
  return at(name);
}

/** From the first message to the last, as a replay reads. */
async function played(path: string): Promise<Read> {
  const bag = await openBag(path);
  const { startNs, endNs } = bag;
  await bag.close();
  return readBag(path, { fromNs: startNs, toNs: endNs! + 1n });
}

const told = ({ faults }: { readonly faults: readonly Error[] }): string =>
  faults.map(({ message }) => message).join('\n');

test.each(['chunks.mcap', 'loose.mcap', 'plain.mcap'])(
  '%s, cut anywhere behind its last message: told when it is opened, and when it is played',
  async name => {
    const file = readFileSync(at(name));
    const { to } = recordOf(file, Opcode.DATA_END);
    for (let length = to; length < file.length; length++) {
      const path = written('cut.mcap', file.subarray(0, length));
      const bag = await openBag(path);
      await bag.close();
      expect([length, told(bag)]).toEqual([
        length,
        'cut.mcap: the closing record of the file is cut or damaged; all messages before it are whole',
      ]);
      if (length % 16 > 0) continue;
      const read = await played(path);
      expect(read.lines).toEqual(messages);
      expect(told(read)).toBe(told(bag));
    }
  },
);

test.each(['chunks.mcap', 'loose.mcap'])(
  '%s: an index that counts another number of messages is told when all of it is played',
  async name => {
    const file = readFileSync(at(name));
    file.writeBigUInt64LE(17n, recordOf(file, Opcode.STATISTICS).from + 9);
    // No crc: the index is believed.
    file.writeUInt32LE(0, recordOf(file, Opcode.FOOTER).from + 9 + 16);
    expect(told(await played(written('counted.mcap', file)))).toBe(
      'counted.mcap: the index of the file counts 17 messages, but 16 were found',
    );
    expect(told(await played(at(name)))).toBe('');
  },
);

test('of a part that is played, the index of the whole says nothing', async () => {
  const read = await readBag(at('chunks.mcap'), { fromNs: messages[9]![1], toNs: null });
  expect([read.lines, read.faults]).toEqual([messages.slice(9), []]);
});

test.each([
  ['schema', Opcode.SCHEMA, /schema 1 \(std_msgs\/msg\/String\) is described a second time and differently/],
  ['channel', Opcode.CHANNEL, /channel 1 \(\/a\) is described a second time and differently/],
])('a %s that is described twice: the same is nothing, another is damage', async (_, opcode, says) => {
  const file = readFileSync(at('plain.mcap'));
  const { from, to } = recordOf(file, opcode);
  const record = Buffer.from(file.subarray(from, to));
  const last = recordOf(file, Opcode.DATA_END).from;
  const twice = (): Buffer => Buffer.concat([file.subarray(0, last), record, file.subarray(last)]);
  expect(await readBag(written('same.mcap', twice()))).toMatchObject({ lines: messages, faults: [] });
  // A byte of the definition; the number of the schema.
  if (opcode === Opcode.SCHEMA) record[record.length - 1]! ^= 1;
  else record.writeUInt16LE(9, 9 + 2);
  const read = await readBag(written('other.mcap', twice()));
  expect(read.lines).toEqual(messages);
  expect(told(read)).toMatch(says);
});

test.each(['zeros.mcap', 'zeros-no-index.mcap'])(
  '%s: a chunk whose messages all have the stamp 0 is not taken for an empty one',
  async name => {
    const read = await played(at(name));
    expect(read.lines).toEqual(messages.slice(3));
    expect(read.startNs).toBe(START_NS + 30_000_000n);
    expect(read.faults).toMatchObject([{ code: 'BAG_DISORDER', details: { messages: 3 } }]);
  },
);
