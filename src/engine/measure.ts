/** Measures an engine's stage costs on this machine, for engine.json. */
import type { StageCosts } from '../model/manifest';
import { dummyFrame, prefixCache } from './deployment';
import { ModelSessions } from './model-sessions';
import { runDecode, runPrefill, runSeed } from './onnx-executor';

const REPEATS = 3;
const BATCHES = [1, 4, 8];
const SEED_TOKENS = 8;

export async function measureCosts(dir: string, threads: number): Promise<StageCosts> {
  const sessions = await ModelSessions.load(dir, threads);
  try {
    return await measure(sessions, threads);
  } finally {
    await sessions.release();
  }
}

async function measure(sessions: ModelSessions, threads: number): Promise<StageCosts> {
  const { model, special } = sessions.manifest;
  const frame = dummyFrame(sessions, model.cameraSlots.length);
  const vision = await median(() => sessions.vision(frame.images, frame.cameras.length));
  const prefill = await runPrefill(sessions, frame, false);
  const { length } = prefill;
  const whole = await median(() => runPrefill(sessions, frame, false));
  const maxBatch = Math.max(...BATCHES);
  const cache = prefixCache(sessions, prefill, maxBatch, SEED_TOKENS);
  const prefix = cache.prefixView();
  const noise = new Float32Array(model.horizon * model.actionDim);
  const velocity = sessions.expert(prefix, model.denoiseSteps);
  const denoiseStep = await median(() => velocity(noise, 0));
  const seed = await median(() =>
    runSeed(sessions, new Array<number>(SEED_TOKENS).fill(special.begin), prefix),
  );
  const decode: Record<string, number> = {};
  for (let b = 1; b <= maxBatch; b++) {
    cache.attach(String(b), length + SEED_TOKENS);
    if (!BATCHES.includes(b)) continue;
    const [tokens, lengths] = [new Array<number>(b).fill(special.begin), new Array<number>(b).fill(length)];
    decode[b] = await median(() => runDecode(sessions, tokens, lengths, cache.batchView()));
  }
  return { vision, prefill: whole - vision, denoiseStep, seed, decode, threads };
}

async function median(run: () => Promise<unknown>): Promise<number> {
  await run();
  const times: number[] = [];
  for (let i = 0; i < REPEATS; i++) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[REPEATS >> 1] as number;
}
