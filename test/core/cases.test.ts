/** Known failures of other systems: no memory (O-21), positions (O-22), end of sequence (O-23), rows and ids (O-24). */
import { OxygenError } from '../../src/core/errors';
import { Bench, fixed, standing, tunables } from './bench';
import { hash, soloTokens, type Run } from './fake-executor';

const noMemory = () =>
  new OxygenError('OUT_OF_MEMORY', 'Failed to allocate memory for requested buffer of size 1048576');

describe('O-21 out of memory', () => {
  /** Decode steps for which `fails` holds find no memory. */
  function starving(b: Bench, fails: (nthStep: number, batch: number) => boolean): Bench {
    let step = 0;
    b.executor.tamper = (run, token, row) => {
      if (run.kind === 'decode' && row === 0 && fails(step++, run.batch)) throw noMemory();
      return token;
    };
    return b;
  }
  const RATE = [250, 550, 850, 1150, 1450, 1750];
  const chunks = (b: Bench) => b.of('chunk').map(c => c.atMs).slice(0, RATE.length); // prettier-ignore

  it('once: the youngest request ends, the others go on in the smaller batch, actions keep their rate', () => {
    const b = starving(new Bench({}, {}, 4, { periodMs: 0 }), step => step === 7);
    b.at(0, () => b.ask('old', { maxTokens: 30 }));
    b.at(0, () => b.ask('older', { maxTokens: 28, priority: 1 }));
    b.at(300, () => b.ask('young', { maxTokens: 30 }));
    b.run(2100);
    expect(b.end('young')).toMatchObject({ reason: 'out_of_memory', error: { code: 'OUT_OF_MEMORY' } });
    expect(b.tokens('old')).toEqual(soloTokens([2, 100], [], 30));
    expect(b.tokens('older')).toEqual(soloTokens([2, 100], [], 28));
    expect(b.of('language-off')).toEqual([]);
    expect(chunks(b)).toEqual(RATE);
  });

  it('above a batch of two: it shrinks to what fits', () => {
    const b = starving(new Bench({}, {}, 4, { periodMs: 0 }), (_, batch) => batch > 2);
    for (const id of ['a', 'b', 'c', 'd']) b.at(0, () => b.ask(id, { maxTokens: 28 }));
    b.run(2100);
    expect(['a', 'b', 'c', 'd'].map(id => b.end(id)!.reason)).toEqual(['length', 'length', 'out_of_memory', 'out_of_memory']); // prettier-ignore
    expect(chunks(b)).toEqual(RATE);
  });

  it('again and again: language is off until a reset, and actions go on', () => {
    let memory = false;
    const b = starving(
      new Bench({ tunables: tunables({ standing: [standing('s', { priority: -1 })] }) }, {}, 4, { periodMs: 0 }), // prettier-ignore
      () => !memory,
    );
    for (let i = 0; i < 8; i++) b.at(0, () => b.ask(`r${i}`));
    b.at(1000, () => b.ask('refused'));
    b.at(1600, () => {
      memory = true;
      b.epoch = 1;
      b.post({ type: 'epoch', epoch: 1, endAll: true });
    });
    b.at(1700, () => b.ask('again', { maxTokens: 4 }));
    b.run(3000);
    const ends = Array.from({ length: 8 }, (_, i) => b.end(`r${i}`)!);
    expect(ends.filter(e => e.reason === 'out_of_memory').length).toBe(5);
    expect(ends.filter(e => e.reason === 'rejected').map(e => e.error!.code)).toEqual(new Array(3).fill('LANGUAGE_OFF')); // prettier-ignore
    expect(b.of('language-off').map(e => e.error.code)).toEqual(['LANGUAGE_OFF']);
    expect(b.end('refused')).toMatchObject({ reason: 'rejected', error: { code: 'LANGUAGE_OFF' } });
    expect(b.end('again')!.reason).toBe('length');
    // The standing request was not asked into the void, and is asked again after the reset.
    const asked = b.of('done').filter(e => e.id.startsWith('s/'));
    expect(asked.filter(e => e.reason === 'rejected').length).toBeLessThanOrEqual(1);
    expect(b.of('token').some(t => t.id.startsWith('s/') && t.atMs > 1600)).toBe(true);
    // the reset throws one frame away
    const at = b.of('chunk').map(c => c.atMs).filter(ms => ms < 1600); // prettier-ignore
    expect(at.length).toBeGreaterThan(5);
    at.slice(1).forEach((ms, i) => expect(ms - at[i]!).toBeLessThanOrEqual(300));
    expect(b.of('drop')).toEqual([]);
  });

  it('now and then, with good steps in between: language stays on', () => {
    const b = starving(new Bench({ maxQueue: 30 }, {}, 2, { periodMs: 0 }), step => step % 2 === 1);
    for (let i = 0; i < 20; i++) b.at(0, () => b.ask(`r${i}`));
    b.run(6000);
    expect(b.of('done').filter(e => e.reason === 'out_of_memory').length).toBeGreaterThan(8);
    expect(b.of('language-off')).toEqual([]);
  });

  it('in a seed: that request ends', () => {
    const b = new Bench();
    b.executor.tamper = (run, token) => {
      if (run.kind === 'seed') throw noMemory();
      return token;
    };
    b.at(0, () => b.ask('seeded', { seedIds: [4] }));
    b.at(0, () => b.ask('plain'));
    b.run(1500);
    expect(b.end('seeded')!.reason).toBe('out_of_memory');
    expect(b.end('plain')!.reason).toBe('length');
  });
});

it('O-22: rows go on at their own positions, from the last valid token', () => {
  const prompts = [[2, 51, 52], [2, 61, 62, 63, 64]]; // prettier-ignore
  const b = new Bench({ tunables: tunables({ tokensPerFrame: fixed(1) }) }, {}, 4, { periodMs: 0 });
  b.prompt = id => prompts[Math.min(id, 1)]!;
  b.at(0, () => b.ask('short', { maxTokens: 5 }));
  b.at(300, () => b.ask('long', { maxTokens: 5 }));
  b.run(2500);
  expect(b.tokens('short')).toEqual(soloTokens(prompts[0]!, [], 5));
  expect(b.tokens('long')).toEqual(soloTokens(prompts[1]!, [], 5));
  expect(b.tokens('long')[0]).toBe(hash(prompts[1]!));
  const lengths = b.executor.runs.filter(run => run.kind === 'decode').map(run => [...run.lengths]);
  // The tokens that are fed lie at positions 3, 4, 5, 6 and 5, 6, 7, 8.
  expect(lengths).toEqual([[3], [4, 5], [5, 6], [6, 7], [8]]);
  // and the actions read the same prefix, decode slots or not
  for (const chunk of b.of('chunk')) expect(chunk.actions[0]).toBe(hash(b.prompt(chunk.frame.id)));
});

it('O-23: a row ends with its end token, and its place is free at the next step', () => {
  const scripts: Record<string, number[]> = {
    A: [11, 12, 1, 99, 99],
    B: [21, 22, 23, 24, 1, 99],
    C: [31, 32, 33, 34, 35, 36, 37, 38],
    D: [41, 1],
  };
  const b = new Bench({ stopIds: [1] }, {}, 3, { periodMs: 0 });
  // The prompt holds the end token and 0 among its valid tokens.
  b.prompt = () => [2, 1, 0, 1];
  const said = new Map<string, number>();
  const next = (id: string): number => {
    const nth = said.get(id) ?? 0;
    said.set(id, nth + 1);
    return scripts[id]![nth]!;
  };
  b.executor.tamper = (run, token, row) => {
    const rows = b.cache.batch();
    if (run.kind === 'seed') return next(rows.at(-1)!.id);
    return run.kind === 'decode' ? next(rows[row]!.id) : token;
  };
  for (const id of Object.keys(scripts))
    b.at(0, () => b.ask(id, { maxTokens: id === 'C' ? 6 : 9, seedIds: [id.charCodeAt(0)] }));
  b.run(2000);
  expect(b.tokens('A')).toEqual([11, 12]);
  expect(b.tokens('B')).toEqual([21, 22, 23, 24]);
  expect(b.tokens('C')).toEqual([31, 32, 33, 34, 35, 36]);
  expect(['A', 'B', 'C', 'D'].map(id => b.end(id)!.reason)).toEqual(['end', 'end', 'length', 'end']);
  for (const id of Object.keys(scripts)) {
    const mine = b.events.filter(e => (e.type === 'token' || e.type === 'done') && e.id === id);
    expect(mine.map(e => e.type).join()).toMatch(/^(token,)*done$/);
  }
  // A took its last step at 15 + 250 + 20; D's seed is the very next run.
  const after = b.executor.runs.find(run => run.atMs >= b.end('A')!.atMs)!;
  expect(after).toMatchObject({ kind: 'seed', atMs: b.end('A')!.atMs });
  expect(b.tokens('D')).toEqual([41]);
});

it('O-24: tokens go to the request that owns the row, whatever the ids and the order of ends', () => {
  const b = new Bench({ tunables: tunables({ tokensPerFrame: fixed(50) }) }, {}, 4, { periodMs: 0 });
  b.prompt = () => [2, 77, 5];
  const [A, B, C, D, E] = ['10', '9', '2', '30', '1'] as const;
  const seeds: Record<string, number[]> = {
    [A]: [51],
    [B]: [52, 53],
    [C]: [54, 55, 56],
    [D]: [57],
    [E]: [58, 59],
  };
  const ask = (id: string, maxTokens: number) => b.ask(id, { seedIds: seeds[id]!, maxTokens });
  b.at(0, () => {
    ask(A, 20);
    ask(B, 4);
    ask(C, 20);
  });
  // 250 + 3 seeds of 5: step n ends at 265 + 10 n; B ends with the third.
  b.at(296, () => ask(D, 9));
  b.at(306, () => ask(E, 12));
  b.at(326, () => b.post({ type: 'cancel', id: C }));
  b.run(1500);
  const alone = (id: string, count: number) => soloTokens([2, 77, 5], seeds[id]!, count);
  expect(b.end(B)).toMatchObject({ reason: 'length', atMs: 295 });
  expect(b.end(C)).toMatchObject({ reason: 'cancelled' });
  expect(b.tokens(C).length).toBeGreaterThan(4);
  const counts: [string, number][] = [[A, 20], [B, 4], [C, b.tokens(C).length], [D, 9], [E, 12]]; // prettier-ignore
  for (const [id, count] of counts) expect(b.tokens(id)).toEqual(alone(id, count));
  const batches = b.executor.runs.filter((run: Run) => run.kind === 'decode').map(run => run.batch);
  expect(Math.max(...batches)).toBe(4);
});
