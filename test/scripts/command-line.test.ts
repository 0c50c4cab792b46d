/** Every script says how it is called, and refuses what it does not know, before it does or needs anything. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../..');
const SCRIPTS = ['start', 'test', 'setup', 'measure', 'scale', 'half-ranges', 'profile', 'frame-time'];

/** A checkout in which nothing was set up, on a machine without any program: whatever begins there fails. */
let bare: string;
beforeAll(() => {
  bare = mkdtempSync(join(tmpdir(), 'oxygen-scripts-'));
  for (const part of ['package.json', 'scripts', ...['run', 'children', 'screen'].map(n => `demo/${n}.mjs`)])
    cpSync(join(ROOT, part), join(bare, part), { recursive: true });
});
afterAll(() => rmSync(bare, { recursive: true }));

const run = (script: string, ...args: readonly string[]) =>
  spawnSync(process.execPath, [join(bare, 'scripts', `${script}.mjs`), ...args], {
    cwd: bare,
    encoding: 'utf8',
    env: { PATH: '' },
  });

test.each(SCRIPTS)('%s --help prints the usage and nothing else', script => {
  const { status, stdout, stderr } = run(script, '--help');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^Usage: (npm|node) /);
});

const ENGINE = ['half-ranges', 'profile'];
// What npm test does not know is jest's.
test.each<readonly [string, ...string[]]>([
  ...SCRIPTS.filter(script => script !== 'test').map(script => [script, '--nonsense'] as const),
  ...SCRIPTS.filter(script => !['test', ...ENGINE].includes(script)).map(
    script => [script, 'stray'] as const,
  ),
  ...ENGINE.map(script => [script] as const),
  ['half-ranges', 'engine', 'stray'],
  ['profile', 'engine', '2', 'stray'],
])('a wrong command line ends with code 2 and the usage: %s %s', (script, ...args) => {
  const { status, stdout, stderr } = run(script, ...args);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(/^[A-Z].*\n\nUsage: /);
});
