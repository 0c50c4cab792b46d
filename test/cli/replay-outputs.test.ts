/** `oxygen replay` and the files around it: nothing that exists is lost, and a result has its name only when it is whole. */
import { execFileSync, spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReplaySummary } from '../../src/replay/result';
import { ROBOT } from '../replay/command';
import { costFile } from '../replay/fixed-costs';
import { framesOf } from '../replay/frame-log';
import { SAMPLE } from '../replay/player';
import { engineDir, ROOT } from '../support/engines';
import type { CliResult } from '../support/engines';

const FIRST_LOG = '{"stamp":"1"}\n';
const FIRST_REPORT = '<!doctype html>\nfirst\n';

let folder: string;
let cost: string;
const at = (name: string): string => join(folder, name);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oxygen-outputs-'));
  cost = costFile(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const args = (bag: string, more: readonly string[]): string[] =>
  [join(ROOT, 'dist/main.js'), 'replay', bag, '--engine', engineDir('demo'), '--robot', ROBOT, '--json', ...more]; // prettier-ignore

/** `shell`: what is said before the program is run. */
async function replay(bag: string, more: readonly string[], shell = ''): Promise<CliResult> {
  const child = spawn('bash', ['-c', `${shell} exec "$@"`, 'bash', process.execPath, ...args(bag, more)]);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', text => (stdout += String(text)));
  child.stderr.on('data', text => (stderr += String(text)));
  const code = await new Promise<number>(resolve => child.on('close', status => resolve(status ?? -1)));
  return { code, stdout, stderr };
}

/** All that is there, with its content. */
const contents = (of = folder): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(of, { recursive: true, encoding: 'utf8' })
      .filter(name => lstatSync(join(of, name)).isFile())
      .map(name => [name, readFileSync(join(of, name), 'latin1')]),
  );

describe('refused before anything is done', () => {
  const recording = (name: string): string => {
    mkdirSync(at(name));
    copyFileSync(SAMPLE, at(`${name}/${name}_0.mcap`));
    writeFileSync(at(`${name}/notes.txt`), 'mine');
    writeFileSync(
      at(`${name}/metadata.yaml`),
      `rosbag2_bagfile_information:\n  version: 5\n  relative_file_paths: [${name}_0.mcap]\n`,
    );
    return at(name);
  };

  const cases: readonly (readonly [string, () => readonly string[], 1 | 2, RegExp])[] = [
    ['the recording itself', () => ['--out', at('rec')], 2, /^oxygen: USAGE: --out .*rec is, holds or lies in/],
    ['another recording', () => ['--out', recording('other')], 1, /^oxygen: RESULT_NOT_WRITTEN: .*other: something else has that name/],
    ['a file of the recording', () => ['--report', at('rec/rec_0.mcap')], 2, /USAGE: --report .*only read/],
    ['a file in the recording', () => ['--frame-log', at('rec/log.jsonl')], 2, /USAGE: --frame-log .*only read/],
    ['by parameter', () => ['--param', `frame_log:=${at('rec/rec_0.mcap')}`], 2, /USAGE: --frame-log .*only read/],
    ['a file of another kind', () => ['--report', cost], 1, /RESULT_NOT_WRITTEN: .*something else has that name/],
    ['a log of another kind', () => ['--frame-log', cost], 1, /RESULT_NOT_WRITTEN: .*something else has that name/],
    ['one file twice', () => ['--report', at('x'), '--frame-log', at('x')], 2, /USAGE: --report .* are one place/],
    ['a report that is a folder', () => ['--report', at('rec/..')], 2, /USAGE: --report .*only read/],
    ['a report that is an empty folder', () => ['--report', (mkdirSync(at('empty')), at('empty'))], 1, /RESULT_NOT_WRITTEN: .*it is a folder/],
    ['a report without a name', () => ['--report', ''], 2, /USAGE: --report must name a file/],
    ['a log without a name', () => ['--frame-log', ''], 2, /USAGE: --frame-log must name a file/],
    ['a report on a full device', () => ['--report', '/dev/full'], 1, /RESULT_NOT_WRITTEN: \/dev\/full: it is no regular file/],
    ['a report where none can be', () => ['--report', '/proc/x.html'], 1, /RESULT_NOT_WRITTEN: \/proc\/x\.html: .*; choose a place/],
    ['a log that is a pipe', () => ['--frame-log', (execFileSync('mkfifo', [at('pipe')]), at('pipe'))], 1, /RESULT_NOT_WRITTEN: .*pipe: it is no regular file/],
    ['a start beyond all numbers', () => ['--start', '1e300'], 2, /USAGE: --start must be seconds from 0 to/],
    ['a length beyond all numbers', () => ['--duration', '1e300'], 2, /USAGE: --duration must be seconds from 0 to/],
  ]; // prettier-ignore
  test.each(cases)('%s', async (_, options, code, says) => {
    const bag = recording('rec');
    const more = options();
    const [files, names] = [contents(), readdirSync(folder)];
    const result = await replay(bag, ['--cost', cost, ...more]);
    expect(result.stderr).toMatch(says);
    expect(result.stderr).not.toMatch(/\n\s+at /);
    expect([result.code, result.stdout]).toEqual([code, '']);
    expect(contents()).toEqual(files);
    expect(readdirSync(folder)).toEqual(names);
  });
});

test('earlier results are replaced, all of them', async () => {
  writeFileSync(at('log.jsonl'), FIRST_LOG);
  writeFileSync(at('report.html'), FIRST_REPORT);
  const files = ['--out', at('out'), '--report', at('report.html'), '--frame-log', at('log.jsonl')];
  const options = ['--cost', cost, '--duration', '1', ...files];
  for (let i = 0; i < 2; i++) expect(await replay(SAMPLE, options)).toMatchObject({ code: 0 });
  expect(readFileSync(at('report.html'), 'utf8')).toContain('sample.mcap');
  expect(framesOf(at('log.jsonl')).length).toBeGreaterThan(10);
  const left = [...readdirSync(folder), ...readdirSync(at('out'))].sort();
  expect(left).toEqual([
    'cost-plain.json',
    'log.jsonl',
    'metadata.yaml',
    'out',
    'report.html',
    'result.mcap',
  ]);
});

test('an instruction of the command line replaces those of the bag; threads of a parameter are used', async () => {
  const asked = ['--instruction', 'wave', '--param', 'threads:=1', '--frame-log', at('log.jsonl')];
  const { code, stdout, stderr } = await replay(SAMPLE, ['--cost', cost, '--duration', '6', ...asked]);
  const summary = JSON.parse(stdout) as ReplaySummary;
  expect(code).toBe(0);
  expect(new Set(framesOf(at('log.jsonl')).map(frame => frame.instruction))).toEqual(new Set(['wave']));
  expect(summary.notes).toContain('/instruction of the bag is not used: --instruction replaces it');
  expect(stderr).toContain('note: /instruction of the bag is not used');
  expect(summary.settings.threads).toBe(1);
  expect(summary.settings.options.slice(-2)).toEqual(['--threads', '1']);
});

test('a full disk: the summary is printed, every file that is missing is named, earlier results stay', async () => {
  writeFileSync(at('log.jsonl'), FIRST_LOG);
  writeFileSync(at('report.html'), FIRST_REPORT);
  const files = contents();
  const wanted = ['--report', at('report.html'), '--frame-log', at('log.jsonl')];
  // Of no file more than 4 kB, as if the disk had no more.
  const { code, stdout, stderr } = await replay(
    SAMPLE,
    ['--cost', cost, '--duration', '3', ...wanted],
    'ulimit -f 4;',
  );
  expect(code).toBe(1);
  expect(stderr).toMatch(/^oxygen: RESULT_NOT_WRITTEN: .*report\.html: EFBIG: file too large; choose/m);
  expect(stderr).toMatch(/log\.jsonl: \d+ of its frames could not be written; choose/);
  const { frames, drops } = JSON.parse(stdout) as ReplaySummary;
  expect(frames).toBeGreaterThan(50);
  expect(drops).toMatchObject({ RESULT_NOT_WRITTEN: expect.any(Number) });
  expect(contents()).toEqual(files);
});

test('interrupted: earlier results stay, and nothing else is left', async () => {
  writeFileSync(at('log.jsonl'), FIRST_LOG);
  writeFileSync(at('report.html'), FIRST_REPORT);
  const files = contents();
  const wanted = ['--out', at('out.mcap'), '--report', at('report.html'), '--frame-log', at('log.jsonl')];
  const child = spawn(process.execPath, args(SAMPLE, ['--pace', 'real', ...wanted]), {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise(resolve => child.on('close', resolve));
  const part = at(`.log.jsonl.part-${child.pid!}`);
  const written = (): boolean => existsSync(part) && statSync(part).size > 0;
  while (child.exitCode === null && !written()) await new Promise(resolve => setTimeout(resolve, 20));
  child.kill('SIGINT');
  expect(await ended).toBe(130);
  expect(contents()).toEqual(files);
});

test.each([
  ['a full device', 1, '> /dev/full', /RESULT_NOT_WRITTEN: standard output: ENOSPC/],
  ['a disk that fills up', 1, '> "$0"', /RESULT_NOT_WRITTEN: standard output: EFBIG/],
  ['a reader that has enough', 0, '| true', /^$/],
] as const)('what is printed goes to %s', (_, code, where, says) => {
  const command = `set -o pipefail; ulimit -f 1; "$1" "$2" replay --help ${where}`;
  const main = [process.execPath, join(ROOT, 'dist/main.js')];
  const child = spawn('bash', ['-c', command, at('out.txt'), ...main]);
  let stderr = '';
  child.stderr.on('data', text => (stderr += String(text)));
  return new Promise<number | null>(resolve => child.on('close', resolve)).then(status => {
    expect([status, stderr.trim()]).toEqual([code, expect.stringMatching(says)]);
  });
});
