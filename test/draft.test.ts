/** Results that get their name when they are complete. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Draft, leftBy } from '../src/draft';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oxygen-draft-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);
const refusal = (path: string, why: Error): Error => new Error(`${basename(path)}: ${why.message}`);
/** Marked, or empty. */
const isEngine = (path: string): boolean => existsSync(join(path, 'mark')) || readdirSync(path).length === 0;
const isOurs = (path: string): boolean => readFileSync(path, 'utf8').startsWith('ours');
const engine = async (text: string): Promise<Draft> => {
  const draft = await Draft.folder(at('engine'), isEngine, refusal);
  writeFileSync(join(draft.path, 'mark'), text);
  return draft;
};

test('a folder takes the place of one that is ours', async () => {
  await (await engine('old')).keep();
  const draft = await engine('new');
  expect(readFileSync(at('engine/mark'), 'utf8')).toBe('old');
  await draft.keep();
  expect(readFileSync(at('engine/mark'), 'utf8')).toBe('new');
  expect(readdirSync(folder)).toEqual(['engine']);
});

test('a folder that became that of somebody else meanwhile stays', async () => {
  const draft = await engine('new');
  mkdirSync(at('engine'));
  writeFileSync(at('engine/thesis.tex'), '');
  await expect(draft.keep()).rejects.toThrow('engine: something else has that name');
  await draft.discard();
  expect(readdirSync(folder)).toEqual(['engine']);
});

test('a draft that cannot take its place leaves the old one there', async () => {
  await (await engine('old')).keep();
  const draft = await engine('new');
  const { path } = draft;
  const keep = draft.keep();
  rmSync(path, { recursive: true });
  await expect(keep).rejects.toThrow('ENOENT');
  expect(readFileSync(at('engine/mark'), 'utf8')).toBe('old');
  expect(readdirSync(folder)).toEqual(['engine']);
});

test('what a killed process leaves is known by its name', async () => {
  const drafts = [await Draft.file(at('a.mcap'), isOurs, refusal), await engine('')];
  for (const { path } of drafts) expect(leftBy(basename(path))).toBe(process.pid);
  expect(existsSync(drafts[1]!.path)).toBe(true);
  expect(['engine', '.engine', '.part-1', '.a.part-', '.a.tmp-1', 'a.part-1'].map(leftBy)).toEqual(
    Array(6).fill(null),
  );
});

test('a file takes the place of one that is ours, and of no other, also when it came meanwhile', async () => {
  writeFileSync(at('a'), 'ours, old');
  const draft = await Draft.file(at('a'), isOurs, refusal);
  writeFileSync(draft.path, 'ours, new');
  expect(readFileSync(at('a'), 'utf8')).toBe('ours, old');
  await draft.keep();
  expect(readFileSync(at('a'), 'utf8')).toBe('ours, new');

  const late = await Draft.file(at('b'), isOurs, refusal);
  writeFileSync(at('b'), 'thesis');
  await expect(late.keep()).rejects.toThrow('b: something else has that name');
  await late.discard();
  await expect(Draft.file(at('b'), isOurs, refusal)).rejects.toThrow('b: something else has that name');
  expect(readFileSync(at('b'), 'utf8')).toBe('thesis');
  expect(readdirSync(folder).sort()).toEqual(['a', 'b']);
});

describe('what is no regular file or folder stays what it is', () => {
  const made: Readonly<Record<string, () => void>> = {
    pipe: () => execFileSync('mkfifo', [at('pipe')]),
    'link to a file': () => symlinkSync(at('file'), at('link to a file')),
    'link to a folder': () => symlinkSync(at('folder'), at('link to a folder')),
    'link to nothing': () => symlinkSync(at('nothing'), at('link to nothing')),
  };
  beforeEach(() => {
    writeFileSync(at('file'), 'ours');
    mkdirSync(at('folder'));
  });

  test.each(Object.keys(made))('%s', async name => {
    made[name]!();
    const before = readdirSync(folder);
    const { ino } = lstatSync(at(name));
    await expect(Draft.file(at(name), () => true, refusal)).rejects.toThrow(`${name}: `);
    await expect(Draft.folder(at(name), () => true, refusal)).rejects.toThrow(`${name}: `);
    expect(readdirSync(folder)).toEqual(before);
    expect(lstatSync(at(name)).ino).toBe(ino);
  });

  test('a device', async () => {
    await expect(Draft.file('/dev/full', () => true, refusal)).rejects.toThrow('full: it is no regular file');
  });
});

test.each(['missing/a', 'file/a', '/proc/a'])(
  '%s cannot be written: said before anything is made',
  async name => {
    writeFileSync(at('file'), '');
    const path = name.startsWith('/') ? name : at(name);
    await expect(Draft.file(path, () => true, refusal)).rejects.toThrow(/^a: (ENOENT|ENOTDIR)/);
    await expect(Draft.folder(path, () => true, refusal)).rejects.toThrow(/^a: (ENOENT|ENOTDIR)/);
  },
);

test('what a killed process of the same number left is emptied', async () => {
  const { path } = await Draft.file(at('a'), isOurs, refusal);
  writeFileSync(path, 'half a result');
  await Draft.file(at('a'), isOurs, refusal);
  expect(readFileSync(path, 'utf8')).toBe('');
});
