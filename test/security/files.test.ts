/** Files from elsewhere: an engine reaches nothing outside its folder, and nothing is read before its size is known. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readNoise } from '../../src/engine/noise-file';
import { readManifest, type Manifest } from '../../src/model/manifest';
import { tokenizerJson } from '../../src/model/sentencepiece-json';
import { loadTokenizer } from '../../src/model/tokenizer';
import { loadNormStats } from '../../src/policies/norm-stats';
import { readRobotFile } from '../../src/ros/robot-file';
import { engineDir, ROOT } from '../support/engines';

let parent: string;
let dir: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'oxygen-files-'));
  dir = join(parent, 'tiny');
  cpSync(engineDir('tiny'), dir, { recursive: true });
});
afterEach(() => rmSync(parent, { recursive: true }));

function editManifest(change: (manifest: Manifest) => void): void {
  const path = join(dir, 'engine.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as Manifest;
  change(manifest);
  writeFileSync(path, JSON.stringify(manifest));
}

/** The error of a call. */
function errorOf(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

const OUTSIDE = ['../x', '..', '.', 'a/b', '/etc/passwd', 'a\\b', '', 'a\0b', '~/x'];

test.each(OUTSIDE)('engine.json names %j: refused', name => {
  const bare = { code: 'ENGINE_INVALID', message: expect.stringMatching(/bare file name/) };
  const sound = readFileSync(join(dir, 'engine.json'));
  editManifest(m => (Object.values(m.hostTensors)[0]!.file = name));
  expect(errorOf(() => readManifest(dir))).toMatchObject(bare);
  writeFileSync(join(dir, 'engine.json'), sound);
  editManifest(m => (m.files[name] = { bytes: 1, sha256: '0'.repeat(64) }));
  expect(errorOf(() => readManifest(dir))).toMatchObject({ code: 'ENGINE_INVALID' });
});

test.each(['language.onnx', 'tokenizer.json', 'norm_stats.json'])(
  'engine.json does not list %s, which would be loaded unchecked: refused',
  name => {
    editManifest(m => delete m.files[name]);
    const message = expect.stringContaining(`engine.json does not list ${name}`);
    expect(errorOf(() => readManifest(dir))).toMatchObject({ code: 'ENGINE_INVALID', message });
  },
);

test('engine.json does not list the file of a tensor that the host reads: refused', () => {
  writeFileSync(join(dir, 'other.weights'), 'x');
  editManifest(m => (Object.values(m.hostTensors)[0]!.file = 'other.weights'));
  const message = expect.stringContaining('engine.json does not list other.weights');
  expect(errorOf(() => readManifest(dir))).toMatchObject({ code: 'ENGINE_INVALID', message });
});

// ONNX Runtime reads external weights itself; this is its promise, on which we rely.
test.each(['../xon.weights', '/tmp/x.weights'])(
  'a graph whose weights lie at %s is not loaded',
  async place => {
    renameSync(join(dir, 'vision.weights'), join(parent, 'xon.weights'));
    writeFileSync(join(dir, 'vision.weights'), '');
    const graph = join(dir, 'vision.onnx');
    const bytes = readFileSync(graph, 'latin1');
    expect(place).toHaveLength('vision.weights'.length);
    writeFileSync(graph, bytes.replaceAll('vision.weights', place), 'latin1');
    const script = `require('onnxruntime-node').InferenceSession.create(${JSON.stringify(graph)}).then(
    () => console.log('loaded'), error => console.log(error.message))`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: ROOT });
    expect(stdout).toMatch(/escapes model directory|Absolute path not allowed/);
  },
);

/** 3 GB that take no room. */
function huge(name: string): string {
  const path = join(parent, name);
  writeFileSync(path, '{');
  truncateSync(path, 3e9);
  return path;
}

const readers: readonly [string, (path: string) => unknown, string][] = [
  ['noise file', path => readNoise(path, { horizon: 10, actionDim: 4 }), 'CONFIG_INVALID'],
  ['tokenizer', loadTokenizer, 'TOKENIZER_INVALID'],
  ['sentencepiece model', tokenizerJson, 'TOKENIZER_INVALID'],
  ['statistics', path => loadNormStats(path), 'NORM_STATS_INVALID'],
  ['robot file', readRobotFile, 'ROBOT_FILE_INVALID'],
];

describe.each(readers)('%s', (_, read, code) => {
  test('of 3 GB: refused by its size', () => {
    const message = expect.stringMatching(/has 3000000000 bytes, at most \d+ are read/);
    expect(errorOf(() => read(huge('f.model')))).toMatchObject({ code, message });
  });

  test.each(['/dev/zero', '/proc/self'])('%s: refused, it is no file', path => {
    const message = expect.stringMatching(/no regular file/);
    expect(errorOf(() => read(path))).toMatchObject({ code, message });
  });
});

test('engine.json of 3 GB: refused by its size', () => {
  truncateSync(join(dir, 'engine.json'), 3e9);
  const message = expect.stringMatching(/has 3000000000 bytes, at most \d+ are read/);
  expect(errorOf(() => readManifest(dir))).toMatchObject({ code: 'ENGINE_INVALID', message });
});
