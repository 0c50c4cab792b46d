/** An executor for virtual time: runs cost what they are told to, tokens are a pure function of what a row has seen. */
import { map, timer, type Observable, type SchedulerLike } from 'rxjs';
import type { Candidates, DecodeRow, Executor, KvView, NewKv } from '../../src/core/ports';
import type { RunCosts } from '../../src/core/run-costs';
import { sample, type Sampling } from '../../src/core/sampler';
import type { Frame } from '../../src/core/types';
import type { BurstResult } from '../../src/engine/burst';
import type { BurstCall } from '../../src/engine/burst-decoder';

export interface Costs {
  readonly prefill: number;
  readonly denoise: number;
  readonly seed: number;
  /** A step costs this plus `row` for every row. */
  readonly decode: number;
  readonly row?: number;
  /** A decode run costs this once for every row. */
  readonly uploadRow?: number;
}

export const SHAPE = { layers: 1, headDim: 1 };
const VOCAB = 1000;

export interface Run {
  readonly kind: 'prefill' | 'denoise' | 'seed' | 'decode';
  readonly atMs: number;
  readonly ms: number;
  readonly batch: number;
  /** Of a decode run. */
  readonly steps: number;
  /** Of prefill and denoise. */
  readonly frame: Frame | null;
  /** Positions that each row has already. */
  readonly lengths: readonly number[];
}

/** A token id ≥ 10 that depends on all positions of the row so far. */
export const hash = (values: Iterable<number>): number => {
  let h = 17;
  for (const v of values) h = (h * 31 + v) % 99991;
  return 10 + (h % (VOCAB - 10));
};

const LOGITS = Float32Array.of(2, 1.5, 0);
const LOG_SUM_EXP = Math.log(LOGITS.reduce((sum, l) => sum + Math.exp(l), 0));

/** The token and two that are less likely. */
export const candidates = (id: number): Candidates => ({
  ids: [id, id + 1, id + 2],
  logits: LOGITS,
  logSumExp: LOG_SUM_EXP,
});

export class FakeExecutor implements Executor {
  readonly runs: Run[] = [];
  busy = false;
  /** Decode steps that the policy asked for, however they are run. */
  asked = 0;
  /** Called as each run begins. */
  onRun: ((run: Run) => void) | null = null;
  /** Called with each run before its result; may throw or change the token. */
  tamper: ((run: Run, token: number, row: number) => number) | null = null;
  /** What a burst draws in place of the right token; null: the right one. */
  misdraw: (() => number | null) | null = null;
  readonly #costs: Costs;
  readonly #scheduler: SchedulerLike;
  readonly #measured: RunCosts;

  constructor(costs: Costs, scheduler: SchedulerLike, measured: RunCosts) {
    this.#costs = costs;
    this.#scheduler = scheduler;
    this.#measured = measured;
  }

  prefill(frame: Frame): Observable<{ kv: NewKv; length: number; next: Candidates }> {
    return this.#after('prefill', [0], frame, run => ({
      kv: kv(frame.promptIds),
      length: frame.promptIds.length,
      next: candidates(this.#token(run, hash(frame.promptIds), 0)),
    }));
  }

  denoise(frame: Frame, prefix: KvView): Observable<Float32Array> {
    return this.#after('denoise', [prefix.positions], frame, run =>
      Float32Array.of(this.#token(run, hash(seen(prefix, 0, prefix.positions)), 0), frame.id),
    );
  }

  seed(ids: readonly number[], past: KvView): Observable<{ kv: NewKv; next: Candidates }> {
    return this.#after('seed', [past.positions], null, run => ({
      kv: kv(ids),
      next: candidates(this.#token(run, hash([...seen(past, 0, past.positions), ...ids]), 0)),
    }));
  }

  decode(
    tokens: readonly number[],
    lengths: readonly number[],
    past: KvView,
  ): Observable<{ kv: NewKv; next: Candidates[] }> {
    this.asked++;
    const row = { text: {}, sampling: GREEDY, sequence: 0, left: 1 };
    const rows = tokens.map(() => row);
    return this.burst({ tokens, lengths, past, rows, steps: 1 }).pipe(
      map(({ kv, next: [step = []] }) => ({ kv, next: [...step] })),
    );
  }

  /** Several decode steps in one run, each fed with what the one before drew. */
  burst({ tokens, lengths, past, rows, steps }: BurstCall): Observable<BurstResult> {
    const result = (run: Run): BurstResult => {
      const histories = rows.map((_, row) => [...seen(past, row, lengths[row] as number)]);
      const [chosen, next]: [number[][], Candidates[][]] = [[], []];
      for (let step = 0; step < steps; step++) {
        const step0 = step === 0;
        histories.forEach((h, row) => h.push((step0 ? tokens[row] : chosen[step - 1]?.[row]) as number));
        const given = histories.map((h, row) => candidates(this.#token(run, hash(h), row)));
        next.push(given);
        const draw = ({ sampling, sequence }: DecodeRow, row: number) =>
          this.misdraw?.() ?? sample(given[row] as Candidates, sampling, sequence + step);
        chosen.push(rows.map(draw));
      }
      return { chosen, next, kv: kv(histories.flatMap(h => h.slice(h.length - steps))) };
    };
    return this.#after('decode', lengths, null, result, steps);
  }

  #token(run: Run, token: number, row: number): number {
    return this.tamper?.(run, token, row) ?? token;
  }

  #after<T>(
    kind: Run['kind'],
    lengths: readonly number[],
    frame: Frame | null,
    result: (run: Run) => T,
    steps = 1,
  ): Observable<T> {
    const batch = lengths.length;
    const { row = 0, uploadRow = 0 } = kind === 'decode' ? this.#costs : {};
    const ms = steps * (this.#costs[kind] + row * batch) + uploadRow * batch;
    const run: Run = { kind, atMs: this.#scheduler.now(), ms, batch, steps, frame, lengths };
    this.runs.push(run);
    this.onRun?.(run);
    this.busy = true;
    return timer(ms, this.#scheduler).pipe(
      map(() => {
        this.busy = false;
        const value = result(run);
        this.#measured.measuredRun(kind, ms, { batch, steps });
        return value;
      }),
    );
  }
}

/** What a row has in the cache; keys and values must tell the same. */
function seen(past: KvView, row: number, length: number): Float32Array {
  const start = row * past.positions;
  const k = (past.k[0] as Float32Array).subarray(start, start + length);
  const v = past.v[0] as Float32Array;
  if (!k.every((value, i) => v[start + i] === -value)) throw new Error('keys and values of different rows');
  return k;
}

const kv = (values: readonly number[]): NewKv => ({
  k: [Float32Array.from(values)],
  v: [Float32Array.from(values, v => -v)],
});

const GREEDY: Sampling = { temperature: 0, topK: 0, topP: 1, samplingSeed: 0 };

/** What a request generates when it is alone. */
export function soloTokens(
  promptIds: readonly number[],
  seedIds: readonly number[],
  count: number,
  sampling = GREEDY,
): number[] {
  const seen = [...promptIds, ...seedIds];
  const tokens: number[] = [];
  while (tokens.length < count) {
    const token = sample(candidates(hash(seen)), sampling, tokens.length);
    tokens.push(token);
    seen.push(token);
  }
  return tokens;
}
