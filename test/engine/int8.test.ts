/** What int8 engines promise: exact sums, rows that know nothing of each other, pages shared between processes. */
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import { Graph } from '../../src/builder/graph';
import { encodeModel } from '../../src/builder/onnx';
import { int8Products } from '../../src/builder/products';
import { WeightsFile } from '../../src/builder/weights-file';
import { dummyFrame, prefixCache } from '../../src/engine/deployment';
import { ModelSessions } from '../../src/engine/model-sessions';
import { runDecode, runPrefill } from '../../src/engine/onnx-executor';
import { engineDir, ROOT } from '../support/engines';

let dir: string;
beforeAll(() => (dir = mkdtempSync(join(tmpdir(), 'oxygen-int8-'))));
afterAll(() => rmSync(dir, { recursive: true }));

/** x [.., into] · Wᵀ as the builder writes it. */
async function product(name: string, bytes: 1 | 2, into: number, rows: readonly Float32Array[]) {
  const weights = new WeightsFile(join(dir, `${name}.weights`));
  const graph = new Graph(name, weights);
  const readRows = (_: string, first: number, count: number) =>
    Float32Array.from(rows.slice(first, first + count).flatMap(row => Array.from(row)));
  const { product: make } = int8Products({ readRows, read: () => readRows('', 0, rows.length) }, bytes);
  const x = graph.input('x', 'float', ['B', 'T', into]);
  const y = make(graph, x, 'w', { names: ['w'], into, outs: [rows.length] });
  graph.output('y', y, 'float', ['B', 'T', rows.length]);
  weights.close();
  writeFileSync(join(dir, `${name}.onnx`), encodeModel(graph.model('test')));
  const session = await ort.InferenceSession.create(join(dir, `${name}.onnx`), { intraOpNumThreads: 1 });
  return async (values: Float32Array, tokens: number) => {
    const feed = new ort.Tensor('float32', values, [1, tokens, into]);
    return (await session.run({ x: feed }))['y']!.data as Float32Array;
  };
}

const wave = (length: number, phase: number) =>
  Float32Array.from({ length }, (_, i) => Math.sin(phase + i * 1.7) * (1 + (i % 5)));

it.each([1, 2] as const)('sums of extreme values are exact with %i bytes: no kernel saturates', async bytes => {
  const into = 512;
  const run = await product(`extreme${bytes}`, bytes, into, [new Float32Array(into).fill(3), new Float32Array(into).fill(-3)]);
  const y = await run(new Float32Array(into).fill(2), 1);
  expect(y[0]! / (6 * into)).toBeCloseTo(1, 5);
  expect(y[1]! / (6 * into)).toBeCloseTo(-1, 5);
}); // prettier-ignore

it('two bytes follow float64 sixty times closer than one', async () => {
  const into = 256;
  const rows = Array.from({ length: 64 }, (_, r) => {
    // weights that int8 holds exactly, so that only the activations are rounded
    const codes = Float32Array.from({ length: into }, (_, i) => ((i * 37 + r * 11) % 255) - 127);
    codes[0] = 127;
    return codes.map(c => c / 127);
  });
  const x = wave(into, 0.3);
  const exact = rows.map(row => row.reduce((sum, w, i) => sum + w * x[i]!, 0));
  const errors = [];
  for (const bytes of [1, 2] as const) {
    const y = await (await product(`bytes${bytes}`, bytes, into, rows))(x, 1);
    errors.push(Math.max(...exact.map((e, i) => Math.abs(e - y[i]!))));
  }
  expect(errors[1]! * 60).toBeLessThan(errors[0]!);
});

it.each([1, 2] as const)('a row of zeros is no NaN, and an outlier row does not touch the others (%i bytes)', async bytes => {
  const into = 64;
  const run = await product(`rows${bytes}`, bytes, into, Array.from({ length: 40 }, (_, r) => wave(into, r)));
  const plain = wave(into, 5);
  const alone = await run(plain, 1);
  const together = await run(Float32Array.from([...plain, ...wave(into, 6).map(v => v * 1e6), ...new Float32Array(into)]), 3);
  expect(Array.from(together.subarray(0, 40))).toEqual(Array.from(alone));
  expect(Array.from(together.subarray(80))).toEqual(new Array(40).fill(0));
}); // prettier-ignore

it.each(['tiny-int8', 'odd-int8'] as const)('%s: a decode batch gives each row the bits that it gets alone', async name => {
  const sessions = await ModelSessions.load(engineDir(name), 1);
  try {
    const prefix = await runPrefill(sessions, dummyFrame(sessions, 1), false);
    const batch = 5;
    const cache = prefixCache(sessions, prefix, batch, 8);
    for (let row = 0; row < batch; row++) cache.attach(String(row), prefix.length + 8);
    const tokens = [3, 50, 2, 700, 9];
    const lengths = tokens.map((_, row) => prefix.length - row);
    const all = await runDecode(sessions, tokens, lengths, cache.batchView(), true);
    const vocab = all.logits!.length / batch;
    for (let row = 0; row < batch; row++) {
      const solo = prefixCache(sessions, prefix, 1, 8);
      solo.attach('solo', prefix.length + 8);
      const one = await runDecode(sessions, [tokens[row]!], [lengths[row]!], solo.batchView(), true);
      expect(one.logits).toEqual(all.logits!.slice(row * vocab, (row + 1) * vocab));
    }
  } finally {
    await sessions.release();
  }
}); // prettier-ignore

/** A process that has the engine loaded; its memory of its own in MB, without what another process maps too. */
const HOLDER = `
const { ModelSessions } = require(process.argv[1]);
const fs = require('node:fs');
ModelSessions.load(process.argv[2], 1).then(() => {
  const file = '/proc/self/smaps';
  let mapped = 0, own = 0, weights = false;
  for (const line of fs.readFileSync(file, 'utf8').split('\\n')) {
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) weights = line.endsWith('.weights');
    const kb = Number(/:\\s+(\\d+) kB/.exec(line)?.[1] ?? 0);
    if (weights && line.startsWith('Size:')) mapped += kb;
    if (!weights && line.startsWith('Private_Dirty:')) own += kb;
  }
  console.log(JSON.stringify({ mapped: mapped / 1024, own: own / 1024 }));
  setInterval(() => {}, 1000);
});`;

it('weights are mapped, not copied: a process with an engine of 150 MB owns little of it', async () => {
  const out = join(dir, 'mapped');
  const config = join(dir, 'config.json');
  const tiny = JSON.parse(readFileSync(join(ROOT, 'test/data/golden/tiny/config.json'), 'utf8')) as object;
  const wide = { width: 512, depth: 3, mlp_dim: 8192, num_heads: 4, num_kv_heads: 1, head_dim: 32 };
  writeFileSync(config, JSON.stringify({ ...tiny, paligemma_config: wide, text_config: undefined }));
  execFileSync(process.execPath, [join(ROOT, 'dist/main.js'), 'build', '--random-init', config, '--out', out], { stdio: 'pipe' });
  const holder = spawn(process.execPath, ['-e', HOLDER, join(ROOT, 'dist/engine/model-sessions.js'), out]);
  const bare = spawn(process.execPath, ['-e', HOLDER, join(ROOT, 'dist/engine/model-sessions.js'), engineDir('tiny')]);
  try {
    const memory = async (child: typeof holder) =>
      JSON.parse(String(await new Promise(resolve => child.stdout.once('data', resolve)))) as { mapped: number; own: number };
    const [full, empty] = [await memory(holder), await memory(bare)];
    // 3 x 3 x 512 x 8192 weights of the language model's MLP alone are 144 MiB in float32; what packing needed for a moment
    // may still be the process's
    expect(full.mapped).toBeGreaterThan(140);
    expect(full.own - empty.own).toBeLessThan(75);
  } finally {
    holder.kill();
    bare.kill();
  }
}); // prettier-ignore

it('packed weights of another kind of CPU, which ONNX Runtime does not find again, change no number', async () => {
  const from = engineDir('tiny-int8');
  const to = join(dir, 'moved');
  cpSync(from, to, { recursive: true });
  const graph = readFileSync(join(to, 'vision.onnx'));
  const name = 'MatMulInteger+'; // in front of the hash of the packed bytes
  let altered = 0;
  for (let at = graph.indexOf(name); at >= 0; at = graph.indexOf(name, at + 1), altered++)
    graph.write(graph[at + name.length] === 0x31 ? '2' : '1', at + name.length);
  writeFileSync(join(to, 'vision.onnx'), graph);
  expect(altered).toBeGreaterThan(5);
  const images = new ort.Tensor('uint8', Uint8Array.from({ length: 224 * 224 * 3 }, (_, i) => i % 251), [1, 224, 224, 3]);
  const tokens = [];
  for (const folder of [from, to]) {
    const session = await ort.InferenceSession.create(join(folder, 'vision.onnx'), { intraOpNumThreads: 1 });
    tokens.push((await session.run({ images }))['image_tokens']!.data);
    await session.release();
  }
  expect(tokens[1]).toEqual(tokens[0]);
}); // prettier-ignore
