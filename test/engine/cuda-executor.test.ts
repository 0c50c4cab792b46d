/** The CUDA executor on its real graphs, on the CPU: all modes and burst lengths agree; memory that runs out; costs that are measured. */
import { firstValueFrom } from 'rxjs';
import { parseArrivals } from '../../src/bench/arrivals';
import { runBlock, type BlockResult } from '../../src/bench/block';
import { compare } from '../../src/bench/equality';
import { Frames, type Block } from '../../src/bench/workload';
import { OxygenError } from '../../src/core/errors';
import { RunCosts, type ModelRun } from '../../src/core/run-costs';
import { sample } from '../../src/core/sampler';
import { CudaExecutor, runForced } from '../../src/engine/cuda-executor';
import type { DecodeFeeds } from '../../src/engine/cuda-feeds';
import { CudaSessions } from '../../src/engine/cuda-sessions';
import { dummyFrame, prefixCache } from '../../src/engine/deployment';
import { warmUp } from '../../src/engine/warm-up';
import { engineDir } from '../support/engines';
import { fixed, HOOKS, SMALL_BLOCK } from './small-block';

const BLOCK: Block = { ...SMALL_BLOCK, tokens: 9, frames: 5 };
const OPTIONS = { attention: 'bidirectional', denoiseSteps: 3, seed: 1n } as const;

let sessions: CudaSessions;
beforeAll(async () => (sessions = await CudaSessions.load(engineDir('tiny-cuda'), 1, 0, 'cpu')));
afterEach(() => jest.restoreAllMocks());
afterAll(() => sessions.release());

const run = (block: Partial<Block>): Promise<BlockResult> =>
  runBlock(sessions, new Frames(sessions.manifest.model, 5), { ...BLOCK, ...block }, HOOKS);

const frame = () => ({ id: 0, stampNs: 7n, epoch: 0, ...dummyFrame(sessions, 2) });

it('says the same texts and makes the same chunks in every mode, at every k and with every arrival', async () => {
  for (const arrivals of ['uniform:1', 'random:3,12@0.5'].map(parseArrivals)) {
    const alone = await run({ mode: 'isolated', arrivals });
    expect(alone.failures).toEqual([]);
    expect(alone.requests.length).toBeGreaterThan(4);
    for (const other of [{ mode: 'shared' }, { tokensPerFrame: fixed(1) }, { tokensPerFrame: fixed(7) }, { tokensPerFrame: { kind: 'auto', minSteps: 1 } }] as Partial<Block>[]) {
      const found = await run({ ...other, arrivals });
      expect(found.failures).toEqual([]);
      expect(compare([found], [alone])).toMatchObject({ differing: 0, chunk_max_difference: 0 });
    }
  }
}, 60_000); // prettier-ignore

it('decodes in bursts: fewer runs than steps, and exactly k steps per frame', async () => {
  const decode = jest.spyOn(sessions, 'decode');
  const { frames } = await run({ tokensPerFrame: fixed(4), tokens: 13 });
  expect(new Set(frames.slice(1).map(f => f.decodeSteps))).toEqual(new Set([4]));
  const steps = decode.mock.calls.map(([f]) => f.steps);
  // when no frames come any more, the rest is decoded one by one
  expect(new Set(steps.filter(n => n > 1))).toEqual(new Set([4]));
  expect(steps.filter(n => n === 4).length).toBeGreaterThanOrEqual(BLOCK.frames);
});

it('no memory for more than two rows: rows end one by one, the others say what they say alone, every frame has its chunk', async () => {
  const alone = await run({ mode: 'isolated' });
  const decode = sessions.decode.bind(sessions);
  jest.spyOn(sessions, 'decode').mockImplementation((f: DecodeFeeds) =>
    f.tokens.length > 2
      ? Promise.reject(new OxygenError('OUT_OF_MEMORY', 'Failed to allocate memory for requested buffer'))
      : decode(f),
  );
  const tight = await run({});
  expect(tight.chunks).toEqual(alone.chunks);
  expect(tight.failures.length).toBeGreaterThan(1);
  expect(tight.failures.every(f => f.includes('out_of_memory'))).toBe(true);
  const whole = tight.requests.filter(r => r.tokenIds.length === BLOCK.tokens);
  expect(whole.length).toBeGreaterThan(1);
  for (const { id, tokenIds } of whole)
    expect(tokenIds).toEqual(alone.requests.find(r => r.id === id)!.tokenIds);
}); // prettier-ignore

it('the actions of a frame come with its prefill; for another frame there are none', async () => {
  const runs: ModelRun[] = [];
  const monitor = { begin: (kind: ModelRun) => runs.push(kind), end: () => undefined };
  const executor = new CudaExecutor(sessions, OPTIONS, new RunCosts(null), monitor);
  const first = frame();
  const { length } = await firstValueFrom(executor.prefill(first));
  expect(length).toBe(first.promptIds.length + 2 * (sessions.manifest.model.vision.imageHeight / sessions.manifest.model.vision.patch) ** 2);
  const actions = await firstValueFrom(executor.denoise(first));
  expect(actions.length).toBe(sessions.manifest.model.horizon * sessions.manifest.model.actionDim);
  expect(actions.every(Number.isFinite)).toBe(true);
  expect(runs).toEqual(['prefill']);
  await expect(firstValueFrom(executor.denoise(frame()))).rejects.toMatchObject({ code: 'INTERNAL' });
}); // prettier-ignore

it('a seed is a run of forced steps: what one run gives is what its tokens give one by one', async () => {
  const { model, special } = sessions.manifest;
  const noise = new Float32Array(model.horizon * model.actionDim);
  const prefix = await sessions.frame({ ...frame(), causal: false, noise, steps: 1 });
  const ids = [special.begin, 7, 30, 11, 5];
  const cache = prefixCache(sessions, { ...prefix, next: [prefix.next] }, 1, ids.length);
  const together = await runForced(sessions, ids, cache.prefixView());
  cache.attach('a', cache.shape.capacity);
  for (const [i, id] of ids.entries()) {
    const { kv, next } = await runForced(sessions, [id], cache.rowView('a'));
    expect(next.ids[0]).toBe(together.all[i]!.ids[0]);
    expect(Math.abs(next.logits[0]! - together.all[i]!.logits[0]!)).toBeLessThan(0.01);
    cache.append('a', kv, 0, 1);
  }
  expect(together.next).toEqual(together.all.at(-1));
});

it('the graph draws what the host draws from the same candidates', async () => {
  const { model } = sessions.manifest;
  const noise = new Float32Array(model.horizon * model.actionDim);
  const prefix = await sessions.frame({ ...frame(), causal: false, noise, steps: 1 });
  const past = { batch: 1, positions: prefix.length, ...prefix.kv };
  let other = 0;
  for (let samplingSeed = 0; samplingSeed < 8; samplingSeed++) {
    const sampling = { temperature: 1.5, topK: samplingSeed % 2 === 0 ? 0 : 5, topP: samplingSeed < 4 ? 1 : 0.8, samplingSeed };
    const { chosen, next } = await sessions.decode({
      tokens: [prefix.next.ids[0]!],
      lengths: [prefix.length],
      past,
      steps: 6,
      draws: [{ sampling, sequence: 3 }],
    });
    next.forEach(([row], step) => expect(chosen[step]).toEqual([sample(row!, sampling, 3 + step)]));
    other += next.filter(([row], step) => chosen[step]![0] !== row!.ids[0]).length;
  }
  expect(other).toBeGreaterThan(10);
}); // prettier-ignore

it('warm-up measures what the plan has to know: a frame, a seed, a step and the upload of each batch size', async () => {
  const costs = new RunCosts(null);
  await warmUp(sessions, { cameras: 2, denoiseSteps: 3, shape: { maxRequests: 4, capacity: 120 } }, costs);
  expect(costs.expected('prefill')).toBeGreaterThan(0);
  expect(costs.expected('seed')).toBeGreaterThan(0);
  expect(costs.expected('denoise') + costs.expected('vision')).toBe(0);
  for (const batch of [1, 4])
    expect(costs.expectedRun('decode', { batch, steps: 2 })).toBeGreaterThan(0);
  await warmUp(sessions, { cameras: 1, denoiseSteps: 3, shape: { maxRequests: 1, capacity: 120 } }, null);
}); // prettier-ignore

it.each([
  ['noise of another size', () => sessions.frame({ ...frame(), causal: false, noise: new Float32Array(3), steps: 1 }), 'CONFIG_INVALID', /noise has 3 values/],
  ['an engine for the CPU', () => CudaSessions.load(engineDir('tiny'), 1, 0, 'cpu'), 'ENGINE_INVALID', /has no graphs for CUDA/],
])('%s is refused', async (_, attempt, code, message) => {
  await expect(attempt()).rejects.toMatchObject({ code, message: expect.stringMatching(message) as string });
}); // prettier-ignore
