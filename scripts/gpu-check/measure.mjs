// Times one engine for the GPU check: node scripts/gpu-check/measure.mjs ENGINE cuda|tensorrt|cpu [--frames N]
// `cpu` runs the engine's CUDA graphs on the CPU, for rehearsals. Prints one line of JSON; all times are milliseconds.
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

const require = createRequire(import.meta.url);
const { CudaSessions } = require('../../dist/engine/cuda-sessions.js');
const { loadFor } = require('../../dist/engine/open-engine.js');
const { dummyFrame, prefixCache } = require('../../dist/engine/deployment.js');
const { runBlock } = require('../../dist/bench/block.js');
const { Frames } = require('../../dist/bench/workload.js');
const { median } = require('../../dist/core/statistics.js');

const WARM_UP = 2;
const BURST = 5;
const BATCHES = [1, 4, 8];
/** N and k of the frames with language, as in the paper's ablation; the demo's and the tests' models have less room. */
const TEXT = { tokens: 20, steps: 5 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { frames: { type: 'string', default: '20' } },
});
const [engine, provider] = positionals;
const frames = Number(values.frames);
if (engine === undefined || !['cuda', 'tensorrt', 'cpu'].includes(provider) || !(frames >= 1)) {
  console.error('usage: node scripts/gpu-check/measure.mjs ENGINE cuda|tensorrt|cpu [--frames N]');
  process.exit(2);
}

const timed = async work => {
  const start = performance.now();
  const value = await work();
  return { ms: performance.now() - start, value };
};

/** The first run apart: it makes the context, chooses kernels and grows the memory. */
async function repeated(work) {
  const { ms: first } = await timed(work);
  for (let i = 1; i < WARM_UP; i++) await work();
  const all = [];
  for (let i = 0; i < frames; i++) all.push((await timed(work)).ms);
  return { first, median: median(all) };
}

const threads = provider === 'cpu' ? availableParallelism() : Math.max(1, availableParallelism() - 1);
const { ms: load, value: sessions } = await timed(() =>
  provider === 'tensorrt'
    ? loadFor(engine, provider, threads)
    : CudaSessions.load(engine, threads, 0, provider),
);
const { model } = sessions.manifest;

/** A whole frame in one run, with one and with all Euler steps: the difference is what steps cost. */
async function frameGraph() {
  const noise = new Float32Array(model.horizon * model.actionDim);
  const run = steps => () =>
    sessions.frame({ ...dummyFrame(sessions, model.cameraSlots.length), noise, steps, causal: false });
  const whole = await repeated(run(model.denoiseSteps));
  const one = await repeated(run(1));
  const step = Math.max(0, (whole.median - one.median) / (model.denoiseSteps - 1));
  return {
    first_frame: whole.first,
    frame_graph: whole.median,
    euler_step: step,
    vision_prefill_copies: Math.max(0, one.median - step),
  };
}

/** Bursts of one and of several steps: the difference is what steps cost, the rest what a call and its copies do. */
async function decodeGraph() {
  const steps = model.denoiseSteps;
  const noise = new Float32Array(model.horizon * model.actionDim);
  const prefix = await sessions.frame({
    ...dummyFrame(sessions, model.cameraSlots.length),
    noise,
    steps,
    causal: false,
  });
  const cache = prefixCache(sessions, { ...prefix, next: [prefix.next] }, Math.max(...BATCHES), BURST);
  const decode = {};
  for (const batch of BATCHES) {
    const ids = Array.from({ length: batch }, (_, row) => String(row));
    for (const id of ids) cache.attach(id, cache.shape.capacity);
    const feeds = {
      tokens: ids.map(() => 1),
      lengths: ids.map(() => prefix.length),
      past: cache.batchView(),
    };
    const [one, several] = [
      await repeated(() => sessions.decode({ ...feeds, steps: 1 })),
      await repeated(() => sessions.decode({ ...feeds, steps: BURST })),
    ];
    const step = Math.max(0, (several.median - one.median) / (BURST - 1));
    decode[batch] = { burst: several.median, step, call: Math.max(0, one.median - step) };
    for (const id of ids) cache.release(id);
  }
  return decode;
}

/** Frames with and without language through cache and scheduler. */
async function scheduled(arrivals) {
  const spare = sessions.manifest.maxPositions - cachePrefix();
  const tokens = Math.min(TEXT.tokens, Math.max(1, spare));
  const block = {
    mode: 'oxygen',
    tokens,
    tokensPerFrame: { kind: 'fixed', steps: TEXT.steps },
    denoiseSteps: model.denoiseSteps,
    arrivals,
    seed: 1,
    first: WARM_UP,
    warmUp: WARM_UP,
    frames,
    executeMs: 1000,
    paced: false,
  };
  const result = await runBlock(sessions, new Frames(model, 1), block, { frame: start => start() });
  if (result.failures.length > 0) throw new Error(result.failures[0]);
  const of = key => median(result.frames.map(frame => frame[key]));
  const seconds = result.frames.reduce((sum, frame) => sum + frame.ms, 0) / 1e3;
  return {
    frame: of('ms'),
    chunk: of('firstActionMs'),
    tokens_per_s: result.frames.reduce((sum, frame) => sum + frame.tokens, 0) / seconds,
    tokens,
  };
}

const cachePrefix = () => {
  const { vision, cameraSlots, maxPromptTokens } = model;
  return (
    cameraSlots.length * (vision.imageHeight / vision.patch) * (vision.imageWidth / vision.patch) +
    maxPromptTokens
  );
};

try {
  const stages = await frameGraph();
  const decode = await decodeGraph();
  const alone = await scheduled({ kind: 'none' });
  const talking = await scheduled({ kind: 'uniform', rate: 1 });
  console.log(JSON.stringify({ provider, threads, load, ...stages, decode, alone, talking }));
} finally {
  await sessions.release();
}
