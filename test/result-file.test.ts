/** Results of text: whole or not there, and none costs another. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OxygenError } from '../src/core/errors';
import { allWritten, beginsWith, HTML, notWritten, TextResult } from '../src/result-file';
import { page } from '../src/report/page';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'oxygen-text-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

const first = page('first', '');
const second = page('second', '');

test('a page takes the place of a page, when it is written', async () => {
  writeFileSync(at('a.html'), first);
  const result = await TextResult.check(at('a.html'), HTML);
  expect(readdirSync(folder)).toEqual(['a.html']);
  expect(readFileSync(at('a.html'), 'utf8')).toBe(first);
  await result.write(second);
  expect(readFileSync(at('a.html'), 'utf8')).toBe(second);
  expect(readdirSync(folder)).toEqual(['a.html']);
});

test('nothing, or the beginning of the right kind, may be replaced; less and other than that not', () => {
  const ours = beginsWith(Buffer.from('abc'));
  const fits = ['', 'abc', 'abcd', 'ab', 'abd', 'xabc'].filter(text => {
    writeFileSync(at('a'), text);
    return ours(at('a'));
  });
  expect(fits).toEqual(['', 'abc', 'abcd']);
});

test('a full disk: the earlier one stays, nothing else is left, and the reason is said', async () => {
  writeFileSync(at('a.html'), first);
  const result = await TextResult.check(at('a.html'), HTML);
  symlinkSync('/dev/full', at(`.a.html.part-${process.pid}`));
  await expect(result.write(second)).rejects.toMatchObject({
    code: 'RESULT_NOT_WRITTEN',
    message: `${at('a.html')}: ENOSPC: no space left on device; choose a place that exists, may be written and has room`,
  });
  expect(readdirSync(folder)).toEqual(['a.html']);
  expect(readFileSync(at('a.html'), 'utf8')).toBe(first);
});

test("what became somebody else's meanwhile stays", async () => {
  const result = await TextResult.check(at('a.html'), HTML);
  writeFileSync(at('a.html'), 'thesis');
  await expect(result.write(second)).rejects.toThrow('something else has that name');
  expect(readFileSync(at('a.html'), 'utf8')).toBe('thesis');
  expect(readdirSync(folder)).toEqual(['a.html']);
});

test('of several, all are tried, and all that failed are told', async () => {
  const done: string[] = [];
  const good = async (): Promise<void> => {
    await new Promise(setImmediate);
    done.push('good');
  };
  const bad = (name: string): Promise<void> => Promise.reject(notWritten(name, new Error('no')));
  await allWritten([good(), undefined]);
  await expect(allWritten([bad('a'), good()])).rejects.toThrow(/^a: no; choose [^\n]*$/);
  const both = allWritten([bad('a'), good(), bad('b')]);
  await expect(both).rejects.toThrow(OxygenError);
  await expect(both).rejects.toThrow(/^a: no; .*\n {2}b: no; /);
  expect(done).toEqual(['good', 'good', 'good']);
});
