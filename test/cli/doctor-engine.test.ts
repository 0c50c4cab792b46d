/** `oxygen doctor --engine`: a sound engine, and every fault put in and named with its cure. */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Finding } from '../../src/doctor/check';
import { engineCheck } from '../../src/doctor/engine';
import { Draft } from '../../src/draft';
import { hashFile, type Manifest } from '../../src/model/manifest';
import { engineDir, ROOT } from '../support/engines';
import { faultsIn, findingsOf } from './findings';

const progress = { update: () => undefined, end: () => undefined };
const robots = (name: string): string => join(ROOT, 'config/robots', `${name}.yaml`);

let parent: string;
let dir: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'oxygen-doctor-'));
  dir = join(parent, 'tiny');
  cpSync(engineDir('tiny'), dir, { recursive: true });
});
afterEach(() => rmSync(parent, { recursive: true }));

const doctor = (robot: string | null = null): Promise<Finding[]> =>
  findingsOf(engineCheck(dir, { robot, progress }));

type Json = Manifest & Record<string, unknown>;

function editManifest(change: (manifest: Json) => void): void {
  const path = join(dir, 'engine.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as Json;
  change(manifest);
  writeFileSync(path, JSON.stringify(manifest));
}

/** Puts other bytes into a file of the engine, with engine.json in agreement: what a wrong build would write. */
function replaceFile(name: string, bytes: Uint8Array | string): void {
  const path = join(dir, name);
  writeFileSync(path, bytes);
  editManifest(m => (m.files[name] = { bytes: statSync(path).size, sha256: hashFile(path) }));
}

function flipByte(name: string, at: number): void {
  const bytes = readFileSync(join(dir, name));
  bytes[at]! ^= 1;
  writeFileSync(join(dir, name), bytes);
}

const editTokenizer = (
  change: (json: {
    model: { vocab: Record<string, number> };
    added_tokens: { id: number; content: string; special: boolean }[];
  }) => void,
): void => {
  const json = JSON.parse(readFileSync(join(dir, 'tokenizer.json'), 'utf8'));
  change(json);
  replaceFile('tokenizer.json', JSON.stringify(json));
};

test('a sound engine with its robot: every check is ok', async () => {
  const findings = await doctor(robots('tiny'));
  expect(findings.filter(finding => finding.status !== 'ok')).toEqual([]);
  const names = [
    'engine',
    'engine files',
    'external data',
    'tokenizer',
    'norm_stats',
    'robot and engine',
    'room',
    'sessions',
  ];
  expect(findings.map(finding => finding.name)).toEqual(names);
});

// What makes engine.json unusable is one fault; nothing else can be checked then.
test.each<[string, () => void, RegExp]>([
  ['a small file altered', () => flipByte('language.onnx', 100), /language\.onnx was altered/],
  ['weights altered', () => flipByte('expert.weights', 5000), /expert\.weights was altered/],
  ['weights missing', () => rmSync(join(dir, 'vision.weights')), /vision\.weights is missing/],
  ['weights cut off', () => truncateSync(join(dir, 'vision.weights'), 99), /vision\.weights has 99 bytes/],
  ['another builder', () => editManifest(m => (m.builder = '0.0.9')), /builder version 0\.0\.9, this is/],
  ['another precision', () => editManifest(m => Object.assign(m, { precision: 'fp8' })), /precision/],
  ['engine.json damaged', () => writeFileSync(join(dir, 'engine.json'), '{'), /engine\.json is not JSON/],
  ['no engine.json', () => rmSync(join(dir, 'engine.json')), /no engine at .*run `oxygen build`/],
])('%s', async (_, harm, expected) => {
  harm();
  const findings = await doctor(robots('tiny'));
  expect(findings).toHaveLength(1);
  expect(findings[0]).toMatchObject({
    status: 'fault',
    name: 'engine',
    cure: expect.stringMatching(/oxygen build/),
  });
  expect(findings[0]!.what).toMatch(expected);
});

test('a file too large to be hashed at load is hashed here', async () => {
  const large = join(dir, 'large.weights');
  writeFileSync(large, '');
  truncateSync(large, 65 * 1024 * 1024);
  replaceFile('large.weights', readFileSync(large));
  expect(faultsIn(await doctor())).toEqual([]);
  flipByte('large.weights', 40_000_000);
  const faults = faultsIn(await doctor());
  expect(faults).toEqual([
    {
      status: 'fault',
      name: 'engine files',
      what: 'large.weights was altered',
      cure: expect.stringMatching(/build/),
    },
  ]);
});

// Faults that agree with engine.json: each is found by its own check, and the others go on.
test.each<[string, () => void, string, RegExp, RegExp]>([
  [
    'a tokenizer with ids beyond the vocabulary',
    () =>
      editTokenizer(({ model: { vocab } }) => {
        for (let id = Object.keys(vocab).length; id < 1100; id++) vocab[`zebra${id}`] = id;
      }),
    'tokenizer',
    /ids up to 1099, the model's embedding table ends at 1023/,
    /--tokenizer FILE/,
  ],
  [
    'special ids that disagree',
    () => editManifest(m => (m.special.end = 7)),
    'tokenizer',
    /the end token of .*tokenizer\.json is 1, engine\.json says 7/,
    /--tokenizer FILE/,
  ],
  [
    'statistics of another robot',
    () => replaceFile('norm_stats.json', readFileSync(join(engineDir('odd'), 'norm_stats.json'))),
    'norm_stats',
    /wide; the engine has 7 and 7/,
    /--norm-stats FILE/,
  ],
  [
    'damaged statistics',
    () => replaceFile('norm_stats.json', '{"norm_stats":{}}'),
    'norm_stats',
    /no section "state"/,
    /--norm-stats FILE/,
  ],
])('%s', async (_, harm, name, what, cure) => {
  harm();
  const findings = await doctor(robots('tiny'));
  const faults = faultsIn(findings);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatchObject({ name, cure: expect.stringMatching(cure) });
  expect(faults[0]!.what).toMatch(what);
  expect(findings.at(-1)).toMatchObject({ name: 'sessions', status: 'ok' });
});

test('what an engine was built without: a warning with the cure', async () => {
  rmSync(join(dir, 'tokenizer.json'));
  editManifest(m => {
    m.normalization = { ...m.normalization, state: 'missing', actions: 'missing' };
    delete m.files['tokenizer.json'];
  });
  const warnings = (await doctor()).filter(finding => finding.status !== 'ok');
  expect(warnings).toMatchObject([
    { status: 'warning', name: 'tokenizer', cure: expect.stringMatching(/--tokenizer FILE/) },
    { status: 'warning', name: 'norm_stats', cure: expect.stringMatching(/--norm-stats FILE/) },
  ]);
});

test('the robot of another engine: every contradiction', async () => {
  dir = engineDir('odd');
  const faults = faultsIn(await doctor(robots('tiny')));
  expect(faults.length).toBeGreaterThanOrEqual(3);
  const what = faults.map(finding => finding.what).join('\n');
  expect(what).toMatch(/^cameras\.left_wrist_0_rgb: the engine odd has no such slot/m);
  expect(what).toMatch(/^state\.joints: 7 entries, but the engine odd has 6/m);
  for (const finding of faults)
    expect(finding).toMatchObject({
      name: 'robot and engine',
      cure: expect.stringMatching(/robot file of this engine/),
    });
});

test('weights outside the folder are named, and so is a graph that is none', async () => {
  const model = readFileSync(join(dir, 'expert.onnx')).toString('latin1');
  replaceFile('expert.onnx', Buffer.from(model.replace('expert.weights', '../ert.weights'), 'latin1'));
  replaceFile('vision.onnx', 'no graph at all');
  const faults = faultsIn(await doctor());
  const what = (name: string) =>
    faults
      .filter(finding => finding.name === name)
      .map(finding => finding.what)
      .join('\n');
  expect(what('external data')).toMatch(/vision\.onnx: .*protobuf/);
  expect(what('sessions')).toMatch(/vision\.onnx cannot be loaded/);
  replaceFile('vision.onnx', readFileSync(join(engineDir('tiny'), 'vision.onnx')));
  const [first] = faultsIn(await doctor());
  expect(first).toMatchObject({ name: 'external data' });
  expect(first!.what).toMatch(
    /^expert\.onnx: weight .* lies in \.\.\/ert\.weights, which engine\.json does not list/,
  );
});

test('what a killed build left behind', async () => {
  const { path } = await Draft.folder(
    dir,
    () => true,
    (_, why) => why,
  );
  const dead = path.replace(String(process.pid), '999999999');
  mkdirSync(dead);
  const left = (await doctor()).filter(finding => finding.name === 'leftovers');
  expect(left).toHaveLength(1);
  expect(left[0]!.what).toContain(dead);
});
