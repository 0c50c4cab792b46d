// Times one engine for the GPU check: node scripts/gpu-check/measure.mjs ENGINE cuda|tensorrt [--on-cpu] [--frames N]
// --on-cpu runs the same graphs on the CPU, for rehearsals. Prints one line of JSON; all times are milliseconds.
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

const require = createRequire(import.meta.url);
const { CudaSessions } = require('../../dist/engine/cuda-sessions.js');
const { loadTensorRt } = require('../../dist/engine/tensorrt-engine.js');
const { dummyFrame, prefixCache } = require('../../dist/engine/deployment.js');
const { runBlock } = require('../../dist/bench/block.js');
const { Frames } = require('../../dist/bench/workload.js');
const { median } = require('../../dist/core/statistics.js');
const { longestPrefix } = require('../../dist/model/config.js');

const WARM_UP = 2;
const BURST = 5;
const BATCHES = [1, 4, 8];
/** N and k of the frames with language, as in the paper's ablation; small models have less room. */
const TEXT = { tokens: 20, steps: 5 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { frames: { type: 'string', default: '20' }, 'on-cpu': { type: 'boolean', default: false } },
});
const [engine, target] = positionals;
const frames = Number(values.frames);
if (engine === undefined || !['cuda', 'tensorrt'].includes(target) || !(frames >= 1)) {
  console.error('usage: node scripts/gpu-check/measure.mjs ENGINE cuda|tensorrt [--on-cpu] [--frames N]');
  process.exit(2);
}
const onCpu = values['on-cpu'];
const threads = onCpu ? availableParallelism() : Math.max(1, availableParallelism() - 1);

const timed = async work => {
  const start = performance.now();
  const value = await work();
  return { ms: performance.now() - start, value };
};

/** The first run apart: it makes the context, chooses kernels and grows the memory. */
async function repeated(work) {
  const { ms: first, value } = await timed(work);
  for (let i = 1; i < WARM_UP; i++) await work();
  const all = [];
  for (let i = 0; i < frames; i++) all.push((await timed(work)).ms);
  return { first, median: median(all), value };
}

const { ms: load, value: sessions } = await timed(() =>
  target === 'tensorrt'
    ? loadTensorRt(engine, threads, 0, { on: onCpu ? 'cpu' : 'tensorrt' })
    : CudaSessions.load(engine, threads, 0, onCpu ? 'cpu' : 'cuda'),
);
const { model, maxPositions } = sessions.manifest;
const frame = dummyFrame(sessions, model.cameraSlots.length);
const noise = new Float32Array(model.horizon * model.actionDim);
const prefixOf = prefix =>
  prefixCache(sessions, { ...prefix, next: [prefix.next] }, Math.max(...BATCHES), BURST);

/** A whole frame in one run, with one and with all Euler steps: the difference is what steps cost. */
async function frameGraph() {
  const run = steps => () => sessions.frame({ ...frame, noise, steps, causal: false });
  const whole = await repeated(run(model.denoiseSteps));
  const one = await repeated(run(1));
  const step = Math.max(0, (whole.median - one.median) / (model.denoiseSteps - 1));
  const stages = {
    first_frame: whole.first,
    frame_graph: whole.median,
    euler_step: step,
    vision_prefill_copies: Math.max(0, one.median - step),
  };
  return { stages, prefix: whole.value };
}

/** The two TensorRT engines, keys and values through the host in between. */
async function tensorRtEngines() {
  const { frames } = sessions;
  const prefill = await repeated(() => frames.prefill(frame, false));
  const view = prefixOf(prefill.value).prefixView();
  const denoise = await repeated(() => frames.denoise(noise, view));
  const stages = {
    first_frame: prefill.first + denoise.first,
    vision_prefill_copies: prefill.median,
    denoise_copies: denoise.median,
  };
  return { stages, prefix: prefill.value };
}

/** Bursts of one and of several steps: the difference is what steps cost, the rest what a call and its copies do. */
async function decodeGraph(prefix) {
  const decoder = target === 'tensorrt' ? sessions.language : sessions;
  const cache = prefixOf(prefix);
  const decode = {};
  for (const batch of BATCHES) {
    const ids = Array.from({ length: batch }, (_, row) => String(row));
    for (const id of ids) cache.attach(id, cache.shape.capacity);
    const feeds = {
      tokens: ids.map(() => 1),
      lengths: ids.map(() => prefix.length),
      past: cache.batchView(),
    };
    const one = await repeated(() => decoder.decode({ ...feeds, steps: 1 }));
    const several = await repeated(() => decoder.decode({ ...feeds, steps: BURST }));
    const step = Math.max(0, (several.median - one.median) / (BURST - 1));
    decode[batch] = { burst: several.median, step, call: Math.max(0, one.median - step) };
    for (const id of ids) cache.release(id);
  }
  return decode;
}

/** Frames through cache and scheduler. Throws what went wrong in one of them. */
async function scheduled(arrivals) {
  const tokens = Math.min(TEXT.tokens, maxPositions - longestPrefix(model));
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
  const sum = key => result.frames.reduce((all, each) => all + each[key], 0);
  const middle = key => median(result.frames.map(each => each[key]));
  return {
    frame: middle('ms'),
    chunk: middle('firstActionMs'),
    tokens_per_s: (1e3 * sum('tokens')) / sum('ms'),
    tokens,
  };
}

try {
  const { stages, prefix } = await (target === 'tensorrt' ? tensorRtEngines() : frameGraph());
  const decode = await decodeGraph(prefix);
  const alone = await scheduled({ kind: 'none' });
  const talking = await scheduled({ kind: 'uniform', rate: 1 });
  console.log(JSON.stringify({ target, on_cpu: onCpu, threads, load, ...stages, decode, alone, talking }));
} finally {
  await sessions.release();
}
