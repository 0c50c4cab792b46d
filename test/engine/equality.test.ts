/**
 * The equality promise on real sessions, in its conditions (one thread, packed weights): chunks are bit-equal and greedy
 * texts equal in all modes and at any batch size; and rows that find no memory take nothing from the others.
 */
import { parseArrivals } from '../../src/bench/arrivals';
import { runBlock, type BlockResult } from '../../src/bench/block';
import { compare } from '../../src/bench/equality';
import { Frames, type Block } from '../../src/bench/workload';
import { OxygenError } from '../../src/core/errors';
import { ModelSessions, type LanguageFeeds } from '../../src/engine/model-sessions';
import { engineDir } from '../support/engines';
import { fixed, HOOKS, SMALL_BLOCK } from './small-block';

const BLOCK: Block = { ...SMALL_BLOCK, tokens: 12, frames: 8 };
const SAME = { near_ties: 0, differing: 0, chunk_max_difference: 0 };

async function withEngine(name: Parameters<typeof engineDir>[0], use: (s: ModelSessions) => Promise<void>) {
  const sessions = await ModelSessions.load(engineDir(name), 1);
  try {
    await use(sessions);
  } finally {
    await sessions.release();
  }
}

const run = async (sessions: ModelSessions, block: Partial<Block>): Promise<BlockResult> => {
  const result = await runBlock(sessions, new Frames(sessions.manifest.model, 5), { ...BLOCK, ...block }, HOOKS);
  expect(result.failures).toEqual([]);
  return result;
}; // prettier-ignore

const UNIFORM = ['uniform:1'];
it.each([
  ['tiny', UNIFORM],
  ['odd', [...UNIFORM, 'bursty:5/4', 'random:3,12@0.5']],
  ['tiny-int8', UNIFORM],
  ['odd-int8', UNIFORM],
] as const)(
  '%s: the same chunks and texts in every mode and at every k, with %s',
  async (name, patterns) => {
    await withEngine(name, async sessions => {
      for (const arrivals of patterns.map(parseArrivals)) {
        const alone = await run(sessions, { mode: 'isolated', arrivals });
        expect(alone.requests.length).toBeGreaterThan(4);
        expect(alone.chunks.length).toBe(BLOCK.frames);
        const others: readonly Partial<Block>[] = [
          { mode: 'shared' },
          { tokensPerFrame: fixed(1) },
          { tokensPerFrame: fixed(3) },
          { tokensPerFrame: { kind: 'auto', minSteps: 1 } },
        ];
        for (const other of others)
          expect(compare([await run(sessions, { ...other, arrivals })], [alone])).toMatchObject(SAME);
      }
    });
  },
  120_000,
);

it('a text that parts and a chunk that differs by a bit are seen', async () => {
  await withEngine('tiny', async sessions => {
    const [a, b] = [await run(sessions, {}), await run(sessions, {})];
    const [chunk] = b.chunks;
    chunk![0] = chunk![0]! * (1 + 2 ** -22);
    const tokenIds = [...b.requests[0]!.tokenIds.slice(0, -1), -1];
    const verdict = compare([a], [{ ...b, requests: [{ ...b.requests[0]!, tokenIds }, ...b.requests.slice(1)] }]);
    expect(verdict).toMatchObject({ differing: 1 });
    expect(verdict.chunk_max_difference).toBeGreaterThan(0);
  });
}, 120_000); // prettier-ignore

it('no memory for a batch of more than two: rows end one by one, the others say what they say alone, every frame has its chunk', async () => {
  await withEngine('tiny', async sessions => {
    const language = sessions.language.bind(sessions);
    const alone = await run(sessions, { mode: 'isolated' });
    jest.spyOn(sessions, 'language').mockImplementation((f: LanguageFeeds) =>
      f.batch > 2
        ? Promise.reject(new OxygenError('OUT_OF_MEMORY', 'Failed to allocate memory for requested buffer'))
        : language(f),
    );
    const block = { ...BLOCK, tokensPerFrame: fixed(3) };
    const tight = await runBlock(sessions, new Frames(sessions.manifest.model, 5), block, HOOKS);
    expect(tight.chunks).toEqual(alone.chunks);
    const ended = tight.failures.filter(f => f.includes('out_of_memory'));
    expect(ended.length).toBeGreaterThan(1);
    expect(ended.length).toBe(tight.failures.length);
    const whole = tight.requests.filter(r => r.tokenIds.length === BLOCK.tokens);
    expect(whole.length).toBeGreaterThan(1);
    for (const { id, tokenIds } of tight.requests)
      expect(alone.requests.find(r => r.id === id)!.tokenIds.slice(0, tokenIds.length)).toEqual(tokenIds);
  });
}, 120_000); // prettier-ignore
