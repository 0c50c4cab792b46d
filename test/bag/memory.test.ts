import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { START_NS, writeBags } from './bags';

const folder = mkdtempSync(join(tmpdir(), 'bag-memory-'));
afterAll(() => rmSync(folder, { recursive: true }));

const COUNT = 400;
/** A bag of 400 MB; what is in memory at once are a second of messages, of which at most 64 MiB, and what waits for the collector. */
const LIMIT_MB = 330;

const read = (path: string): { messages: number; bytes: number; peakMb: number; faults: number } =>
  JSON.parse(
    execFileSync(process.execPath, [
      join(__dirname, 'read.js'),
      join(__dirname, '../../dist'),
      path,
    ]).toString(),
  );

test('memory stays bounded whatever the size of the bag, also without its index', () => {
  const path = join(folder, 'large.mcap');
  const messages = Array.from({ length: COUNT }, (_, i) => [
    '/raw',
    START_NS + BigInt(i) * 10_000_000n,
    '1000000',
  ]);
  writeBags([{ kind: 'mcap', path, chunk_bytes: 2_000_000, messages }]);
  const whole = read(path);
  expect(whole).toMatchObject({ messages: COUNT, faults: 0 });
  expect(whole.bytes).toBeGreaterThan(COUNT * 1e6);
  expect(whole.peakMb).toBeLessThan(LIMIT_MB);

  truncateSync(path, 399_000_000);
  const cut = read(path);
  expect(cut.faults).toBe(1);
  expect(cut.messages).toBeGreaterThan(COUNT - 5);
  expect(cut.peakMb).toBeLessThan(LIMIT_MB);
});
