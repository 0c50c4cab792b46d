/** decode.onnx: k steps in one Loop against one step at a time, against the three graphs, and its draws against core's. */
import { join } from 'node:path';
import { sample, type Sampling } from '../../../src/core/sampler';
import { fold } from '../../../src/core/noise';
import { ModelSessions } from '../../../src/engine/model-sessions';
import { runDecode } from '../../../src/engine/onnx-executor';
import { distance } from '../../../src/verify/limits';
import { build, checkpointOf, HalfSessions, rounded, temporaryFolder, type Outputs } from './engines';

const dir = temporaryFolder();

const floats = (out: Outputs, name: string) => out[name] as Float32Array;
const ids = (out: Outputs, name: string) => Array.from(out[name] as BigInt64Array, Number);

/** Keys and values of three rows of different length, in rows of `positions`; what is beyond a row's length is `rest`. */
const LENGTHS = [23, 40, 7];
const POSITIONS = 41;

describe.each(['tiny', 'odd'] as const)('%s', name => {
  let exact: ModelSessions;
  let half: HalfSessions;
  beforeAll(async () => {
    await build(rounded(checkpointOf(name)), 'cpu', join(dir, `${name}-cpu`));
    await build(checkpointOf(name), 'cuda', join(dir, name));
    exact = await ModelSessions.load(join(dir, `${name}-cpu`), 1);
    half = await HalfSessions.load(join(dir, name));
  });
  afterAll(async () => {
    await exact.release();
    await half.release();
  });

  /** Per layer [rows, positions, hd]. */
  function past(rest = 0, rows = [0, 1, 2], positions = POSITIONS) {
    const { layers, headDim } = half.manifest.model.language;
    const kind = (which: number) =>
      Array.from({ length: layers }, (_, layer) => {
        const all = new Float32Array(rows.length * positions * headDim).fill(rest);
        rows.forEach((row, place) => {
          for (let i = 0; i < LENGTHS[row]! * headDim; i++)
            all[place * positions * headDim + i] = Math.sin(i * 0.7 + row + 3 * layer + 11 * which) * 1.5;
        });
        return all;
      });
    return { k: kind(0), v: kind(1), positions };
  }

  const TOKENS = [5, 77, 300];

  /** The same as `decode` with `steps`, one call for each step, keys and values put together here. */
  async function stepByStep(steps: number, forced?: readonly number[]) {
    const { layers, headDim } = half.manifest.model.language;
    const kv = past(0, [0, 1, 2], POSITIONS + steps);
    let tokens = TOKENS;
    const chosen: number[] = [];
    const top: number[] = [];
    for (let s = 0; s < steps; s++) {
      const lengths = LENGTHS.map(n => n + s);
      const given = (row: number) => (s > 0 ? (forced?.[s * 3 + row] ?? -1) : -1);
      const fed = tokens.map((t, row) => (given(row) >= 0 ? given(row) : t));
      const out = await half.decode({ tokens: fed, lengths, steps: 1, ...kv });
      for (let i = 0; i < layers; i++)
        for (const [all, made] of [
          [kv.k[i]!, floats(out, `new_k_${i}`)],
          [kv.v[i]!, floats(out, `new_v_${i}`)],
        ] as const)
          lengths.forEach((at, row) =>
            all.set(made.subarray(row * headDim, (row + 1) * headDim), (row * kv.positions + at) * headDim),
          );
      tokens = ids(out, 'chosen');
      chosen.push(...tokens);
      top.push(...floats(out, 'top_logits'));
    }
    return { chosen, top };
  }

  it('a loop of five steps gives what five calls of one step give', async () => {
    const loop = await half.decode({ tokens: TOKENS, lengths: LENGTHS, steps: 5, ...past() });
    const single = await stepByStep(5);
    expect(ids(loop, 'chosen')).toEqual(single.chosen);
    expect(distance(single.top, floats(loop, 'top_logits')).max).toBeLessThan(LOOP);
  });

  it('forced tokens are fed in place of the chosen ones', async () => {
    const forced = [-1, -1, -1, 9, -1, 11, -1, 8, 12, 3, -1, -1];
    const loop = await half.decode({ tokens: TOKENS, lengths: LENGTHS, steps: 4, forced, ...past() });
    const single = await stepByStep(4, forced);
    expect(ids(loop, 'chosen')).toEqual(single.chosen);
    expect(distance(single.top, floats(loop, 'top_logits')).max).toBeLessThan(LOOP);
    const free = await half.decode({ tokens: TOKENS, lengths: LENGTHS, steps: 4, ...past() });
    expect(distance(floats(free, 'top_logits'), floats(loop, 'top_logits')).max).toBeGreaterThan(0.1);
  });

  it('one step gives what the language graph gives on the same weights', async () => {
    const kv = past();
    const wanted = await runDecode(exact, TOKENS, LENGTHS, { batch: 3, ...kv }, true);
    const out = await half.decode({ tokens: TOKENS, lengths: LENGTHS, steps: 1, ...kv });
    const { vocab } = half.manifest.model.language;
    const { topK } = half.manifest;
    const tops = ids(out, 'top_ids').map((id, i) => wanted.logits![Math.floor(i / topK) * vocab + id]!);
    expect(distance(tops, floats(out, 'top_logits')).max).toBeLessThan(0.01);
    wanted.kv.k.forEach((k, i) => expect(distance(k, floats(out, `new_k_${i}`)).rms).toBeLessThan(0.003));
    wanted.kv.v.forEach((v, i) => expect(distance(v, floats(out, `new_v_${i}`)).rms).toBeLessThan(0.003));
    wanted.next.forEach(({ logSumExp }, row) =>
      expect(Math.abs(logSumExp - floats(out, 'log_sum_exp')[row]!)).toBeLessThan(0.003),
    );
  });

  /** The largest difference of any output. */
  const apart = (a: Record<string, number[]>, b: Record<string, number[]>) =>
    Math.max(...Object.keys(a).map(key => distance(a[key]!, b[key]!).max));

  /** The row's part of every output. */
  const rowOf = (out: Outputs, row: number, rows: number): Record<string, number[]> =>
    Object.fromEntries(
      Object.entries(out).map(([key, values]) => {
        const perStep = ['chosen', 'top_logits', 'top_ids', 'log_sum_exp'].includes(key);
        const steps = perStep ? 4 : 1;
        const size = values.length / rows / steps;
        const parts = Array.from({ length: steps }, (_, s) =>
          Array.from(values.slice((s * rows + row) * size, (s * rows + row + 1) * size), Number),
        );
        return [key, parts.flat()];
      }),
    );

  it('what lies beyond the length of a row does not matter', async () => {
    const feeds = { tokens: TOKENS, lengths: LENGTHS, steps: 4 };
    const [zeros, large] = [
      await half.decode({ ...feeds, ...past(0) }),
      await half.decode({ ...feeds, ...past(1e3) }),
    ];
    for (const row of [0, 1, 2]) expect(apart(rowOf(large, row, 3), rowOf(zeros, row, 3))).toBe(0);
  });

  it('a row gets in a batch what it gets alone', async () => {
    const together = await half.decode({ tokens: TOKENS, lengths: LENGTHS, steps: 4, ...past() });
    for (const row of [0, 1, 2]) {
      const feeds = { tokens: [TOKENS[row]!], lengths: [LENGTHS[row]!], steps: 4, ...past(0, [row]) };
      const [batched, alone] = [rowOf(together, row, 3), rowOf(await half.decode(feeds), 0, 1)];
      expect(batched['chosen']).toEqual(alone['chosen']);
      // of top_ids, near ties far down the list may change places
      for (const key of Object.keys(alone).filter(k => k !== 'top_ids'))
        expect(distance(alone[key]!, batched[key]!).max).toBeLessThan(0.005);
    }
  });

  it('a row that stops in step 2 and goes on with other tokens leaves the others as they were', async () => {
    const other = [-1, -1, -1, -1, -1, -1, -1, 1, -1, -1, 1, -1];
    const feeds = { tokens: TOKENS, lengths: LENGTHS, steps: 4, ...past() };
    const [plain, stopped] = [await half.decode(feeds), await half.decode({ ...feeds, forced: other })];
    for (const row of [0, 2]) expect(apart(rowOf(stopped, row, 3), rowOf(plain, row, 3))).toBe(0);
    expect(apart(rowOf(stopped, 1, 3), rowOf(plain, 1, 3))).toBeGreaterThan(0.1);
  });

  it('draws as core/sampler does', async () => {
    const settings: Omit<Sampling, 'samplingSeed'>[] = [
      { temperature: 0, topK: 0, topP: 1 },
      { temperature: 1, topK: 0, topP: 1 },
      { temperature: 0.7, topK: 5, topP: 1 },
      { temperature: 1.3, topK: 0, topP: 0.5 },
      { temperature: 2, topK: 20, topP: 0.9 },
      { temperature: 1, topK: 1, topP: 1 },
      { temperature: 1, topK: 0, topP: 0 },
    ];
    const rows = settings.length * DRAWS;
    const { layers, headDim } = half.manifest.model.language;
    const one = Array.from({ length: layers }, () => new Float32Array(rows * headDim).fill(0.5));
    const at = (i: number) => settings[i % settings.length]!;
    const all = Array.from({ length: rows }, (_, i) => i);
    const out = await half.decode({
      tokens: all.map(i => i % 50),
      lengths: all.map(() => 1),
      steps: 1,
      temperature: all.map(i => at(i).temperature),
      topK: all.map(i => at(i).topK),
      topP: all.map(i => at(i).topP),
      // what core/sampler draws for that seed and step
      uniforms: Float32Array.from(all, i => fold(fold(0x51ed270b, i), 0) / 2 ** 32),
      k: one,
      v: one,
      positions: 1,
    });
    const { topK } = half.manifest;
    const chosen = ids(out, 'chosen');
    const candidates = ids(out, 'top_ids');
    const wanted = all.map(i => {
      const logits = floats(out, 'top_logits').subarray(i * topK, (i + 1) * topK);
      const next = { ids: candidates.slice(i * topK, (i + 1) * topK), logits };
      const logSumExp = floats(out, 'log_sum_exp')[i]!;
      return sample({ ...next, logSumExp }, { ...at(i), samplingSeed: i }, 0);
    });
    expect(chosen).toEqual(wanted);
    expect(new Set(chosen).size).toBeGreaterThan(40);
  });
});

/** Loop and single steps add the same float16 numbers in another order: past and new keys are two sums. */
const LOOP = 0.005;
const DRAWS = 300;
