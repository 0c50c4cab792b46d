/** Results that get their name when they are complete. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
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
const engine = async (text: string): Promise<Draft> => {
  const draft = await Draft.folder(at('engine'), 'mark', refusal);
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
  const drafts = [await Draft.file(at('a.mcap'), refusal), await engine('')];
  for (const { path } of drafts) expect(leftBy(basename(path))).toBe(process.pid);
  expect(existsSync(drafts[1]!.path)).toBe(true);
  expect(['engine', '.engine', '.part-1', '.a.part-', '.a.tmp-1', 'a.part-1'].map(leftBy)).toEqual(
    Array(6).fill(null),
  );
});
