/** `oxygen build` from real files, and everything that must be refused without leaving a folder behind. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formulaTensor } from '../../src/builder/formula';
import { writeSafetensors } from '../../src/builder/safetensors-writer';
import { readModelConfig } from '../../src/model/config';
import { EMBEDDING_NAMES, tensorShapes, UNUSED_TENSORS } from '../../src/model/tensors';
import { engineDir, goldenDir, oxygen } from '../support/engines';

const configPath = join(goldenDir('odd'), 'config.json');
const config = readModelConfig(configPath);
const SEED = 2002;

let dir: string;
let out: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'oxygen-build-'));
  out = join(dir, 'engine');
});
afterEach(() => rmSync(dir, { recursive: true }));

type Tensors = Map<string, { shape: readonly number[]; values: Float32Array }>;

/** The odd checkpoint as a safetensors folder, changed by `change`. */
function checkpoint(change: (tensors: Tensors) => void = () => undefined): string {
  const tensors: Tensors = new Map();
  for (const [name, shape] of tensorShapes(config))
    tensors.set(name, { shape, values: formulaTensor(name, shape, SEED) });
  change(tensors);
  const folder = join(dir, 'checkpoint');
  mkdirSync(folder);
  cpSync(configPath, join(folder, 'config.json'));
  writeSafetensors(join(folder, 'model.safetensors'), tensors);
  return folder;
}

const build = (folder: string) => oxygen(['build', '--checkpoint', folder, '--out', out]);

function rename(tensors: Tensors, from: string, to: string): void {
  const tensor = tensors.get(from);
  if (!tensor) throw new Error(from);
  tensors.delete(from);
  tensors.set(to, tensor);
}

it.each<[string, (t: Tensors) => void]>([
  ['the lm_head name of the tied table', () => undefined],
  ['the embed_tokens name', t => rename(t, EMBEDDING_NAMES[0], EMBEDDING_NAMES[1])],
  ['both names', t => void t.set(EMBEDDING_NAMES[1], t.get(EMBEDDING_NAMES[0])!)],
  ['a leading model.', t => [...t.keys()].forEach(n => rename(t, n, `model.${n}`))],
  [
    "an unused tensor of the reference's files",
    t => void t.set(UNUSED_TENSORS[0], { shape: [2], values: new Float32Array(2) }),
  ],
])('a checkpoint with %s gives the same weights', async (_, change) => {
  expect(await build(checkpoint(change))).toMatchObject({ code: 0 });
  for (const file of ['vision', 'language', 'expert']) {
    const built = readFileSync(join(out, `${file}.weights`));
    expect(built.equals(readFileSync(join(engineDir('odd'), `${file}.weights`)))).toBe(true);
  }
});

it.each<[string, (t: Tensors) => void, string, string]>([
  ['a missing tensor', t => void t.delete('action_out_proj.bias'), 'CHECKPOINT_KEYS', 'missing action_out_proj.bias [11]'],
  ['an unexpected tensor', t => void t.set('surprise', { shape: [1], values: new Float32Array(1) }), 'CHECKPOINT_KEYS', 'unexpected surprise'],
  ['an ill-shaped tensor', t => void t.set('time_mlp_in.bias', { shape: [55], values: new Float32Array(55) }), 'CHECKPOINT_KEYS', 'time_mlp_in.bias is [55], expected [56]'],
  ['a pi0 checkpoint', t => [...t.keys()].filter(n => n.includes('.dense.')).forEach(n => rename(t, n, n.replace(/.dense..*/, '.weight'))), 'CHECKPOINT_KEYS', 'looks like a pi0'],
  ['two different tied tables', t => void t.set(EMBEDDING_NAMES[1], { ...t.get(EMBEDDING_NAMES[0])!, values: new Float32Array(777 * 80) }), 'CHECKPOINT_KEYS', 'differ'],
])('%s is refused by name and leaves nothing', async (_, change, code, message) => {
  const result = await build(checkpoint(change));
  expect(result.code).toBe(1);
  expect(result.stderr).toContain(`${code}: `);
  expect(result.stderr).toContain(message);
  expect(readdirSync(dir)).toEqual(['checkpoint']);
}); // prettier-ignore

it('a truncated file is refused', async () => {
  const folder = checkpoint();
  truncateSync(join(folder, 'model.safetensors'), 1_000_000);
  const { code, stderr } = await build(folder);
  expect(code).toBe(1);
  expect(stderr).toContain('CHECKPOINT_INVALID');
  expect(existsSync(out)).toBe(false);
});

it('a missing folder, file or config is named', async () => {
  expect((await build('/nowhere')).stderr).toContain(
    'CHECKPOINT_NOT_FOUND: no checkpoint folder at /nowhere',
  );
  const folder = checkpoint();
  rmSync(join(folder, 'model.safetensors'));
  expect((await build(folder)).stderr).toContain('model.safetensors');
  writeFileSync(join(folder, 'config.json'), '{"type": "pi0"}');
  expect((await build(folder)).stderr).toContain('MODEL_UNSUPPORTED');
});

it("a folder with somebody else's files is not replaced", async () => {
  mkdirSync(out);
  writeFileSync(join(out, 'thesis.tex'), '');
  const { code, stderr } = await build(checkpoint());
  expect(code).toBe(1);
  expect(stderr).toMatch(/BUILD_FAILED: cannot write .*: something else has that name; choose another --out/);
  expect(readdirSync(out)).toEqual(['thesis.tex']);
});

it.each(['language.onnx', 'vision.weights', 'engine.json', 'norm_stats.json'])(
  'an engine whose %s is cut or gone is refused',
  async file => {
    const verify = () => oxygen(['verify', '--engine', out, '--golden', goldenDir('odd')]);
    cpSync(engineDir('odd'), out, { recursive: true });
    truncateSync(join(out, file), 100);
    expect(await verify()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/ENGINE_INVALID: .*build the engine again/s) as string,
    });
    rmSync(join(out, file));
    expect(await verify()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/ENGINE_(INVALID|NOT_FOUND): /) as string,
    });
  },
);

it('an engine works from any directory', async () => {
  const { code } = await oxygen(
    [
      'bench',
      '--engine',
      engineDir('odd'),
      '--mode',
      'oxygen',
      '--frames',
      '2',
      '--tokens',
      '2',
      '--sweep',
      'none',
    ],
    '/',
  );
  expect(code).toBe(0);
});

it.each(['tiny', 'odd', 'demo'] as const)('the ONNX checker passes on every graph of %s', name => {
  const script =
    'import onnx, sys\nfor g in ("vision", "language", "expert"): onnx.checker.check_model(f"{sys.argv[1]}/{g}.onnx", full_check=False)\nprint("ok")';
  const python = process.env['OXYGEN_PYTHON'] ?? join(__dirname, '../../.venv/bin/python');
  expect(execFileSync(python, ['-c', script, engineDir(name)], { encoding: 'utf8' })).toBe('ok\n');
});

it('says where the tokenizer comes from that published checkpoints lack', async () => {
  const { code, stderr } = await build(checkpoint());
  expect(code).toBe(0);
  expect(stderr).toMatch(
    /NO tokenizer: .*--tokenizer FILE .*paligemma_tokenizer\.model.*paligemma-3b-pt-224/,
  );
});
