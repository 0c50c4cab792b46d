/** `oxygen build --target tensorrt`: what the folder holds, that its graphs share weights, and the script at the end. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TensorRtSessions } from '../../src/engine/tensorrt-sessions';
import { tensorRtEngines } from '../../src/engine/tensorrt-key';
import { readManifest, TARGET_GRAPHS } from '../../src/model/manifest';
import { TENSORRT_GRAPHS } from '../../src/model/tensorrt-engine';
import { distance } from '../../src/verify/limits';
import { dummyFrame } from '../../src/engine/deployment';
import { goldenDir, oxygen, ROOT } from '../support/engines';
import { removeGraphs, tensorRtGraphs, tensorRtSessions } from '../support/tensorrt';

let root: string;
let engine: string;
let said: string;
const HERE = { gpu: 'NVIDIA A', tensorrt: '10.13.3' };

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'oxygen-trt-build-'));
  engine = join(root, 'engine');
  mkdirSync(join(root, 'bin'));
  fake('nvidia-smi', 'echo "NVIDIA A"');
  fake(
    'trtexec',
    'echo "[TensorRT v101303]"; for o in "$@"; do case $o in --saveEngine=*) echo plan >"${o#*=}" ;; esac; done',
  );
  const golden = goldenDir('odd');
  const random = [
    '--random-init', join(golden, 'config.json'), '--seed', '2002',
    '--tokenizer', join(golden, 'tokenizer.json'), '--norm-stats', join(golden, 'norm_stats.json'),
  ]; // prettier-ignore
  const args = [join(ROOT, 'dist/main.js'), 'build', '--target', 'tensorrt', ...random, '--out', engine];
  const env = { ...process.env, PATH: `${join(root, 'bin')}:${process.env['PATH']}` };
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
  said = stderr;
  expect({ status, stderr }).toMatchObject({ status: 0 });
});
afterAll(() => {
  rmSync(root, { recursive: true });
  removeGraphs();
});

function fake(name: string, body: string): void {
  writeFileSync(join(root, 'bin', name), `#!/bin/sh\n${body}\n`);
  chmodSync(join(root, 'bin', name), 0o755);
}

it('holds the graphs of both targets on one weight file, the wrappers and the script', () => {
  const manifest = readManifest(engine);
  expect(manifest).toMatchObject({ target: 'tensorrt', precision: 'fp16' });
  const files = Object.keys(manifest.files);
  expect(files).toEqual(
    expect.arrayContaining([
      ...TARGET_GRAPHS.tensorrt.map(graph => `${graph}.onnx`),
      ...TENSORRT_GRAPHS.map(graph => `${graph}.context.onnx`),
      'build.sh',
    ]),
  );
  expect(files.filter(file => file.endsWith('.weights'))).toEqual(['model.weights']);
  // what the graphs for TensorRT add to those for CUDA: borders and tables in float32
  const alone = statSync(join(tensorRtGraphs('odd', 'float16'), 'model.weights')).size;
  expect(manifest.files['model.weights']?.bytes).toBeLessThan(2 * alone);
  expect(statSync(join(engine, 'build.sh')).mode & 0o111).not.toBe(0);
});

it('made engines that this machine would use, and others would not', () => {
  expect(said).toContain('engines are in trt/');
  const manifest = readManifest(engine);
  const made = tensorRtEngines(engine, manifest, HERE);
  expect(readFileSync(join(made, 'prefill.onnx'))).toEqual(
    readFileSync(join(engine, 'prefill.context.onnx')),
  );
  expect(existsSync(join(made, 'denoise.engine'))).toBe(true);
  expect(() => tensorRtEngines(engine, manifest, { ...HERE, gpu: 'NVIDIA B' })).toThrow(/stale/);
});

it('its graphs compute what they compute with weights of their own', async () => {
  const own = await tensorRtSessions(tensorRtGraphs('odd', 'float16'), 'odd');
  const shared = await TensorRtSessions.load(engine, { threads: 1, spinUs: 0 }, { on: 'cpu' });
  const { horizon, actionDim } = own.manifest.model;
  const outputs = async (s: TensorRtSessions) => {
    const { kv, length, next } = await s.prefill(dummyFrame(own, 1), false);
    const actions = await s.denoise(new Float32Array(horizon * actionDim).fill(0.5), {
      batch: 1,
      positions: length,
      ...kv,
    });
    return [...kv.k, ...kv.v, next.logits, actions];
  };
  const [a, b] = [await outputs(own), await outputs(shared)];
  a.forEach((values, i) => expect(distance(values, b[i] as Float32Array).max).toBeLessThan(1e-6));
  await own.release();
  await shared.release();
});

it('oxygen verify compares it with the goldens, on the CPU for want of a GPU', async () => {
  const { code, stdout } = await oxygen(['verify', '--engine', engine, '--golden', goldenDir('odd')]);
  expect({ code, stdout }).toMatchObject({ code: 0 });
  expect(stdout).toMatch(/graphs for tensorrt ran on the CPU: no GPU was used/);
  for (const kind of ['prefix_k', 'prefix_v', 'actions', 'lang.logits']) expect(stdout).toContain(kind);
}, 120_000);
