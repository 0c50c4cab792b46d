/** The three modes in virtual time: what a frame costs, and that they say and do the same. */
import { MODES, type LanguageRequest, type Mode } from '../../src/core/types';
import { Bench, COSTS, fixed, standing, tunables } from './bench';

/** Requests that come with every frame. */
function played(mode: Mode, perFrame: readonly Partial<LanguageRequest>[], k = 5, ms = 8000): Bench {
  const b = new Bench({ mode, tunables: tunables({ tokensPerFrame: fixed(k) }) }, {}, 8, { periodMs: 0 });
  let frame = 0;
  b.onEvent = e => {
    if (e.type !== 'ask') return;
    perFrame.forEach((more, i) => b.ask(`${frame}-${i}`, more));
    frame++;
  };
  return b.run(ms);
}

const N = 7;
const { prefill, denoise, decode, seed } = COSTS;
const steps = (N - 1) * decode;

it.each<[Mode, string, Partial<LanguageRequest>[], number]>([
  ['isolated', 'one request', [{ maxTokens: N }], 2 * prefill + denoise + steps],
  ['isolated', 'two requests', [{ maxTokens: N }, { maxTokens: N }], 3 * prefill + denoise + 2 * steps],
  ['isolated', 'a seed', [{ maxTokens: N, seedIds: [4, 5] }], 2 * prefill + denoise + seed + steps],
  ['isolated', 'no request', [], prefill + denoise],
  ['shared', 'one request', [{ maxTokens: N }], prefill + denoise + steps],
  ['shared', 'two requests', [{ maxTokens: N }, { maxTokens: N }], prefill + denoise + 2 * steps],
  ['shared', 'no request', [], prefill + denoise],
  ['oxygen', 'one request', [{ maxTokens: N }], prefill + denoise + 5 * decode],
  ['oxygen', 'two requests', [{ maxTokens: N }, { maxTokens: N }], prefill + denoise + 5 * decode],
  ['oxygen', 'no request', [], prefill + denoise],
])('%s: a frame with %s takes its formula', (mode, _, requests, expected) => {
  const frames = played(mode, requests).frameMs();
  expect(frames.length).toBeGreaterThan(8);
  expect(new Set(frames)).toEqual(new Set([expected]));
});

it.each(MODES)('%s: the chunk comes out before any language', mode => {
  const b = played(mode, [{ maxTokens: N }, { maxTokens: N, seedIds: [9] }]);
  const begun = b.executor.runs.filter(
    (run, i, all) => run.kind === 'prefill' && all.findIndex(r => r.frame === run.frame) === i,
  );
  const chunks = b.of('chunk');
  expect(chunks.length).toBeGreaterThan(5);
  chunks.forEach((chunk, i) => expect(chunk.atMs - begun[i]!.atMs).toBe(prefill + denoise));
});

it('says and does the same in all modes', () => {
  const requests = [
    { maxTokens: 8 },
    { maxTokens: 5, seedIds: [41, 42] },
    { maxTokens: 6, seedIds: [43], temperature: 1.5, samplingSeed: 3 },
  ];
  const seen = MODES.map(mode => {
    const b = played(mode, requests, 4, 12_000);
    return {
      chunks: b.of('chunk').slice(0, 8).map(c => [c.frame.id, ...c.actions]), // prettier-ignore
      texts: Array.from({ length: 8 }, (_, frame) => requests.map((_r, i) => b.tokens(`${frame}-${i}`))),
      stamps: Array.from({ length: 8 }, (_, frame) => requests.map((_r, i) => b.end(`${frame}-${i}`)!.frameStampNs)), // prettier-ignore
      batch: Math.max(...b.of('frame-end').map(f => f.batch)),
    };
  });
  const [isolated, shared, oxygen] = seen.map(({ batch: _, ...rest }) => rest);
  expect(isolated!.texts[7]!.map(text => text.length)).toEqual([8, 5, 6]);
  expect(shared).toEqual(isolated);
  expect(oxygen).toEqual(isolated);
  // and it was not the same for want of batches
  expect(seen.map(s => s.batch)).toEqual([1, 1, 5]);
});

it.each(['isolated', 'shared'] as const)('%s: who comes later waits for the next frame', mode => {
  const b = new Bench({ mode }, {}, 4, { periodMs: 0 });
  b.at(0, () => b.ask('early', { maxTokens: 3 }));
  b.at(100, () => b.ask('late', { maxTokens: 3 }));
  b.run(3000);
  expect(b.end('early')!.frameStampNs).toBe(1n);
  expect(b.end('late')!.frameStampNs).toBe(2n);
});

it.each(['isolated', 'shared'] as const)('%s: a standing request belongs to the frame that asks it', mode => {
  const b = new Bench(
    {
      mode,
      tunables: tunables({
        standing: [standing('s', { every: { kind: 'frames', frames: 1 }, maxTokens: 2 })],
      }),
    },
    {},
    4,
    { periodMs: 0 },
  );
  b.run(3000);
  for (let i = 0; i < 4; i++) expect(b.end(`s/${i}`)!.frameStampNs).toBe(BigInt(i + 1));
});

describe.each(MODES)('%s: a request can be cancelled', mode => {
  const at: [string, number][] = [
    ['with its arrival', 0],
    ['while it waits', 100],
    ['during the prefill that it runs in isolated', 300],
    ['around its seed', 452],
    ['in the middle of its text', 475],
  ];
  it.each(at)('%s', (_, atMs) => {
    const b = new Bench({ mode }, {}, 2, { periodMs: 0 });
    b.at(0, () => b.ask('a', { maxTokens: 30, seedIds: [7] }));
    b.at(0, () => b.ask('b', { maxTokens: 4, seedIds: [8] }));
    b.at(atMs, () => b.post({ type: 'cancel', id: 'a' }));
    b.run(4000);
    expect(b.end('a')).toMatchObject({ reason: 'cancelled', sequence: b.tokens('a').length });
    expect(b.end('a')!.atMs).toBeLessThanOrEqual(atMs + 200);
    expect(b.end('b')).toMatchObject({ reason: 'length' });
    expect(b.cache.active).toBe(0);
  });
});
