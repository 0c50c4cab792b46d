/** Result bags that cannot be written, or are given up: what was there before stays, and nothing else is left. */
import { McapStreamReader } from '@mcap/core';
import { decompress, isLoaded } from '@foxglove/wasm-zstd';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ResultBag } from '../../src/replay/result-bag';
import { OUTPUTS } from '../../src/ros/topics';
import { SAMPLE } from './player';

const topics = [{ ...OUTPUTS.action, name: '/action' }];

let folder: string;
const at = (name: string): string => join(folder, name);
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'oxygen-result-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** Not compressible, so that the size of a file is known. */
const noise = (bytes: number): object => ({
  data: Float64Array.from({ length: bytes / 8 }, () => Math.random()),
});

async function complete(path: string): Promise<void> {
  const bag = await ResultBag.open(path, topics);
  bag.write('/action', noise(80), 1n);
  await bag.close();
}

/** Times of the messages in a file. */
async function timesIn(path: string): Promise<bigint[]> {
  await isLoaded;
  const reader = new McapStreamReader({
    decompressHandlers: { zstd: (data, size) => decompress(data, Number(size)) },
  });
  reader.append(readFileSync(path));
  const times: bigint[] = [];
  for (let record; (record = reader.nextRecord()) !== undefined;)
    if (record.type === 'Message') times.push(record.logTime);
  return times;
}

describe('refused before anything is written', () => {
  test.each([
    ['missing/a.mcap', 'ENOENT: no such file or directory'],
    ['missing/a', 'ENOENT: no such file or directory'],
    ['file/a.mcap', 'ENOTDIR: not a directory'],
    ['file', 'something else has that name'],
    ['folder.mcap', 'it is a folder'],
    ['others', 'something else has that name'],
  ])('%s', async (name, why) => {
    writeFileSync(at('file'), '');
    mkdirSync(at('folder.mcap'));
    mkdirSync(at('others'));
    writeFileSync(at('others/thesis.txt'), '');
    const before = readdirSync(folder);
    await expect(ResultBag.open(at(name), topics)).rejects.toMatchObject({
      code: 'RESULT_NOT_WRITTEN',
      message: `${at(name)}: ${why}; choose a place that exists, may be written and has room`,
    });
    expect(readdirSync(folder)).toEqual(before);
  });

  test('a type without a definition', async () => {
    const unknown = { ...OUTPUTS.action, name: '/a', type: 'no_msgs/msg/No' };
    await expect(ResultBag.open(at('a.mcap'), [unknown])).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('a write that fails', () => {
  /** What its temporary file is: something that fails. */
  const part = (): string => at(`.a.mcap.part-${process.pid}`);
  const failure = (why: string): object => ({
    code: 'RESULT_NOT_WRITTEN',
    message: expect.stringContaining(`${at('a.mcap')}: ${why};`),
  });
  let old: Buffer;
  beforeEach(async () => {
    await complete(at('a.mcap'));
    old = readFileSync(at('a.mcap'));
  });
  afterEach(() => {
    expect(readdirSync(folder)).toEqual(['a.mcap']);
    expect(readFileSync(at('a.mcap'))).toEqual(old);
  });

  test('at the beginning: the disk is full', async () => {
    symlinkSync('/dev/full', part());
    const full = failure('ENOSPC: no space left on device');
    await expect(ResultBag.open(at('a.mcap'), topics)).rejects.toMatchObject(full);
  });

  test('later: every call says so, and close cleans up', async () => {
    execFileSync('mkfifo', [part()]);
    // Reads the first chunk and goes.
    const reader = spawn('head', ['-c', '1000000', part()], { stdio: 'ignore' });
    const gone = once(reader, 'exit');
    const broken = failure('EPIPE: broken pipe');
    const bag = await ResultBag.open(at('a.mcap'), topics);
    for (let i = 0; i < 40; i++) bag.write('/action', noise(100_000), BigInt(i));
    await expect(bag.flush()).rejects.toMatchObject(broken);
    expect(() => bag.write('/action', noise(8), 41n)).toThrow(expect.objectContaining(broken));
    await expect(bag.close()).rejects.toMatchObject(broken);
    await gone;
  });
});

test.each(['a.mcap', 'a'])('%s: nothing has that name before close, nothing is left by abort', async name => {
  const bag = await ResultBag.open(at(name), topics);
  for (let i = 0; i < 40; i++) bag.write('/action', noise(100_000), BigInt(i));
  expect(readdirSync(folder)).not.toContain(name);
  await bag.abort();
  await bag.abort();
  expect(readdirSync(folder)).toEqual([]);
  expect(() => bag.write('/action', noise(8), 41n)).toThrow('is closed');
});

test('what others put there in the meantime stays', async () => {
  const [file, bag] = [await ResultBag.open(at('a.mcap'), topics), await ResultBag.open(at('b'), topics)];
  for (const name of ['a.mcap', 'b']) {
    mkdirSync(at(name));
    writeFileSync(at(`${name}/thesis.txt`), '');
  }
  await expect(file.close()).rejects.toMatchObject({ code: 'RESULT_NOT_WRITTEN' });
  await expect(bag.close()).rejects.toMatchObject({ code: 'RESULT_NOT_WRITTEN' });
  expect(readdirSync(folder).sort()).toEqual(['a.mcap', 'b']);
  for (const name of ['a.mcap', 'b']) expect(readdirSync(at(name))).toEqual(['thesis.txt']);
});

describe('somebody else has recorded there: refused, and nothing is gone', () => {
  /** As rosbag2 and PyPI `rosbags` name what they write. */
  const others: Readonly<Record<string, readonly string[]>> = {
    'rec.mcap': [],
    rosbag2: ['metadata.yaml', 'rosbag2_0.mcap'],
    'rosbag2 with notes': ['metadata.yaml', 'rosbag2_0.mcap', 'notes.txt'],
    result: ['metadata.yaml', 'result.mcap'],
    'without metadata': ['result.mcap'],
    'metadata only': ['metadata.yaml'],
  };

  test.each(Object.entries(others))('%s', async (name, files) => {
    if (files.length > 0) mkdirSync(at(name));
    const paths = files.length > 0 ? files.map(file => `${name}/${file}`) : [name];
    for (const path of paths) copyFileSync(SAMPLE, at(path));
    await expect(ResultBag.open(at(name), topics)).rejects.toMatchObject({
      code: 'RESULT_NOT_WRITTEN',
      message: expect.stringContaining('something else has that name'),
    });
    const recording = readFileSync(SAMPLE);
    for (const path of paths) expect(readFileSync(at(path)).equals(recording)).toBe(true);
    expect(readdirSync(folder)).toEqual([name]);
  });

  test('a result with something beside it', async () => {
    await complete(at('a'));
    writeFileSync(at('a/notes.txt'), '');
    await expect(ResultBag.open(at('a'), topics)).rejects.toThrow('something else has that name');
    rmSync(at('a/notes.txt'));
    await complete(at('a'));
    symlinkSync(at('a/metadata.yaml'), at('a/link'));
    await expect(ResultBag.open(at('a'), topics)).rejects.toThrow('something else has that name');
  });

  test("an empty file is nobody's recording", async () => {
    writeFileSync(at('a.mcap'), '');
    await complete(at('a.mcap'));
    expect(await timesIn(at('a.mcap'))).toEqual([1n]);
  });
});

test('a new result replaces an old one, file or folder, and an empty folder', async () => {
  mkdirSync(at('empty'));
  for (const name of ['a.mcap', 'a', 'empty']) {
    await complete(at(name));
    await complete(at(name));
    const bag = await ResultBag.open(at(name), topics);
    bag.write('/action', noise(80), 2n);
    await bag.close();
  }
  expect(readdirSync(folder).sort()).toEqual(['a', 'a.mcap', 'empty']);
  expect(readdirSync(at('a')).sort()).toEqual(['metadata.yaml', 'result.mcap']);
  for (const file of ['a.mcap', 'a/result.mcap', 'empty/result.mcap'])
    expect(await timesIn(at(file))).toEqual([2n]);
});

test('messages that come faster than the disk keep their order', async () => {
  const bag = await ResultBag.open(at('a.mcap'), topics);
  const times = Array.from({ length: 300 }, (_, i) => BigInt(i));
  for (const time of times) {
    bag.write('/action', noise(40_000), time);
    if (time % 50n === 0n) await new Promise(setImmediate);
  }
  await bag.close();
  expect(await timesIn(at('a.mcap'))).toEqual(times);
});

test('a topic that was not announced is a bug, and the rest is written nevertheless', async () => {
  const bag = await ResultBag.open(at('a.mcap'), topics);
  expect(() => bag.write('/other', noise(8), 1n)).toThrow(`/other is no topic of ${at('a.mcap')}`);
  bag.write('/action', noise(8), 2n);
  await bag.close();
  expect(await timesIn(at('a.mcap'))).toEqual([2n]);
});

test('what comes while the file is being closed is refused, not mixed with its end', async () => {
  const bag = await ResultBag.open(at('a.mcap'), topics);
  bag.write('/action', noise(8), 1n);
  const closed = bag.close();
  expect(() => bag.write('/action', noise(8), 2n)).toThrow(`${at('a.mcap')} is closed`);
  await closed;
  expect(await timesIn(at('a.mcap'))).toEqual([1n]);
});
