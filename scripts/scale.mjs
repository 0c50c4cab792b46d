// Does the builder hold at full size? Builds the real pi0.5 dimensions from formula weights and from a bfloat16
// checkpoint of 7 GB, runs one frame and four decode steps, and has numpy evaluate the first and the last language
// layer from the same inputs.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { readCommandLine } from './setup/command-line.mjs';
import { at, VENV_PYTHON } from './setup/paths.mjs';

const USAGE = `Usage: node scripts/scale.mjs [--config FILE] [--dir FOLDER] [--precision P] [--seed N]

Builds a model of full size from formula weights and from a bfloat16 checkpoint, runs one frame and four decode steps,
and compares two language layers with numpy. pi0.5 takes 15 GB of disk in int8, 33 GB in fp32.

  --config FILE    sizes of the model (config/pi05.json)
  --dir FOLDER     where to build, in a folder of its own that is deleted last (the folder for temporary files)
  --precision P    int8 (default) or fp32
  --seed N         of the weights (1)
  --help           this text`;

const { values: o } = readCommandLine(USAGE, {
  options: {
    config: { type: 'string', default: at('config/pi05.json') },
    dir: { type: 'string', default: os.tmpdir() },
    precision: { type: 'string', default: 'int8' },
    seed: { type: 'string', default: '1' },
  },
});
const require = createRequire(import.meta.url);
const { writeFormulaCheckpoint } = require('./formula-checkpoint.cjs');
const load = name => require(at(`dist/${name}.js`));
const DECODE_STEPS = 4;
/** The part of a reference's standard deviation that a layer may be off: measured 0.7 % to 3.1 % in int8. */
const LIMITS = { fp32: 1e-4, int8: 0.04 };

/** Peak resident memory of a process in MB, its mapped files included, until it ends. */
async function peakOf(child) {
  let peak = 0;
  const timer = setInterval(() => {
    const status = fs.readFileSync(`/proc/${child.pid}/status`, { encoding: 'utf8', flag: 'r' });
    peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
  }, 200);
  const code = await new Promise(resolve => child.on('exit', resolve)).finally(() => clearInterval(timer));
  if (code !== 0) throw new Error(`oxygen build ended with ${code}`);
  return Math.round(peak);
}

async function build(out, source) {
  const start = performance.now();
  const args = [at('dist/main.js'), 'build', ...source, '--precision', o.precision, '--out', out];
  const peakMb = await peakOf(spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] }));
  const bytes = fs.readdirSync(out).reduce((sum, file) => sum + fs.statSync(path.join(out, file)).size, 0);
  return { seconds: seconds(start), peak_mb: peakMb, gigabytes: Number((bytes / 1e9).toFixed(2)) };
}

function writeCheckpoint(dir) {
  const start = performance.now();
  writeFormulaCheckpoint(dir, o.config, Number(o.seed));
  const { size } = fs.statSync(path.join(dir, 'model.safetensors'));
  return { seconds: seconds(start), gigabytes: Number((size / 1e9).toFixed(2)) };
}

/** One frame with all cameras and the longest prompt, then decode steps; the language layers' inputs and outputs. */
async function runFrame(engine, trace) {
  const { ModelSessions } = load('engine/model-sessions');
  const { prefixCache, dummyFrame } = load('engine/deployment');
  const { denoise, runDecode } = load('engine/onnx-executor');
  const { writeSafetensors } = load('builder/safetensors-writer');
  let start = performance.now();
  const sessions = await ModelSessions.load(engine, os.availableParallelism());
  const times = { load_s: seconds(start) };
  const { model } = sessions.manifest;
  const { width, layers, headDim } = model.language;
  const frame = dummyFrame(sessions, model.cameraSlots.length);
  const images = frame.images.map((_, i) => (i * 31) % 251);
  const promptIds = frame.promptIds.map((id, i) => (i === 0 ? id : (i * 7919) % model.language.vocab));

  start = performance.now();
  const tokens = await sessions.vision(images, frame.cameras.length);
  times.vision_s = seconds(start);
  const x = new Float32Array([...tokens, ...sessions.host.embed(promptIds)]);
  const length = x.length / width;
  const also = ['first_layer', 'last_layer_in', 'last_layer'];
  start = performance.now();
  const prefix = await sessions.language({
    batch: 1, tokens: length, x, positions: Array.from({ length }, (_, i) => i), pastLengths: [0], past: null,
    causalFrom: null, want: [length - 1], also,
  }); // prettier-ignore
  times.prefill_s = seconds(start);
  const cache = prefixCache(sessions, { ...prefix, length }, 1, DECODE_STEPS);
  start = performance.now();
  const noise = new Float32Array(model.horizon * model.actionDim).map((_, i) => Math.sin(i));
  const actions = await denoise(sessions, noise, model.denoiseSteps, cache.prefixView());
  times.denoise_s = seconds(start);
  start = performance.now();
  cache.attach('text', length + DECODE_STEPS);
  const text = [prefix.next[0].ids[0]];
  for (let step = 0; step < DECODE_STEPS; step++) {
    const lengths = cache.batch().map(row => row.length);
    const { kv, next } = await runDecode(sessions, [text.at(-1)], lengths, cache.batchView());
    cache.append('text', kv, 0, 1);
    text.push(next[0].ids[0]);
  }
  times.decode_step_s = Number((seconds(start) / DECODE_STEPS).toFixed(2));
  if (![...actions].every(Number.isFinite)) throw new Error('the actions are not finite');
  const rows = values => ({ shape: [values.length / width, width], values });
  const keys = values => ({ shape: [length, headDim], values });
  writeSafetensors(
    trace,
    new Map([
      ['x', rows(x)],
      ...also.map(name => [name, rows(prefix.also[name])]),
      ...[0, layers - 1].flatMap(i => [[`k.${i}`, keys(prefix.kv.k[i])], [`v.${i}`, keys(prefix.kv.v[i])]]),
    ]),
  ); // prettier-ignore
  const peakMb = Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
  await sessions.release();
  return { ...times, prefix_tokens: length, text, peak_mb: Math.round(peakMb) };
}

const seconds = start => Number(((performance.now() - start) / 1000).toFixed(1));
fs.mkdirSync(o.dir, { recursive: true });
const work = fs.mkdtempSync(path.join(o.dir, 'oxygen-scale-'));
process.on('exit', () => fs.rmSync(work, { recursive: true, force: true }));
const under = name => path.join(work, name);

const result = { config: path.basename(o.config), precision: o.precision };
result.build_random_init = await build(under('random'), ['--random-init', o.config, '--seed', o.seed]);
fs.rmSync(under('random'), { recursive: true });
result.checkpoint = writeCheckpoint(under('checkpoint'));
result.build_checkpoint = await build(under('engine'), ['--checkpoint', under('checkpoint')]);
result.run = await runFrame(under('engine'), under('trace.safetensors'));
const check = [at('scripts/scale_layers.py'), under('checkpoint'), under('trace.safetensors')];
result.layers = JSON.parse(execFileSync(VENV_PYTHON, check, { encoding: 'utf8' }));
result.passed = Object.values(result.layers).every(error => error <= LIMITS[o.precision]);
console.log(JSON.stringify(result, null, 1));
process.exitCode = result.passed ? 0 : 1;
