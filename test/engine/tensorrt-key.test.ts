/** Which engines are used: those made of these weights, for this GPU, by this TensorRT; any other is refused (O-20). */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Answer, Machine } from '../../src/machine/machine';
import { tensorRtEngines, tensorRtMachine } from '../../src/engine/tensorrt-key';
import type { Manifest } from '../../src/model/manifest';
import { HALF_WEIGHTS, TENSORRT_GRAPHS, tensorRtWeights } from '../../src/model/tensorrt-engine';

const FILES = [...TENSORRT_GRAPHS.map(g => `${g}.onnx`), HALF_WEIGHTS];
const manifest = (change: Record<string, string> = {}): Pick<Manifest, 'files'> => ({
  files: Object.fromEntries(
    FILES.map(file => [file, { bytes: 1, sha256: change[file] ?? `hash of ${file}` }]),
  ),
});
const WEIGHTS = tensorRtWeights(file => `hash of ${file}`);
const HERE = { gpu: 'NVIDIA RTX A', tensorrt: '10.13.3' };

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'oxygen-trt-key-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** As build.sh leaves it. */
function engines(
  name: string,
  key: Partial<Record<'weights' | 'gpu' | 'tensorrt', string>> | null = {},
): string {
  const folder = join(dir, 'trt', name);
  mkdirSync(folder, { recursive: true });
  for (const graph of TENSORRT_GRAPHS)
    for (const kind of ['onnx', 'engine']) writeFileSync(join(folder, `${graph}.${kind}`), '');
  if (key) writeFileSync(join(folder, 'key.json'), JSON.stringify({ weights: WEIGHTS, ...HERE, ...key }));
  return folder;
}

const find = (machine = HERE as Parameters<typeof tensorRtEngines>[2], m = manifest()) =>
  tensorRtEngines(dir, m, machine);

const refusal = (machine?: Parameters<typeof find>[0], m?: Parameters<typeof find>[1]) => {
  try {
    return { used: basename(find(machine, m)) };
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { code, message };
  }
};

it('the one that fits is used, among others', () => {
  engines('a', { gpu: 'another' });
  const fits = engines('b');
  engines('c', { tensorrt: '10.3.0' });
  expect(find()).toBe(fits);
});

it.each<[string, () => void, string]>([
  ['no engines at all', () => undefined, 'there are none'],
  ['of another GPU', () => void engines('k', { gpu: 'NVIDIA RTX B' }), 'k: for NVIDIA RTX B, this is NVIDIA RTX A'],
  ['of another TensorRT', () => void engines('k', { tensorrt: '10.3.0' }), 'k: by TensorRT 10.3.0, this is 10.13.3'],
  ['of other weights', () => void engines('k', { weights: 'ffff' }), 'k: made of other weights'],
  ['without a key', () => void engines('k', null), 'k: it is not finished'],
  ['with a key of something else', () => writeFileSync(join(engines('k', null), 'key.json'), '[]'), 'k: it is not finished'],
  ['without an engine file', () => rmSync(join(engines('k'), 'denoise.engine')), 'k: denoise.engine is missing'],
])('refused, with the cure: %s', (_, make, why) => {
  make();
  const { code, message } = refusal() as { code: string; message: string };
  expect(code).toBe('ENGINE_INVALID');
  expect(message).toContain(why);
  expect(message).toContain(`run ${join(dir, 'build.sh')} on it`);
}); // prettier-ignore

it.each(FILES)('new weights make engines stale: another %s', file => {
  engines('k');
  expect(refusal()).toEqual({ used: 'k' });
  expect(refusal(HERE, manifest({ [file]: 'changed' }))).toMatchObject({
    code: 'ENGINE_INVALID',
    message: expect.stringContaining('made of other weights'),
  });
});

it('what is not known of the machine is left to TensorRT itself', () => {
  engines('k');
  expect(refusal({ gpu: null, tensorrt: null })).toEqual({ used: 'k' });
  expect(refusal({ gpu: 'NVIDIA RTX B', tensorrt: null })).toMatchObject({ code: 'ENGINE_INVALID' });
});

it('a build that is under way is not looked at', () => {
  engines('.k.tmp-17');
  expect(refusal()).toMatchObject({ message: expect.stringContaining('there are none') });
});

/** A machine of which only these answers are known. */
const machine = (
  answers: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
  env: Machine['env'] = {},
): Machine =>
  ({
    platform: 'linux',
    arch: 'x64',
    env,
    exists: (path: string) => path in files,
    text: (path: string) => files[path] ?? null,
    real: (path: string) => (path.startsWith('/usr/lib') ? `${path}.7.0` : path),
    run: (command: string): Answer =>
      command in answers ? { output: answers[command] as string } : { missing: true },
  }) as unknown as Machine;

const BANNER =
  '&&&& RUNNING TensorRT.trtexec [TensorRT v101303] [b9] # trtexec --help\n=== Model Options ===';
const CACHE = '\tlibnvinfer.so.10 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libnvinfer.so.10\n';

it.each<[string, Machine, { gpu: string | null; tensorrt: string | null }]>([
  ['nothing', machine({}), { gpu: null, tensorrt: null }],
  ['a desktop', machine({ 'nvidia-smi': 'NVIDIA GeForce RTX 4090\n', trtexec: BANNER }), { gpu: 'NVIDIA GeForce RTX 4090', tensorrt: '10.13.3' }],
  ['two GPUs', machine({ 'nvidia-smi': 'NVIDIA A\nNVIDIA B\n' }), { gpu: 'NVIDIA A', tensorrt: null }],
  ['a board', machine({}, { '/proc/device-tree/model': 'NVIDIA Jetson AGX Orin\0' }), { gpu: 'NVIDIA Jetson AGX Orin', tensorrt: null }],
  ['the library that the linker finds, before trtexec', machine({ '/sbin/ldconfig': CACHE, trtexec: BANNER }), { gpu: null, tensorrt: '10.7.0' }],
  ['a library without a version in its name', machine({ trtexec: BANNER }, { '/venv/libnvinfer.so.10': '' }, { LD_LIBRARY_PATH: '/venv' }), { gpu: null, tensorrt: '10.13.3' }],
])('the facts of a machine: %s', (_, m, facts) => {
  expect(tensorRtMachine(m)).toEqual(facts);
}); // prettier-ignore
