/** Decode steps out of bursts: what is given is what single steps give, and no frame waits for a burst. In virtual time. */
import fc from 'fast-check';
import type { DecodeRow } from '../../src/core/ports';
import type { TokensPerFrame, Tunables } from '../../src/core/types';
import { burstSteps, findStep, MOST_STEPS, takeStep, type Burst } from '../../src/engine/burst';
import { auto, Bench, COSTS, fixed, tunables } from '../core/bench';
import { candidates, soloTokens } from '../core/fake-executor';
import { play, type Engine } from '../core/play';
import { COSTS as SCHEDULE_COSTS, schedules, TABLE } from '../core/schedule';
import { bursting, withUpload } from './bursting';

const BURSTING: Engine = {
  costs: { ...SCHEDULE_COSTS, uploadRow: 2 },
  table: withUpload(TABLE, 2),
  wrap: bursting,
};

it('holds all promises of the scheduler in 2,000 random schedules, whatever the bursts draw', () => {
  let [runs, steps, shared] = [0, 0, 0];
  fc.assert(
    fc.property(schedules, fc.nat(3), (s, misdraws) => {
      let draws = 0;
      const spoil = (b: Bench) =>
        (b.executor.misdraw = () => (misdraws === 1 && ++draws % 5 === 0 ? 7 : null));
      const decoded = play(s, spoil, BURSTING).executor.runs.filter(run => run.kind === 'decode');
      runs += decoded.length;
      steps += decoded.reduce((n, run) => n + run.steps, 0);
      shared += decoded.filter(run => run.steps > 1 && run.batch > 1).length;
    }),
    { numRuns: 2000 },
  );
  // they were worth something
  expect(steps / runs).toBeGreaterThan(1.2);
  expect(shared).toBeGreaterThan(100);
}, 120_000);

it('would notice a step of another row', () => {
  const swapped: Engine = {
    ...BURSTING,
    wrap: (fake, bench) => {
      const burst = fake.burst.bind(fake);
      fake.burst = call => burst({ ...call, rows: [...call.rows].reverse() });
      return bursting(fake, bench);
    },
  };
  const sampled = fc.check(
    fc.property(schedules, s => void play(s, undefined, swapped)),
    { numRuns: 300 },
  );
  // rows that draw otherwise than they should are found out by their tokens: nothing is wrong
  expect(sampled.failed).toBe(false);
  const wrong: Engine = {
    ...BURSTING,
    wrap: (fake, bench) => {
      const executor = bursting(fake, bench);
      return { ...executor, decode: (tokens, ...rest) => executor.decode([...tokens].reverse(), ...rest) };
    },
  };
  const fed = fc.check(
    fc.property(schedules, s => void play(s, undefined, wrong)),
    { numRuns: 1000 },
  );
  expect(fed.failed).toBe(true);
});

const UPLOAD = 6;

/** A long request with every chunk, so that there is always something to say. */
function talking(tokensPerFrame: TokensPerFrame, more: Partial<Tunables>, maxTokens = 30, rows = 4): Bench {
  const table = withUpload({ ...COSTS, vision: 0, decode: { 1: 10, 4: 10 } }, UPLOAD);
  const options = { tunables: tunables({ tokensPerFrame, ...more }) };
  const b = new Bench(options, { decode: 10, uploadRow: UPLOAD }, rows, { periodMs: 0 }, table, bursting);
  let asked = 0;
  b.onEvent = e => {
    if (e.type === 'chunk') b.ask(`r${asked++}`, { maxTokens });
  };
  return b;
}

const decodes = (b: Bench) => b.executor.runs.filter(run => run.kind === 'decode');
const CHUNK_MS = COSTS.prefill + COSTS.denoise;

it.each([1, 2, 3, 5, 8])('fixed k = %d: exactly k steps per frame, in one run', k => {
  const b = talking(fixed(k), {}, 12, 12).run(6000);
  const ends = b.of('frame-end').slice(1);
  expect(ends.length).toBeGreaterThan(8);
  expect(new Set(ends.map(f => f.decodeSteps))).toEqual(new Set([k]));
  // rows join before the steps of a frame, and one that ends in between leaves the others as they are
  expect(new Set(decodes(b).map(run => run.steps))).toEqual(new Set([k]));
  const frames = b.executor.runs.filter(run => run.kind === 'prefill').length;
  expect(decodes(b).length).toBeLessThanOrEqual(frames);
  for (const e of b.of('done').filter(d => d.reason === 'length'))
    expect(b.tokens(e.id)).toEqual(soloTokens(b.prompts.get(e.frameStampNs)!, [], 12));
});

it('more than a run holds: as many runs as it takes', () => {
  const b = talking(fixed(MOST_STEPS + 4), {}).run(6000);
  expect(new Set(b.of('frame-end').slice(1).map(f => f.decodeSteps))).toEqual(new Set([MOST_STEPS + 4]));
  expect(new Set(decodes(b).map(run => run.steps))).toEqual(new Set([MOST_STEPS, 4]));
}); // prettier-ignore

it.each([600, 640, 700])('auto: a burst ends before the frame is due, for a chunk that plays %d ms', executeMs => {
  const b = talking(auto(1), { executeMs }).run(9000);
  const chunks = b.of('chunk').map(c => c.atMs);
  // The robot never stands: each chunk comes out before the one before has been played.
  chunks.slice(2).forEach((at, i) => expect(at).toBeLessThanOrEqual(chunks[i + 1]! - CHUNK_MS + executeMs));
  // and no burst that fits is left out: less than a run of one step is left of the time
  const leftMs = chunks.slice(2).map((at, i) => chunks[i + 1]! - CHUNK_MS + executeMs - 0.05 * CHUNK_MS - at);
  for (const ms of leftMs.slice(1)) {
    expect(ms).toBeGreaterThanOrEqual(-1e-6);
    expect(ms).toBeLessThan(10 + 4 * UPLOAD);
  }
}); // prettier-ignore

it('auto: no burst begins when the upload alone would make the frame late; the least steps come in any case', () => {
  // one step would fit (10 ms of 12.5), but not with its upload (at least 6)
  const executeMs = 2.05 * CHUNK_MS + 12.5;
  const late = talking(auto(0), { executeMs }).run(5000);
  expect(decodes(late).filter(run => run.atMs > 2 * CHUNK_MS)).toEqual([]);
  const least = talking(auto(2), { executeMs }).run(5000);
  expect(new Set(least.of('frame-end').slice(2).map(f => f.decodeSteps))).toEqual(new Set([2]));
}); // prettier-ignore

it('steps that are there cost nothing: they are given also when no run would fit any more', () => {
  const b = talking(auto(1), { executeMs: 640 }).run(9000);
  const given = b.of('frame-end').reduce((n, f) => n + f.decodeSteps, 0);
  const computed = decodes(b).reduce((n, run) => n + run.steps, 0);
  // all but those of a text's end, and of the last frame
  expect(given).toBeGreaterThan(0.8 * computed);
});

it('one step at a time while a frame may come at any moment', () => {
  const slow = new Bench({}, { decode: 10 }, 4, { periodMs: 1000 }, withUpload({ ...COSTS, vision: 0, decode: { 1: 10 } }, 1), bursting);
  slow.at(300, () => slow.ask('a', { maxTokens: 30 }));
  slow.run(900);
  expect(slow.credit).toBe('starved');
  expect(decodes(slow).length).toBeGreaterThan(10);
  expect(new Set(decodes(slow).map(run => run.steps))).toEqual(new Set([1]));
}); // prettier-ignore

describe('the parts', () => {
  const [a, b, c] = [{}, {}, {}];
  const row = (text: object, left = 5): DecodeRow => ({
    text,
    left,
    sequence: 0,
    sampling: { temperature: 0, topK: 0, topP: 1, samplingSeed: 0 },
  });
  /** Rows a and b, two steps; a position is one number: 10·row + step. */
  const burst: Burst = {
    texts: [a, b],
    tokens: [1, 2],
    lengths: [4, 7],
    chosen: [
      [11, 21],
      [12, 22],
    ],
    next: [
      [candidates(11), candidates(21)],
      [candidates(12), candidates(22)],
    ],
    kv: { k: [Float32Array.of(0, 1, 10, 11)], v: [Float32Array.of(0, -1, -10, -11)] },
  };

  test('a step is found by text, length and token', () => {
    const find = (tokens: number[], lengths: number[], ...texts: object[]) =>
      findStep(burst, tokens, lengths, texts.map(t => row(t))); // prettier-ignore
    expect(find([1, 2], [4, 7], a, b)).toEqual([{ step: 0, row: 0 }, { step: 0, row: 1 }]); // prettier-ignore
    expect(find([11, 21], [5, 8], a, b)).toEqual([{ step: 1, row: 0 }, { step: 1, row: 1 }]); // prettier-ignore
    // b moved into the place of a, which ended
    expect(find([21], [8], b)).toEqual([{ step: 1, row: 1 }]);
    expect(find([21, 11], [8, 5], b, a)).toEqual([{ step: 1, row: 1 }, { step: 1, row: 0 }]); // prettier-ignore
    expect(find([11, 99], [5, 8], a, b)).toBeNull(); // another token was drawn
    expect(find([11, 21, 3], [5, 8, 4], a, b, c)).toBeNull(); // a row came
    expect(find([12, 22], [6, 9], a, b)).toBeNull(); // its end
    expect(find([1], [3], a)).toBeNull();
    expect(find([], [])).toBeNull();
  });

  test('what is taken is the rows’ own, in the order that was asked', () => {
    const { kv, next } = takeStep(burst, [{ step: 1, row: 1 }, { step: 1, row: 0 }], 1); // prettier-ignore
    expect([...kv.k[0]!]).toEqual([11, 1]);
    expect([...kv.v[0]!]).toEqual([-11, -1]);
    expect(next.map(n => n.ids[0])).toEqual([22, 12]);
  });

  test('how many steps', () => {
    const costs = { uploadMs: 8, stepMs: 2 };
    const steps = (least: number, untilMs: number, left = 99, c = costs) =>
      burstSteps([row(a, 3), row(b, left)], { steps: least, untilMs }, 100, c);
    expect(steps(1, 120)).toBe(6); // (20 - 8) / 2
    expect(steps(1, 109.9)).toBe(1);
    expect(steps(5, 110)).toBe(5);
    expect(steps(1, -Infinity)).toBe(1);
    expect(steps(Infinity, -Infinity)).toBe(MOST_STEPS);
    expect(steps(1, Infinity)).toBe(MOST_STEPS);
    expect(steps(Infinity, -Infinity, 4)).toBe(4); // the longest text needs no more
    expect(steps(2, 1e9, 99, { uploadMs: 0, stepMs: 0 })).toBe(2); // nothing is known of the time
  });
});
