import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { peerClock, sleep, until } from '../ros/harness';
import { stalls } from './stalls';

const lines = (path: string): number =>
  existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0;
let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oxygen-stalls-test-'));
  file = join(folder, 'stalls');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('the longest of each core, and all, within a span', () => {
  writeFileSync(file, '1.0 1.5 0\n2.0 2.1 0\n2.0 2.3 1\n9.0 9.4 1\n');
  const of = (from: number, to: number) => {
    const { longest, total } = stalls(from, to, file);
    return [longest, total].map(s => Number(s.toFixed(3)));
  };
  expect(of(0, 5)).toEqual([0.8, 0.9]);
  expect(of(1.4, 2.05)).toEqual([0.15, 0.2]);
  expect(of(3, 8)).toEqual([0, 0]);
  expect(stalls(0, 5, join(folder, 'none'))).toEqual({ longest: 0, total: 0 });
});

it('a core that does not come back for a while is noted, and the watcher ends with its input', async () => {
  const watcher = spawn('python3', [join(__dirname, 'stalls.py'), file], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  try {
    await until('the first line of each core', 5000, () => lines(file) === availableParallelism());
    const children = readFileSync(`/proc/${watcher.pid}/task/${watcher.pid}/children`, 'utf8')
      .trim()
      .split(' ');
    const from = peerClock();
    // As the machine would do it.
    for (const pid of children) process.kill(Number(pid), 'SIGSTOP');
    await sleep(200);
    for (const pid of children) process.kill(Number(pid), 'SIGCONT');
    await until('the stalls', 5000, () => lines(file) >= 2 * children.length);
    const { longest, total } = stalls(from - 0.05, peerClock(), file);
    expect(longest).toBeGreaterThan(0.19 * children.length);
    expect(total).toBeGreaterThanOrEqual(longest);
    watcher.stdin.end();
    await until('the end of all', 5000, () => children.every(pid => !existsSync(`/proc/${pid}`)));
  } finally {
    watcher.stdin.end();
  }
});
