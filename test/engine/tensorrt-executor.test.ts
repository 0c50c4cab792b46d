/** TensorRT's prefill and denoiser behind the port, on the CPU: what is whose, and that the scheduler sees no difference. */
import { firstValueFrom } from 'rxjs';
import { KvCache } from '../../src/core/kv-cache';
import type { Executor } from '../../src/core/ports';
import { RunCosts } from '../../src/core/run-costs';
import { dummyFrame } from '../../src/engine/deployment';
import { ModelSessions } from '../../src/engine/model-sessions';
import { OnnxExecutor } from '../../src/engine/onnx-executor';
import { TensorRtExecutor } from '../../src/engine/tensorrt-executor';
import type { TensorRtSessions } from '../../src/engine/tensorrt-sessions';
import { distance } from '../../src/verify/limits';
import { engineDir } from '../support/engines';
import { removeGraphs, tensorRtGraphs, tensorRtSessions } from '../support/tensorrt';

let cpu: ModelSessions;
let sessions: TensorRtSessions;
beforeAll(async () => {
  cpu = await ModelSessions.load(engineDir('tiny'), 1);
  sessions = await tensorRtSessions(tensorRtGraphs('tiny', 'float'), 'tiny');
});
afterAll(async () => {
  await cpu.release();
  await sessions.release();
  removeGraphs();
});

const options = (more: object = {}) => ({
  attention: 'bidirectional' as const,
  denoiseSteps: cpu.manifest.model.denoiseSteps,
  seed: 7n,
  ...more,
});

/** Prefill, denoise, a seed of three tokens and some decode steps of one frame. */
async function play(executor: Executor, cameras: number) {
  const frame = { id: 0, stampNs: 5n, epoch: 0, ...dummyFrame(cpu, cameras) };
  const { kv, length, next } = await firstValueFrom(executor.prefill(frame));
  const { layers, headDim } = cpu.manifest.model.language;
  const cache = new KvCache({ layers, headDim, maxRequests: 1, capacity: length + 16 });
  cache.commitPrefix({ frameId: 0, stampNs: 5n, epoch: 0, length, next }, kv);
  const actions = await firstValueFrom(executor.denoise(frame, cache.prefixView()));
  cache.attach('a', length + 16);
  const seed = await firstValueFrom(executor.seed([3, 4, 5], cache.rowView('a')));
  cache.append('a', seed.kv, 0, 3);
  // after each step; fed are other tokens than the best, as the toy model would say one word for ever
  const candidates = [next, seed.next];
  for (const token of [7, 19, 23, 5, 101, 44]) {
    const lengths = cache.batch().map(row => row.length);
    const run = await firstValueFrom(executor.decode([token], lengths, cache.batchView()));
    cache.append('a', run.kv, 0, 1);
    candidates.push(...run.next);
  }
  return {
    length,
    actions,
    best: candidates.map(c => c.ids[0]),
    logits: candidates.flatMap(c => Array.from(c.logits)),
  };
}

it.each([1, 3])('a frame of %d cameras and its text are those of the CPU executor', async cameras => {
  const language = new OnnxExecutor(cpu, options(), new RunCosts(null));
  const want = await play(language, cameras);
  const got = await play(new TensorRtExecutor(sessions, language, options(), new RunCosts(null)), cameras);
  expect(got.length).toBe(want.length);
  expect(got.best).toEqual(want.best);
  expect(new Set(want.best).size).toBeGreaterThanOrEqual(4);
  expect(distance(want.logits, got.logits).max).toBeLessThan(1e-4);
  expect(distance(want.actions, got.actions).max).toBeLessThan(1e-4);
});

it('causal attention inside the prompt reaches the graph', async () => {
  const language = new OnnxExecutor(cpu, options(), new RunCosts(null));
  const frame = { id: 0, stampNs: 5n, epoch: 0, ...dummyFrame(cpu, 1) };
  const keys = async (attention: 'causal' | 'bidirectional') => {
    const executor = new TensorRtExecutor(sessions, language, options({ attention }), new RunCosts(null));
    const { kv } = await firstValueFrom(executor.prefill(frame));
    return kv.k.at(-1) as Float32Array;
  };
  const [causal, bidirectional] = [await keys('causal'), await keys('bidirectional')];
  expect(causal.some((value, i) => Math.abs(value - (bidirectional[i] as number)) > 1e-3)).toBe(true);
});

it('tells the watchdog of its own runs, and the costs learn from them', async () => {
  const told: string[] = [];
  const monitor = {
    begin: (run: string) => void told.push(`begin ${run}`),
    end: (run: string) => void told.push(`end ${run}`),
  };
  const costs = new RunCosts(null);
  const nothing = () => {
    throw new Error('not asked');
  };
  const executor = new TensorRtExecutor(
    sessions,
    { seed: nothing, decode: nothing },
    options(),
    costs,
    monitor,
  );
  const frame = { id: 0, stampNs: 5n, epoch: 0, ...dummyFrame(cpu, 1) };
  const { kv, length } = await firstValueFrom(executor.prefill(frame));
  await firstValueFrom(executor.denoise(frame, { batch: 1, positions: length, ...kv }));
  expect(told).toEqual(['begin prefill', 'end prefill', 'begin denoise', 'end denoise']);
  expect(costs.expected('prefill')).toBeGreaterThan(0);
  expect(costs.expected('denoise')).toBeGreaterThan(0);
  expect(executor.isReady([1], [2], [])).toBe(false);
});

it('another number of Euler steps than the engine has is refused with the cure', () => {
  const language = new OnnxExecutor(cpu, options(), new RunCosts(null));
  const make = () =>
    new TensorRtExecutor(sessions, language, options({ denoiseSteps: 3 }), new RunCosts(null));
  expect(make).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  expect(make).toThrow(/denoise_steps is 3, but .* has 10 Euler steps built in; set denoise_steps to 10/);
});

it('noise of another size is refused', async () => {
  const { kv, length } = await sessions.prefill(dummyFrame(cpu, 1), false);
  const run = sessions.denoise(new Float32Array(3), { batch: 1, positions: length, ...kv });
  await expect(run).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});
