/** `auto`: as many decode steps as the playing chunk leaves time for. Checked against the arithmetic, in virtual time. */
import type { Tunables } from '../../src/core/types';
import { auto, Bench, COSTS, tunables } from './bench';

const CHUNK_MS = COSTS.prefill + COSTS.denoise;

/** A long request with every chunk, so that there is always something to say. */
function talking(decode: number, more: Partial<Tunables>): Bench {
  const table = { ...COSTS, vision: 0, decode: { 1: decode } };
  const b = new Bench(
    { tunables: tunables({ tokensPerFrame: auto(2), ...more }) },
    { decode },
    4,
    { periodMs: 0 },
    table,
  );
  let asked = 0;
  b.onEvent = e => {
    if (e.type === 'chunk') b.ask(`r${asked++}`, { maxTokens: 30 });
  };
  return b.run(8000);
}

const stepsOf = (b: Bench) => b.of('frame-end').slice(1).map(f => f.decodeSteps); // prettier-ignore

it.each([
  // (execute - 5 % of a chunk's cost - twice a chunk's cost) / step: 187.5 and 87.5 ms are left
  [10, 700, 18],
  [25, 700, 7],
  [10, 600, 8],
  [25, 600, 3],
])('a step of %d ms and a chunk that plays %d ms: k = %d', (decode, executeMs, k) => {
  expect(Math.floor((executeMs - 2.05 * CHUNK_MS) / decode)).toBe(k);
  const b = talking(decode, { executeMs });
  expect(new Set(stepsOf(b))).toEqual(new Set([k]));
  expect(new Set(b.frameMs().slice(1))).toEqual(new Set([CHUNK_MS + k * decode]));
  // The robot never stands: each chunk comes out before the one before has been played.
  const chunks = b.of('chunk').map(c => c.atMs);
  chunks.slice(2).forEach((at, i) => expect(at).toBeLessThanOrEqual(chunks[i + 1]! - CHUNK_MS + executeMs));
});

it('the first frame begins at once, and the first chunk plays from when it came out', () => {
  const b = talking(10, { executeMs: 500 });
  expect(b.executor.runs[0]).toMatchObject({ kind: 'prefill', atMs: 0 });
  // 500 - 262.5 ms; later chunks play from the begin of their frame, and nothing is left but the least steps
  expect(b.of('frame-end').map(f => f.decodeSteps).slice(0, 3)).toEqual([23, 2, 2]); // prettier-ignore
});

it.each([0, 100, 400])('a model too slow for a chunk of %d ms gives the least steps', executeMs => {
  expect(new Set(stepsOf(talking(10, { executeMs })))).toEqual(new Set([2]));
});

it('asks at once when nobody speaks', () => {
  const b = new Bench({ tunables: tunables({ tokensPerFrame: auto(2), executeMs: 5000 }) }, {}, 4, { periodMs: 0 }); // prettier-ignore
  expect(new Set(b.run(4000).frameMs())).toEqual(new Set([CHUNK_MS]));
});

it('keeps to replan_rate_hz', () => {
  const capped = { replanRateHz: 2 };
  for (const executeMs of [0, 600]) {
    const b = talking(10, { executeMs, ...capped });
    expect(new Set(b.frameMs().slice(1))).toEqual(new Set([500]));
    expect(new Set(stepsOf(b))).toEqual(new Set([25]));
  }
  // A chunk that plays longer than the cap's period decides.
  expect(new Set(stepsOf(talking(10, { executeMs: 800, ...capped })))).toEqual(new Set([28]));
});

it('asks earlier by the time that a frame takes to come', () => {
  const table = { ...COSTS, vision: 0, decode: { 1: 10 } };
  const b = new Bench(
    { tunables: tunables({ tokensPerFrame: auto(2), executeMs: 700 }) },
    {},
    4,
    { periodMs: 0, latencyMs: 40 },
    table,
  );
  let asked = 0;
  b.onEvent = e => {
    if (e.type === 'chunk') b.ask(`r${asked++}`, { maxTokens: 30 });
  };
  b.run(8000);
  expect(b.costs.expected('ask')).toBe(40);
  expect(new Set(stepsOf(b))).toEqual(new Set([Math.floor((700 - CHUNK_MS - 1.05 * (CHUNK_MS + 40)) / 10)]));
});

it('after a reset the next frame begins at once, and its chunk plays from when it came out', () => {
  const table = { ...COSTS, vision: 0, decode: { 1: 10 } };
  const b = new Bench({ tunables: tunables({ tokensPerFrame: auto(2), executeMs: 500 }) }, {}, 4, { periodMs: 0 }, table); // prettier-ignore
  b.at(0, () => b.ask('a', { maxTokens: 30, keepOnInstruction: true }));
  b.at(295, () => {
    b.epoch = 1;
    b.post({ type: 'epoch', epoch: 1, endAll: true });
    b.ask('b', { maxTokens: 30 });
  });
  b.run(1500);
  const second = b.executor.runs.filter(run => run.kind === 'prefill')[1]!;
  // the step that was on when it came ends at 300
  expect(second.atMs).toBe(300);
  // 500 - 262.5 ms, as for the very first chunk
  expect(b.of('frame-end').map(f => f.decodeSteps).slice(0, 3)).toEqual([5, 23, 2]); // prettier-ignore
});
