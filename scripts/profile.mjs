// Where a frame's time goes, operator by operator, by ONNX Runtime's profiler.
// Prints one table per run: vision, prefill, one denoise step, decode steps of 1, 8 and 30 rows.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { readCommandLine } from './setup/command-line.mjs';

const USAGE = `Usage: node scripts/profile.mjs ENGINE [THREADS]

Where a frame's time goes, operator by operator, as ONNX Runtime's profiler sees it. THREADS: all cores unless given.

  --help  this text`;

const { positionals } = readCommandLine(USAGE, { operands: [1, 2] });
const [engine, threads = String(availableParallelism())] = positionals;
const require = createRequire(import.meta.url);
const ort = require('onnxruntime-node');
const { ModelSessions } = require('../dist/engine/model-sessions.js');
const { denoise, runDecode, runPrefill } = require('../dist/engine/onnx-executor.js');
const { dummyFrame, prefixCache } = require('../dist/engine/deployment.js');

const REPEATS = 5;
const WARM_UP = 2;
const ROWS = [1, 8, 30];
const folder = mkdtempSync(join(tmpdir(), 'oxygen-profile-'));

/** Loads the engine with the profiler on, runs `work` and returns the events of the graph. */
async function profiled(graph, work) {
  const create = ort.InferenceSession.create;
  const sessions = {};
  ort.InferenceSession.create = async (path, options) => {
    const name = basename(path, '.onnx');
    const profileFilePrefix = join(folder, name);
    sessions[name] = await create.call(ort.InferenceSession, path, {
      ...options,
      enableProfiling: true,
      profileFilePrefix,
    });
    return sessions[name];
  };
  const engineSessions = await ModelSessions.load(engine, Number(threads));
  ort.InferenceSession.create = create;
  const runs = await work(engineSessions);
  sessions[graph].endProfiling();
  const [file] = readdirSync(folder).filter(name => name.startsWith(graph));
  const events = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  await engineSessions.release();
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
  return { events, runs };
}

/** Milliseconds per run and operator over the last `runs` runs. */
function byOperator({ events, runs }) {
  const last = events.filter(e => e.name === 'model_run').slice(-runs);
  const total = last.reduce((ms, e) => ms + e.dur, 0) / runs / 1000;
  const operators = new Map();
  for (const e of events) {
    // an If is what its branch is
    if (e.args?.op_name === 'If') continue;
    if (e.cat !== 'Node' || !e.name.endsWith('_kernel_time') || e.ts < last[0].ts) continue;
    const { ms, calls } = operators.get(e.args.op_name) ?? { ms: 0, calls: 0 };
    operators.set(e.args.op_name, { ms: ms + e.dur / runs / 1000, calls: calls + 1 / runs });
  }
  return { total, operators: [...operators].sort(([, a], [, b]) => b.ms - a.ms) };
}

function print(what, { total, operators }) {
  console.log(`\n${what}: ${total.toFixed(2)} ms per run`);
  for (const [name, { ms, calls }] of operators.slice(0, 12)) {
    const share = ((100 * ms) / total).toFixed(1);
    console.log(
      `  ${name.padEnd(24)} ${ms.toFixed(3).padStart(9)} ms ${share.padStart(5)} %  ${Math.round(calls)} calls`,
    );
  }
}

const prefilled = async sessions => {
  const prefix = await runPrefill(
    sessions,
    dummyFrame(sessions, sessions.manifest.model.cameraSlots.length),
    false,
  );
  return { prefix, cache: prefixCache(sessions, prefix, Math.max(...ROWS), 32) };
};

try {
  print(
    'vision',
    byOperator(
      await profiled('vision', async s => {
        const { images, cameras } = dummyFrame(s, s.manifest.model.cameraSlots.length);
        for (let i = 0; i < WARM_UP + REPEATS; i++) await s.vision(images, cameras.length);
        return REPEATS;
      }),
    ),
  );
  print(
    'prefill',
    byOperator(
      await profiled('language', async s => {
        for (let i = 0; i < WARM_UP + REPEATS; i++) await prefilled(s);
        return REPEATS;
      }),
    ),
  );
  print(
    'denoise step',
    byOperator(
      await profiled('expert', async s => {
        const { cache } = await prefilled(s);
        const { horizon, actionDim, denoiseSteps } = s.manifest.model;
        const noise = new Float32Array(horizon * actionDim);
        for (let i = 0; i < WARM_UP + REPEATS; i++) await denoise(s, noise, denoiseSteps, cache.prefixView());
        return REPEATS * denoiseSteps;
      }),
    ),
  );
  for (const rows of ROWS) {
    print(
      `decode step of ${rows} rows`,
      byOperator(
        await profiled('language', async s => {
          const { prefix, cache } = await prefilled(s);
          for (let row = 0; row < rows; row++) cache.attach(String(row), prefix.length + 32);
          const tokens = new Array(rows).fill(s.manifest.special.begin);
          const lengths = new Array(rows).fill(prefix.length);
          for (let i = 0; i < WARM_UP + 4 * REPEATS; i++)
            await runDecode(s, tokens, lengths, cache.batchView());
          return 4 * REPEATS;
        }),
      ),
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
