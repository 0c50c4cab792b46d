import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBag } from '../../src/bag/open';
import { START_NS, lines, readBag, writeBags } from './bags';

const folder = mkdtempSync(join(tmpdir(), 'bag-open-'));
const at = (...names: string[]): string => join(folder, ...names);
const messages = lines(60);
const first = messages.slice(0, 30);
const second = messages.slice(30);
const MCAPS = {
  'plain.mcap': {},
  'lz4.mcap': { compression: 'lz4' },
  'zstd.mcap': { compression: 'zstd' },
  'no-index.mcap': { compression: 'zstd', indexed: false },
  'no-chunks.mcap': { chunked: false },
  'no-chunks-no-index.mcap': { chunked: false, indexed: false },
  'no-crc.mcap': { crcs: false },
};
const ROSBAGS = [
  { storage: 'mcap', mode: 'none' },
  { storage: 'mcap', mode: 'message' },
  { storage: 'mcap', mode: 'storage' },
  { storage: 'mcap', mode: 'none', version: 8 },
  { storage: 'sqlite3', mode: 'none' },
  { storage: 'sqlite3', mode: 'none', version: 8 },
  { storage: 'sqlite3', mode: 'message' },
];

beforeAll(() => {
  mkdirSync(at('split'));
  mkdirSync(at('ordered'));
  writeBags([
    ...Object.entries(MCAPS).map(([name, options]) => ({
      kind: 'mcap',
      path: at(name),
      messages,
      ...options,
    })),
    ...ROSBAGS.map((options, i) => ({ kind: 'rosbags', path: at(`rosbags${i}`), messages, ...options })),
    { kind: 'rosbags', path: at('filewise'), storage: 'mcap', mode: 'file', messages: first },
    { kind: 'sqlite', path: at('old.db3'), messages },
    { kind: 'sqlite', path: at('no-index.db3'), index: false, messages },
    { kind: 'sqlite', path: at('power-cut.db3'), wal: true, messages },
    { kind: 'mcap', path: at('split', 'run_10.mcap'), messages: second },
    { kind: 'mcap', path: at('split', 'run_2.mcap'), messages: first },
    { kind: 'mcap', path: at('ordered', 'b.mcap'), messages: first },
    { kind: 'mcap', path: at('ordered', 'a.mcap'), messages: second },
    { kind: 'mcap', path: at('json.mcap'), encoding: 'json', messages: first },
    { kind: 'mcap', path: at('idl.mcap'), schema: 'ros2idl', messages: first },
  ]);
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each([...Object.keys(MCAPS), 'old.db3', 'no-index.db3', ...ROSBAGS.map((_, i) => `rosbags${i}`)])(
  '%s gives every message, in order',
  async name => {
    const bag = await readBag(at(name));
    expect(bag.lines).toEqual(messages);
    expect(bag.faults).toEqual([]);
    expect([bag.startNs, bag.endNs]).toEqual([messages[0]![1], messages.at(-1)![1]]);
    expect([...bag.topics.values()].map(({ name, type }) => `${name} ${type}`)).toEqual([
      '/a std_msgs/msg/String',
      '/b std_msgs/msg/String',
      '/joint_states sensor_msgs/msg/JointState',
    ]);
  },
);

test.each([...Object.keys(MCAPS), ...ROSBAGS.map((_, i) => `rosbags${i}`)])(
  '%s says how many messages a topic has, before it is read',
  async name => {
    const bag = await openBag(at(name));
    expect([...bag.topics.values()].map(({ count }) => count)).toEqual([20, 20, 20]);
    await bag.close();
  },
);

test('definitions come with the bag; those in IDL are left to the standard ones', async () => {
  const { topics } = await readBag(at('plain.mcap'));
  expect(topics.get('/joint_states')!.definition).toContain('float64[] position');
  const idl = await readBag(at('idl.mcap'));
  expect(idl.lines).toEqual(first);
  expect(idl.topics.get('/a')!.definition).toBe('');
});

test.each(['zstd.mcap', 'no-chunks.mcap', 'old.db3'])(
  '%s: topics and a time are selected; the end is not part of it',
  async name => {
    const fromNs = messages[10]![1];
    const toNs = messages[41]![1];
    const { lines, faults } = await readBag(at(name), { topics: new Set(['/b', '/none']), fromNs, toNs });
    expect(lines).toEqual(messages.slice(10, 41).filter(([topic]) => topic === '/b'));
    expect(faults).toEqual([]);
  },
);

test('a bag can be read twice at the same time', async () => {
  const bag = await openBag(at('zstd.mcap'));
  const count = async (): Promise<number> => {
    let n = 0;
    for await (const { data } of bag.messages({ topics: null, fromNs: null, toNs: null }))
      n += Math.sign(data.length);
    return n;
  };
  expect(await Promise.all([count(), count()])).toEqual([60, 60]);
  await bag.close();
});

test('files follow each other as metadata.yaml says, else by the numbers in their names', async () => {
  const split = await readBag(at('split'));
  expect(split.files).toEqual(['run_2.mcap', 'run_10.mcap']);
  expect(split.lines).toEqual(messages);
  expect(split.topics.get('/a')!.count).toBe(20);

  writeFileSync(
    at('ordered', 'metadata.yaml'),
    'rosbag2_bagfile_information:\n  version: 4\n  storage_identifier: mcap\n' +
      '  relative_file_paths: [ordered/b.mcap, a.mcap, gone.mcap]\n  topics_with_message_count: []\n',
  );
  const ordered = await readBag(at('ordered'));
  expect(ordered.files).toEqual(['b.mcap', 'a.mcap']);
  expect(ordered.lines).toEqual(messages);
  expect((await readBag(at('ordered', 'metadata.yaml'))).lines).toEqual(messages);
  expect(ordered.faults.map(f => f.message)).toEqual(['gone.mcap is missing; it was left out']);
});

test('metadata.yaml that cannot be read is told, and does not matter', async () => {
  mkdirSync(at('odd'));
  copyFileSync(at('plain.mcap'), at('odd', 'plain.mcap'));
  for (const text of ['{', '', 'rosbag2_bagfile_information: 3', 'a: &a [*a, *a]']) {
    writeFileSync(at('odd', 'metadata.yaml'), text);
    const { lines, faults } = await readBag(at('odd'));
    expect(lines).toEqual(messages);
    expect(faults).toMatchObject([{ code: 'BAG_DAMAGED' }]);
    expect(faults[0]!.message).toMatch(/metadata.yaml cannot be read .*reindex/);
  }
});

test('the messages that a power cut has left in the write-ahead log are read; nothing is left in the folder', async () => {
  const before = readdirSync(folder);
  const bag = await openBag(at('power-cut.db3'));
  expect(readdirSync(folder)).toEqual(before);
  let count = 0;
  for await (const { data } of bag.messages({ topics: null, fromNs: null, toNs: null })) {
    count += Math.sign(data.length);
    expect(readdirSync(folder)).toEqual(before);
  }
  await bag.close();
  expect(count).toBe(60);
  expect(readdirSync(folder)).toEqual(before);
});

test('a topic that is not in cdr is told of when it is asked for', async () => {
  expect(await readBag(at('json.mcap'))).toMatchObject({ lines: [], faults: [] });
  const { lines, faults } = await readBag(at('json.mcap'), { topics: new Set(['/a']) });
  expect(lines).toEqual([]);
  expect(faults).toMatchObject([{ code: 'BAG_UNSUPPORTED' }]);
  expect(faults[0]!.message).toContain('serialised as "json"');
});

test('what is no bag is told by what it is, with the cure', async () => {
  mkdirSync(at('empty-folder'));
  const files: [string, string | Uint8Array, RegExp][] = [
    ['ros1.bag', '#ROSBAG V2.0\n#', /is a ROS 1 bag; .*rosbags-convert/],
    ['empty.mcap', '', /is empty: the recording ended/],
    ['short.mcap', Uint8Array.of(137, 77, 67), /has only 3 bytes/],
    ['picture.mcap', Uint8Array.of(0xff, 0xd8, 0xff, 0xe0), /is a JPEG picture, no bag/],
    ['text.mcap', 'hello\n', /is a text, no bag/],
    ['noise.mcap', Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9), /is no bag/],
  ];
  for (const [name, bytes, message] of files) {
    writeFileSync(at(name), bytes);
    await expect(openBag(at(name))).rejects.toMatchObject({
      code: 'BAG_UNSUPPORTED',
      message: expect.stringMatching(message),
    });
  }
  await expect(openBag(at('nowhere'))).rejects.toMatchObject({ code: 'BAG_NOT_FOUND' });
  await expect(openBag(at('empty-folder'))).rejects.toMatchObject({
    code: 'BAG_UNSUPPORTED',
    message: expect.stringMatching(/holds no MCAP file/),
  });
  await expect(openBag(at('filewise'))).rejects.toMatchObject({
    code: 'BAG_UNSUPPORTED',
    message: expect.stringMatching(/compressed as a whole.*zstd -d/),
  });
});

test('another database is no bag', async () => {
  copyFileSync(at('old.db3'), at('other.db3'));
  const { Database } = await import('node-sqlite3-wasm');
  const db = new Database(at('other.db3'));
  db.exec('ALTER TABLE messages RENAME TO letters');
  db.close();
  await expect(openBag(at('other.db3'))).rejects.toMatchObject({
    code: 'BAG_UNSUPPORTED',
    message: expect.stringMatching(/no tables/),
  });
});

test('an empty file among others costs that file only', async () => {
  mkdirSync(at('last-empty'));
  copyFileSync(at('plain.mcap'), at('last-empty', 'x_0.mcap'));
  writeFileSync(at('last-empty', 'x_1.mcap'), '');
  const { lines, faults } = await readBag(at('last-empty'));
  expect(lines).toEqual(messages);
  expect(faults.map(f => `${f.code} ${f.message}`)).toEqual([
    'BAG_DAMAGED x_1.mcap is empty: the recording ended before anything was written; it was left out',
  ]);
  expect(START_NS).toBe(messages[0]![1]);
});

test('a bag of which no file can be read is refused', async () => {
  mkdirSync(at('all-damaged'));
  for (const name of ['x_0.db3', 'x_1.db3'])
    writeFileSync(at('all-damaged', name), 'SQLite format 3\0 and no more');
  await expect(openBag(at('all-damaged'))).rejects.toMatchObject({
    code: 'BAG_DAMAGED',
    message: expect.stringMatching(/nothing of the database .*x_1.db3 can be read/),
  });
});
