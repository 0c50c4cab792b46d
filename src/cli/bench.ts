/** `oxygen bench`: frame time, language rate and batch with one new language request per frame. */
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { runWorkload, type Workload } from '../bench';
import { OxygenError } from '../core/errors';
import { ModelSessions } from '../engine/model-sessions';
import { choice, integer, parseOptions, required } from './args';
import { Progress } from './progress';

const OPTIONS = {
  engine: { type: 'string', value: 'DIR', help: 'the engine folder' },
  mode: { type: 'string', value: 'oxygen', help: 'how the tasks share the engine (default oxygen)' },
  tokens: { type: 'string', value: 'N', help: 'tokens per language request (default 20)' },
  'tokens-per-frame': { type: 'string', value: 'K', help: 'decode steps per frame (default 5)' },
  frames: { type: 'string', value: 'F', help: 'measured frames, after a warm-up of N/K + 1 (default 20)' },
  threads: { type: 'string', value: 'T', help: 'intra-op threads (default: all cores)' },
  json: { type: 'string', value: 'FILE', help: 'also write the figures as JSON' },
} as const;

export async function runBench(args: string[]): Promise<number> {
  const o = parseOptions('bench', OPTIONS, args);
  if (!o) return 0;
  const mode = choice('mode', o.mode, ['oxygen'], 'oxygen');
  const tokens = integer('tokens', o.tokens, 20, 1, 1000);
  const tokensPerFrame = integer('tokens-per-frame', o['tokens-per-frame'], 5, 1, 1000);
  const threads = integer('threads', o.threads, availableParallelism(), 1, 1024);
  const workload: Workload = {
    tokens,
    tokensPerFrame,
    frames: integer('frames', o.frames, 20, 1, 100_000),
    warmUpFrames: Math.ceil(tokens / tokensPerFrame) + 1,
  };
  const sessions = await ModelSessions.load(required('bench', 'engine', o.engine), threads);
  const progress = new Progress('bench');
  try {
    const r = await runWorkload(sessions, workload, (done, total) => progress.update(done, total, mode));
    progress.end();
    console.log(
      `engine ${sessions.manifest.name} (${sessions.manifest.precision}), ${threads} threads, mode ${mode}, N ${tokens}, k ${tokensPerFrame}`,
    );
    console.log(
      `frame ${r.frameMsMedian.toFixed(1)} ms median, ${r.frameMsP95.toFixed(1)} ms p95 over ${r.frames} frames`,
    );
    console.log(
      `chunk out ${r.firstActionMsMedian.toFixed(1)} ms after the frame's start; replan ${r.replanHz.toFixed(2)} Hz`,
    );
    console.log(`language ${r.tokensPerSecond.toFixed(1)} tokens/s, batch ${r.batchMean.toFixed(2)}`);
    if (o.json !== undefined) {
      const figures = {
        frame_ms_median: r.frameMsMedian,
        frame_ms_p95: r.frameMsP95,
        first_action_ms_median: r.firstActionMsMedian,
        replan_hz: r.replanHz,
        action_hz: r.replanHz * sessions.manifest.model.horizon,
        tokens_per_s: r.tokensPerSecond,
        batch_mean: r.batchMean,
      };
      writeFileSync(
        o.json,
        `${JSON.stringify({ threads, workload, modes: { [mode]: figures } }, null, 1)}\n`,
      );
    }
    if (r.failures.length > 0)
      throw new OxygenError('RUN_FAILED', `${r.failures.length} runs failed: ${r.failures[0]}`);
    return 0;
  } finally {
    progress.end();
    await sessions.release();
  }
}
