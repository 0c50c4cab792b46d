import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { countPages, memoryFigures, parseSmaps, PeakWatch, readMappings } from '../../src/bench/memory';

const mapping = (head: string, kb: Record<string, number>): string =>
  [
    head,
    ...Object.entries(kb).map(([name, n]) => `${name}: ${String(n).padStart(12)} kB`),
    'VmFlags: rd mr',
  ].join('\n');

const WEIGHTS = mapping('7f0000000000-7f0000800000 r--p 00001000 fe:00 1234                       /engines/my engine/language.weights', {
  Size: 8192, Rss: 1000, Pss: 400, Shared_Clean: 600, Shared_Dirty: 0, Private_Clean: 300, Private_Dirty: 100, Anonymous: 100,
}); // prettier-ignore
const HEAP = mapping('55a000000000-55a000100000 rw-p 00000000 00:00 0                          [heap]', {
  Size: 1024, Rss: 500, Pss: 500, Shared_Clean: 0, Shared_Dirty: 0, Private_Clean: 0, Private_Dirty: 500, Anonymous: 500,
}); // prettier-ignore
const NAMELESS = mapping('7f1000000000-7f1000100000 rw-p 00000000 00:00 0', {
  Size: 64,
  Rss: 64,
  Private_Dirty: 64,
});
const UNTOUCHED = mapping('7f2000000000-7f2000100000 r--p 00000000 fe:00 77 /engines/x', {
  Size: 4096,
  Rss: 0,
});

const smaps = `${[WEIGHTS, HEAP, NAMELESS, UNTOUCHED].join('\n')}\n`;

it('reads mappings with files, spaces in names, none and untouched ones', () => {
  expect(parseSmaps(smaps)).toEqual([
    {
      key: 'fe:00 1234 00001000',
      file: '/engines/my engine/language.weights',
      common: 900 * 1024,
      own: 100 * 1024,
    },
    { key: null, file: null, common: 0, own: 500 * 1024 },
    { key: null, file: null, common: 0, own: 64 * 1024 },
  ]);
  expect(parseSmaps('')).toEqual([]);
  expect(parseSmaps('nonsense\nRss: 4 kB\n')).toEqual([]);
});

it('counts shared pages once and own pages of every process', () => {
  const one = parseSmaps(smaps);
  expect(countPages([one])).toEqual({ union: 1564 * 1024, overlap: 0 });
  expect(countPages([one, one])).toEqual({ union: (900 + 2 * 664) * 1024, overlap: 900 * 1024 });
  // the other process has touched more of the file
  const more = parseSmaps(
    smaps.replace('Private_Clean:          300', 'Private_Clean:          350').replace('1000 kB', '1050 kB'),
  );
  expect(countPages([one, more])).toEqual({ union: (950 + 2 * 664) * 1024, overlap: 900 * 1024 });
});

it('splits a peak and states what weights would cost unshared', () => {
  const now = [parseSmaps(smaps), parseSmaps(smaps)];
  const base = [parseSmaps(HEAP), parseSmaps(HEAP)];
  const peakRss = 5000 * 1024;
  const { peak_pss_mb: peak, memory } = memoryFigures(base, now, peakRss, 200 * 1024, '/engines/my engine');
  const mb = (kb: number) => (kb * 1024) / 1e6;
  expect(peak).toBeCloseTo(mb(4100), 9);
  expect(memory.base_mb).toBeCloseTo(mb(1000), 9);
  expect(memory.weights_mb).toBeCloseTo(mb(1100), 9);
  expect(memory.weights_private_mb).toBeCloseTo(mb(2000), 9);
  expect(memory.kv_mb).toBeCloseTo(mb(200), 9);
  expect(memory.activations_mb).toBeCloseTo(mb(4100 - 1000 - 1100 - 200), 9);
  // a folder whose name only begins alike is another one
  expect(memoryFigures(base, now, peakRss, 0, '/engines/my').memory.weights_mb).toBe(0);
});

it('sees what a process really takes', async () => {
  const megabytes = 60;
  const script = `const b = Buffer.alloc(${megabytes} * 1e6, 1); process.send('ready'); setTimeout(() => b, 20000)`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  try {
    await once(child, 'message');
    const pid = child.pid as number;
    const peak = new PeakWatch([pid]).stop();
    expect(peak).toBeGreaterThan(megabytes * 1e6);
    const { union } = countPages(readMappings([pid]) ?? []);
    expect(Math.abs(union / peak - 1)).toBeLessThan(0.1);
  } finally {
    child.kill('SIGKILL');
  }
});

it('says nothing about a process that does not exist', () => {
  expect(readMappings([2 ** 30])).toBeNull();
  expect(new PeakWatch([2 ** 30]).stop()).toBe(0);
});
