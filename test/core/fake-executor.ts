/** An executor for virtual time: runs cost what they are told to, tokens are a pure function of what a row has seen. */
import { map, timer, type Observable, type SchedulerLike } from 'rxjs';
import type { Candidates, Executor, KvView, NewKv } from '../../src/core/ports';
import type { Frame } from '../../src/core/types';

export interface Costs {
  readonly prefill: number;
  readonly denoise: number;
  readonly seed: number;
  readonly decode: number;
}

export const SHAPE = { layers: 1, headDim: 1 };
const VOCAB = 1000;

export interface Run {
  readonly kind: 'prefill' | 'denoise' | 'seed' | 'decode';
  readonly atMs: number;
  readonly batch: number;
}

/** A token id ≥ 10 that depends on all positions of the row so far. */
const hash = (values: Iterable<number>): number => {
  let h = 17;
  for (const v of values) h = (h * 31 + v) % 99991;
  return 10 + (h % (VOCAB - 10));
};

export const candidates = (id: number): Candidates => ({
  ids: [id],
  logits: Float32Array.of(1),
  logSumExp: 1,
});

export class FakeExecutor implements Executor {
  readonly runs: Run[] = [];
  /** Called with each run before its result; may throw or change the token. */
  tamper: ((run: Run, token: number, row: number) => number) | null = null;
  readonly #costs: Costs;
  readonly #scheduler: SchedulerLike;

  constructor(costs: Costs, scheduler: SchedulerLike) {
    this.#costs = costs;
    this.#scheduler = scheduler;
  }

  prefill(frame: Frame): Observable<{ kv: NewKv; length: number; next: Candidates }> {
    return this.#after('prefill', 1, run => ({
      kv: kv(frame.promptIds),
      length: frame.promptIds.length,
      next: candidates(this.#token(run, hash(frame.promptIds), 0)),
    }));
  }

  denoise(frame: Frame, prefix: KvView): Observable<Float32Array> {
    return this.#after('denoise', 1, run =>
      Float32Array.of(this.#token(run, hash(prefix.k[0] as Float32Array), 0), frame.id),
    );
  }

  seed(ids: readonly number[], past: KvView): Observable<{ kv: NewKv; next: Candidates }> {
    return this.#after('seed', 1, run => ({
      kv: kv(ids),
      next: candidates(this.#token(run, hash([...(past.k[0] as Float32Array), ...ids]), 0)),
    }));
  }

  decode(
    tokens: readonly number[],
    lengths: readonly number[],
    past: KvView,
  ): Observable<{ kv: NewKv; next: Candidates[] }> {
    return this.#after('decode', tokens.length, run => ({
      kv: kv(tokens),
      next: tokens.map((token, row) => {
        const start = row * past.positions;
        const seen = (past.k[0] as Float32Array).subarray(start, start + (lengths[row] as number));
        return candidates(this.#token(run, hash([...seen, token]), row));
      }),
    }));
  }

  #token(run: Run, token: number, row: number): number {
    return this.tamper?.(run, token, row) ?? token;
  }

  #after<T>(kind: Run['kind'], batch: number, result: (run: Run) => T): Observable<T> {
    const run = { kind, atMs: this.#scheduler.now(), batch };
    this.runs.push(run);
    return timer(this.#costs[kind], this.#scheduler).pipe(map(() => result(run)));
  }
}

const kv = (values: readonly number[]): NewKv => ({
  k: [Float32Array.from(values)],
  v: [Float32Array.from(values)],
});

/** What a request generates when it is alone. */
export function soloTokens(
  promptIds: readonly number[],
  seedIds: readonly number[],
  count: number,
): number[] {
  const seen = [...promptIds, ...seedIds];
  const tokens: number[] = [];
  while (tokens.length < count) {
    const token = hash(seen);
    tokens.push(token);
    seen.push(token);
  }
  return tokens;
}
