/** `oxygen bench`: the paper's workloads in all modes, as a table, as JSON and as a report. */
import { availableParallelism } from 'node:os';
import { longest, parseArrivals } from '../bench/arrivals';
import { realFolder } from '../bench/memory';
import { renderReport } from '../bench/report';
import { BENCH_MODES, type BenchMode, type BenchResult } from '../bench/result';
import type { BenchSettings } from '../bench/plan';
import { runBench as run } from '../bench/run';
import { SWEEPS } from '../bench/sweep';
import { printed } from '../bench/table';
import { OxygenError } from '../core/errors';
import { longestPrefix } from '../model/config';
import { readManifest } from '../model/manifest';
import { allWritten, beginsWith, HTML, TextResult } from '../result-file';
import { checkOutputs, choice, integer, parseOptions, required, tokensPerFrame, type Options } from './args';
import { Progress } from './progress';

const OPTIONS = {
  engine: { type: 'string', value: 'DIR', help: 'the engine folder' },
  mode: { type: 'string', value: 'MODE', help: 'all (default), isolated, parallel, shared or oxygen' },
  tokens: { type: 'string', value: 'N', help: 'tokens per language request (default 20)' },
  'tokens-per-frame': { type: 'string', value: 'K', help: 'decode steps per frame, or auto (default 5)' },
  'denoise-steps': { type: 'string', value: 'S', help: "Euler steps per chunk (default: the model's)" },
  frames: { type: 'string', value: 'F', help: 'counted frames per mode, all repeats together (default 20)' },
  repeats: { type: 'string', value: 'R', help: 'repeats, in which the modes take turns (default 3)' },
  threads: { type: 'string', value: 'T', help: 'intra-op threads (default: all cores)' },
  'spin-us': {
    type: 'string',
    value: 'US',
    help: 'how long threads wait awake for the next operator (default 0, as the node)',
  },
  arrivals: {
    type: 'string',
    value: 'PATTERN',
    help: 'uniform:1 (default), uniform:0.5, poisson:1.5, bursty:4/8, random:5,20@0.5 …',
  },
  'execute-ms': {
    type: 'string',
    value: 'MS',
    help: 'for auto: how long a chunk plays (default: its steps at 30 Hz)',
  },
  seed: { type: 'string', value: 'N', help: 'seed of pictures, prompts, noise and arrivals (default 1)' },
  sweep: { type: 'string', value: 'SWEEP', help: "none, quick (default) or full (the paper's grid)" },
  json: { type: 'string', value: 'FILE', help: 'also write all figures as JSON' },
  html: { type: 'string', value: 'FILE', help: 'also write a report with figures' },
} as const;

export type BenchOptions = Options<typeof OPTIONS>;

const ACTION_RATE_HZ = 30;
const MAX_THREADS = 1024;
/** How each of our files of JSON begins: another is not replaced. */
const BENCH_JSON = beginsWith(Buffer.from('{\n "engine": {'));
/** The engine's own limit is lower. */
const MAX_TOKENS = 100_000;

export async function runBench(args: string[]): Promise<number> {
  const o = parseOptions('bench', OPTIONS, args);
  if (!o) return 0;
  const settings = benchSettings(o);
  // A long run: what cannot be written in the end is said before it begins.
  const json = o.json === undefined ? null : await TextResult.check(o.json, BENCH_JSON);
  const html = o.html === undefined ? null : await TextResult.check(o.html, HTML);
  const progress = new Progress('bench');
  let result: BenchResult;
  try {
    result = await run(settings, { progress: (done, total, what) => progress.update(done, total, what) });
  } finally {
    progress.end();
  }
  console.log(printed(result).join('\n'));
  await allWritten([json?.write(`${JSON.stringify(result, null, 1)}\n`), html?.write(renderReport(result))]);
  return exitCode(result);
}

/** Every option, checked before anything is loaded. Throws USAGE with the cure, ENGINE_* for the engine's folder. */
export function benchSettings(o: BenchOptions): BenchSettings {
  const engineDir = required('bench', 'engine', o.engine);
  checkOutputs(null, { json: o.json, html: o.html });
  const mode = choice('mode', o.mode, ['all', ...BENCH_MODES], 'all');
  const tokens = integer('tokens', o.tokens, 20, 1, MAX_TOKENS);
  const arrivals = o.arrivals ?? 'uniform:1';
  const wanted = {
    modes: mode === 'all' ? BENCH_MODES : [mode satisfies BenchMode],
    tokens,
    tokensPerFrame: tokensPerFrame(o['tokens-per-frame'], 5),
    frames: integer('frames', o.frames, 20, 1, 100_000),
    repeats: integer('repeats', o.repeats, 3, 1, 1000),
    threads: integer('threads', o.threads, availableParallelism(), 1, MAX_THREADS),
    spinUs: integer('spin-us', o['spin-us'], 0, 0, 1_000_000),
    arrivals,
    seed: integer('seed', o.seed, 1, 0, 2 ** 31 - 1),
    sweep: choice('sweep', o.sweep, SWEEPS, 'quick'),
  };
  const length = longest(parseArrivals(arrivals), tokens);
  const manifest = readManifest(engineDir);
  const room = manifest.maxPositions - longestPrefix(manifest.model);
  if (length > room) {
    throw new OxygenError(
      'USAGE',
      `requests of ${length} tokens do not fit: this engine has room for ${room} after its prefix of ` +
        `${longestPrefix(manifest.model)}; lower --tokens`,
    );
  }
  const { horizon, denoiseSteps } = manifest.model;
  return {
    ...wanted,
    engineDir: realFolder(engineDir),
    manifest,
    denoiseSteps: integer('denoise-steps', o['denoise-steps'], denoiseSteps, 1, 100),
    executeMs: integer(
      'execute-ms',
      o['execute-ms'],
      Math.round((1000 * horizon) / ACTION_RATE_HZ),
      1,
      60_000,
    ),
  };
}

/** With one thread the promise is exact: a text or a chunk that parts is a fault. */
function exitCode({ threads, modes }: BenchResult): number {
  const all = Object.values(modes);
  const parted = all.some(m => m.near_ties + m.differing > 0) || new Set(all.map(m => m.chunk_hash)).size > 1;
  return threads === 1 && parted ? 1 : 0;
}
