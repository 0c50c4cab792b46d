/** One set-up at a time, also when the last one was killed. */
import { execFile } from 'node:child_process';
import {
  lstatSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { ROOT } from '../support/engines';

const MODULE = pathToFileURL(join(ROOT, 'scripts/setup/lock.mjs')).href;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oxygen-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Writes when it begins and ends its work. */
const setUp = (): Promise<unknown> => {
  const script = `
    import fs from 'node:fs';
    import { withLock } from ${JSON.stringify(MODULE)};
    const say = what => fs.appendFileSync(${JSON.stringify(join(folder, 'seen'))}, what + process.pid + '\\n');
    await withLock(async () => { say('+'); await new Promise(r => setTimeout(r, 20)); say('-'); }, ${JSON.stringify(join(folder, 'lock'))});
  `;
  return promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { timeout: 50_000 });
};

test.each<[string, (lock: string) => void]>([
  ['nothing', () => undefined],
  ['the lock of a killed process', lock => symlinkSync('999999999 1', lock)],
  ['the lock of a process whose number another one has now', lock => symlinkSync(`${process.pid} 1`, lock)],
  ['a file without content', lock => writeFileSync(lock, '')],
])('six at once over %s: one after the other', async (_, spoil) => {
  spoil(join(folder, 'lock'));
  await Promise.all(Array.from({ length: 6 }, setUp));
  const seen = readFileSync(join(folder, 'seen'), 'utf8').trim().split('\n');
  expect(seen).toHaveLength(12);
  for (let i = 0; i < 12; i += 2)
    expect([seen[i], seen[i + 1]]).toEqual([`+${seen[i]!.slice(1)}`, `-${seen[i]!.slice(1)}`]);
  expect(readdirSync(folder)).toEqual(['seen']);
});

test('who holds it is left alone', async () => {
  const lock = join(folder, 'lock');
  const start = readFileSync(`/proc/${process.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[19]!;
  symlinkSync(`${process.pid} ${start}`, lock);
  const waiting = setUp();
  await new Promise(resolve => setTimeout(resolve, 1000));
  expect(lstatSync(lock).isSymbolicLink()).toBe(true);
  expect(readdirSync(folder)).toEqual(['lock']);
  rmSync(lock);
  await waiting;
  expect(readdirSync(folder)).toEqual(['seen']);
});
