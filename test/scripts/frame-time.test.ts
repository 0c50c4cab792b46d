/** The estimate of scripts/frame-time.mjs: its arithmetic against known sizes, and docs/nvidia.md against its output. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildEngine } from '../../src/builder/build';
import { randomCheckpoint } from '../../src/builder/checkpoint';
import { fields, message } from '../../src/model/protobuf';
import { callSetup } from '../setup/call';
import { goldenDir } from '../support/engines';

const ROOT = path.resolve(__dirname, '../..');
const work = (name: string, ...args: readonly unknown[]): unknown =>
  callSetup('../frame-time/work', name, ...args);
const time = (name: string, ...args: readonly unknown[]): unknown =>
  callSetup('../frame-time/time', name, ...args);
const script = (...args: readonly string[]) =>
  spawnSync(process.execPath, [path.join(ROOT, 'scripts/frame-time.mjs'), ...args], { encoding: 'utf8' });

const PI05 = {
  vision: { width: 1152, layers: 27, mlp: 4304, heads: 16, patch: 14, image: 224 },
  language: { width: 2048, layers: 18, heads: 8, headDim: 256, mlp: 16384, vocab: 257152 },
  expert: { width: 1024, mlp: 4096 },
  actionDim: 32,
  denoiseSteps: 10,
  cameras: 3,
  prompt: 200,
  horizon: 50,
};

/** Round numbers: 1 GFLOP is 2 ms, 1 MB of its memory 0.2 ms, of an upload 0.5 ms, of a fetch 0.5 ms. */
const GPU = {
  name: 'unit',
  tflops: 1,
  productShare: 0.5,
  memoryGBs: 10,
  memoryShare: 0.5,
  launchUs: 10,
  uploadGBs: 2,
  downloadGBs: 4,
  copyMsPerMB: 0.25,
};

interface Work {
  readonly flops: number;
  readonly weightBytes: number;
  readonly passBytes: number;
  readonly operators: number;
}

describe('work', () => {
  test('weights are those of the published model, which has norms, biases and positions besides', () => {
    const counts = work('weights', PI05) as Record<'vision' | 'layers' | 'head' | 'expert', number>;
    expect(counts.layers + counts.head + (2 * 18 + 1) * 2048).toBe(2_508_531_712);
    expect(counts.vision / (412_442_352 + 2_361_344)).toBeCloseTo(1, 2);
    const decode = 2 * (counts.layers + counts.head);
    const frame = decode + 2 * (counts.vision + counts.expert);
    expect(work('deviceBytes', PI05)).toEqual({ frame, decode });
  });

  test('a prefix of 968 positions: 36,864 bytes each in float32, half of it in float16', () => {
    expect(work('prefixLength', PI05)).toBe(968);
    expect(work('kvBytes', PI05, 4)).toBe(36_864);
    expect(work('kvBytes', PI05, 2)).toBe(18_432);
    expect(work('transfers', PI05)).toMatchObject({
      row: 968 * 36_864,
      frameIn: 3 * 3 * 224 * 224 + 4 * (10 * 37 * 3072 + 50 * 32),
    });
  });

  test('the bench model needs what docs/performance.md measured on a CPU', () => {
    const bench = {
      ...PI05,
      vision: { width: 256, layers: 6, mlp: 1024, heads: 4, patch: 14, image: 224 },
      language: { width: 512, layers: 8, heads: 8, headDim: 64, mlp: 2048, vocab: 8192 },
      expert: { width: 256, mlp: 1024 },
      cameras: 2,
      prompt: 48,
      horizon: 10,
    };
    expect((work('prefillWork', bench) as Work).flops / 1e9).toBeCloseTo(33.9, 1);
    expect((work('denoiseWork', bench) as Work).flops / 1e9).toBeCloseTo(0.26, 1);
    // 139 MB in float32
    expect((2 * (work('decodeWork', bench, 1, 0) as Work).weightBytes) / 1e6).toBeCloseTo(139, -1);
  });

  test('a batch shares the weights: eight rows read 2.5 % more than one, and compute eight times as much', () => {
    const [one, eight] = [1, 8].map(batch => work('decodeWork', PI05, batch) as Work);
    expect(eight!.flops).toBe(8 * one!.flops);
    expect(eight!.weightBytes / one!.weightBytes).toBeCloseTo(1.025, 3);
  });
});

/** How many nodes a graph of an ONNX file has, and each body inside it. */
function nodeCounts(file: string): readonly number[] {
  const parts = (bytes: Uint8Array, wanted: number): Uint8Array[] =>
    [...fields(bytes)].flatMap(({ number, value }) => (number === wanted ? [message(value)] : []));
  // field numbers of onnx.proto3: graph.node 1, node.attribute 5, attribute.g 6, model.graph 7
  const count = (graph: Uint8Array): readonly number[] => {
    const nodes = parts(graph, 1);
    const bodies = nodes.flatMap(node => parts(node, 5)).flatMap(attribute => parts(attribute, 6));
    return [nodes.length, ...bodies.flatMap(count)];
  };
  return parts(readFileSync(file), 7).flatMap(count);
}

test.each<['tiny' | 'odd', number, number]>([
  ['tiny', 2, 3],
  ['odd', 3, 5],
])('operators are those of the CUDA graphs of %s, within 10 %%', async (name, visionLayers, layers) => {
  const dir = mkdtempSync(path.join(tmpdir(), 'oxygen-operators-'));
  try {
    const checkpoint = randomCheckpoint(path.join(goldenDir(name), 'config.json'), 0);
    const options = { target: 'cuda', precision: 'fp16', tokenizer: null, stats: { missing: [] } } as const;
    await buildEngine(checkpoint, { out: path.join(dir, 'engine'), ...options });
    const [frame, step] = nodeCounts(path.join(dir, 'engine/frame.onnx'));
    const [, decode] = nodeCounts(path.join(dir, 'engine/decode.onnx'));
    const of = (stage: string, count: number) => work('operators', stage, count) as number;
    const near = (estimate: number, real: number | undefined) =>
      expect(Math.abs(estimate / real! - 1)).toBeLessThan(0.1);
    near(of('vision', visionLayers) + of('prefill', layers), frame);
    near(of('denoise', layers), step);
    near(of('decode', layers), decode);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

describe('time', () => {
  const none = { flops: 0, weightBytes: 0, passBytes: 0, operators: 0 };
  test.each<[string, Partial<Work>, number]>([
    ['arithmetic', { flops: 5e9 }, 10],
    ['weights', { weightBytes: 5e6 }, 1],
    ['the slower of both', { flops: 5e9, weightBytes: 5e6 }, 10],
    ['passes come on top', { flops: 5e9, passBytes: 5e6 }, 11],
    ['not before the host has started the operators', { flops: 5e9, operators: 2000 }, 20],
  ])('%s', (_, part, ms) => expect(time('stageMs', { ...none, ...part }, GPU)).toBeCloseTo(ms, 9));

  test('up once, down twice: the second time into JavaScript', () => {
    expect(time('uploadMs', 4e6, GPU)).toBeCloseTo(2, 9);
    expect(time('fetchMs', 4e6, GPU)).toBeCloseTo(2, 9);
  });

  test('TensorRT has no starts of operators, but its prefix goes down and up', () => {
    const cuda = time('frameMs', PI05, GPU) as Record<string, number>;
    const fused = time('tensorRtFrameMs', PI05, GPU) as Record<string, number>;
    const MB = (968 * 36_864) / 1e6;
    expect(fused['handOver']).toBeCloseTo(MB, 6);
    expect(fused['denoise']).toBeLessThan(cuda['denoise']!);
    const parts = Object.entries(fused).filter(([name]) => name !== 'total');
    expect(parts.reduce((sum, [, ms]) => sum + ms, 0)).toBeCloseTo(fused['total']!, 6);
  });

  test('a burst uploads its rows once, a naive port moves them up and down with every step', () => {
    const copies = time('copiesMs', PI05, GPU, 4, 5) as Record<string, number>;
    const MB = (4 * 968 * 36_864) / 1e6;
    expect(copies['ours']).toBeCloseTo((0.5 * MB) / 5, 6);
    expect(copies['naive']).toBeCloseTo(1.0 * MB, 6);
    const burst = time('burstMs', PI05, GPU, 4, 5) as Record<string, number>;
    expect(burst['upload']).toBeCloseTo((0.5 + 1.5 * 0.2) * MB, 6);
    const ten = time('burstMs', PI05, GPU, 4, 10) as Record<string, number>;
    expect(ten['upload']).toBe(burst['upload']);
    expect(ten['compute']).toBeCloseTo(2 * burst['compute']!, 6);
  });

  test('on the RTX 4090 the paper measured a prefix of 45.1 ms: the estimate for its 868 slots is within 20 %', () => {
    const [, estimate] =
      /^\| prefix \(vision and prefill\) \| 45\.1 \| ([\d.]+) \|/m.exec(script().stdout) ?? [];
    expect(Math.abs(Number(estimate) - 45.1)).toBeLessThan(0.2 * 45.1);
  });
});

describe('the command', () => {
  test('docs/nvidia.md shows what it prints', () => {
    const doc = readFileSync(path.join(ROOT, 'docs/nvidia.md'), 'utf8');
    const shown = /<!-- frame-time -->\n([^]*?)<!-- frame-time end -->/.exec(doc)?.[1];
    expect(shown).toBe(`${script().stdout}`);
  });

  test('takes a GPU from a file and refuses one that is not whole', () => {
    const dir = mkdtempSync(path.join(tmpdir(), 'oxygen-gpu-'));
    try {
      const file = path.join(dir, 'gpu.json');
      writeFileSync(file, JSON.stringify({ ...GPU, name: 'Mine' }));
      const run = script('--gpu', file, '--model', 'bench');
      expect(run.status).toBe(0);
      expect(run.stdout).toMatch(/\| ms \| work \| Mine \|/);
      writeFileSync(file, JSON.stringify({ ...GPU, tflops: 0, launchUs: undefined }));
      expect(script('--gpu', file)).toMatchObject({
        status: 2,
        stderr: expect.stringMatching(/wrong or missing: tflops, launchUs/),
      });
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  test('names the models that it knows', () =>
    expect(script('--model', 'pi9')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/pi05, libero, bench/),
    }));
});
