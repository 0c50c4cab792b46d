/** A whole engine for TensorRT on the CPU: the scheduler, the cache and the bursts around it are those of every engine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArrivals } from '../../src/bench/arrivals';
import { runBlock } from '../../src/bench/block';
import { compare } from '../../src/bench/equality';
import { Frames, type Block } from '../../src/bench/workload';
import { buildEngine } from '../../src/builder/build';
import { randomCheckpoint } from '../../src/builder/checkpoint';
import { RunCosts } from '../../src/core/run-costs';
import { CudaSessions } from '../../src/engine/cuda-sessions';
import { dummyFrame, type EngineSessions } from '../../src/engine/deployment';
import { loadFor } from '../../src/engine/open-engine';
import { loadTensorRt, type TensorRtEngine } from '../../src/engine/tensorrt-engine';
import type { TensorRtSessions } from '../../src/engine/tensorrt-sessions';
import { warmUp } from '../../src/engine/warm-up';
import { goldenDir } from '../support/engines';

let dir: string;
let engine: TensorRtEngine;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'oxygen-trt-engine-'));
  const checkpoint = randomCheckpoint(join(goldenDir('odd'), 'config.json'), 2002);
  const target = { target: 'tensorrt', precision: 'fp16' } as const;
  await buildEngine(checkpoint, { out: dir, ...target, tokenizer: null, stats: { missing: [] } });
  engine = await loadTensorRt(dir, 1, 0, { on: 'cpu' });
});
afterAll(async () => {
  await engine.release();
  rmSync(dir, { recursive: true });
});

/** One request a frame, three steps in each. */
const block = (more: Partial<Block>): Block => ({
  mode: 'oxygen',
  tokens: 9,
  tokensPerFrame: { kind: 'fixed', steps: 3 },
  denoiseSteps: engine.manifest.model.denoiseSteps,
  arrivals: parseArrivals('uniform:1'),
  seed: 5,
  first: 100,
  warmUp: 1,
  frames: 5,
  executeMs: 30,
  paced: false,
  ...more,
});

const run = async (sessions: EngineSessions, more: Partial<Block> = {}) => {
  const frames = new Frames(sessions.manifest.model, 5);
  const result = await runBlock(sessions, frames, block(more), { frame: ready => ready() });
  expect(result.failures).toEqual([]);
  return result;
};

it('chunks and texts are the same in every mode', async () => {
  const alone = await run(engine, { mode: 'isolated' });
  expect(alone.chunks.length).toBe(5);
  expect(alone.requests.length).toBeGreaterThan(2);
  for (const other of [
    { mode: 'shared' },
    {},
    { tokensPerFrame: { kind: 'auto', minSteps: 1 } },
  ] as Partial<Block>[])
    expect(compare([await run(engine, other)], [alone])).toMatchObject({
      near_ties: 0,
      differing: 0,
      chunk_max_difference: 0,
    });
}, 120_000);

it('chunks are those of the CUDA graphs on the same weights but for rounding', async () => {
  const cuda = await CudaSessions.load(dir, 1, 0, 'cpu');
  const [a, b] = [await run(engine), await run(cuda)];
  await cuda.release();
  const { chunk_max_difference: off } = compare([a], [b]);
  expect(off).toBeGreaterThan(0);
  expect(off).toBeLessThan(0.02);
}, 120_000);

it('warms up every kind of run, and the costs know them', async () => {
  const costs = new RunCosts(null);
  await warmUp(engine, { cameras: 1, denoiseSteps: 10, shape: { maxRequests: 2, capacity: 300 } }, costs);
  for (const kind of ['prefill', 'denoise', 'seed', 'decode'] as const)
    expect([kind, costs.expected(kind) > 0]).toEqual([kind, true]);
});

it('warms up with each number of cameras that a frame may come with', async () => {
  const { model } = engine.manifest;
  const manifest = { ...engine.manifest, model: { ...model, cameraSlots: ['a', 'b', 'c'] } };
  const seen: number[] = [];
  const prefill: typeof engine.frames.prefill = ({ cameras, promptIds }) => {
    seen.push(cameras.length);
    return engine.frames.prefill({ ...dummyFrame(engine.frames, 1), promptIds }, false);
  };
  const frames = {
    manifest,
    prefill,
    denoise: engine.frames.denoise.bind(engine.frames),
  } as TensorRtSessions;
  const shape = { maxRequests: 1, capacity: 300 };
  await warmUp({ ...engine, frames }, { cameras: 3, denoiseSteps: 10, shape }, null);
  expect(new Set(seen)).toEqual(new Set([1, 2, 3]));
});

it('without engines for this machine it says so, with the cure, and loads nothing', async () => {
  await expect(loadFor(dir, 'tensorrt', 1)).rejects.toMatchObject({
    code: 'ENGINE_INVALID',
    message: expect.stringMatching(
      /has no TensorRT engines for this machine: there are none; run .*build\.sh on it/,
    ),
  });
});

it('the frame graph is not on the device a second time', async () => {
  const { manifest } = engine;
  const { horizon, actionDim, denoiseSteps, cameraSlots, vision } = manifest.model;
  const frame = {
    images: new Uint8Array(vision.imageHeight * vision.imageWidth * 3),
    cameras: cameraSlots.slice(0, 1),
    promptIds: [2],
    causal: false,
    noise: new Float32Array(horizon * actionDim),
    steps: denoiseSteps,
  };
  await expect(engine.language.frame(frame)).rejects.toMatchObject({ code: 'INTERNAL' });
});
