/** Decode steps one by one out of runs that compute several: keeps the newest burst while it is good. */
import { map, of, type Observable } from 'rxjs';
import type { Ahead, Clock, DecodeRow, KvView, StepResult } from '../core/ports';
import type { RunCosts } from '../core/run-costs';
import { burstSteps, findStep, takeStep, type Burst, type BurstResult } from './burst';

/** One run of `steps` steps over the rows. */
export interface BurstCall {
  readonly tokens: readonly number[];
  readonly lengths: readonly number[];
  readonly past: KvView;
  readonly rows: readonly DecodeRow[];
  readonly steps: number;
}

export class BurstDecoder {
  readonly #run: (call: BurstCall) => Observable<BurstResult>;
  readonly #costs: RunCosts;
  readonly #clock: Clock;
  readonly #headDim: number;
  #burst: Burst | null = null;

  constructor(
    run: (call: BurstCall) => Observable<BurstResult>,
    costs: RunCosts,
    clock: Clock,
    headDim: number,
  ) {
    this.#run = run;
    this.#costs = costs;
    this.#clock = clock;
    this.#headDim = headDim;
  }

  isReady(tokens: readonly number[], lengths: readonly number[], rows: readonly DecodeRow[]): boolean {
    return this.#burst !== null && findStep(this.#burst, tokens, lengths, rows) !== null;
  }

  /** As Executor.decode: the step of the burst, or of a new one. */
  decode(
    tokens: readonly number[],
    lengths: readonly number[],
    past: KvView,
    rows: readonly DecodeRow[],
    ahead: Ahead,
  ): Observable<StepResult> {
    const cells = this.#burst && findStep(this.#burst, tokens, lengths, rows);
    if (this.#burst && cells) return of(takeStep(this.#burst, cells, this.#headDim));
    // Also when the new run fails: what is left of the old burst is of rows that have changed.
    this.#burst = null;
    const steps = burstSteps(rows, ahead, this.#clock.now(), {
      uploadMs: this.#costs.expected('upload', rows.length),
      stepMs: this.#costs.expected('decode', rows.length),
    });
    return this.#run({ tokens, lengths, past, rows, steps }).pipe(
      map(result => {
        const burst = { ...result, tokens, lengths, texts: rows.map(row => row.text) };
        this.#burst = burst;
        const first = rows.map((_, row) => ({ step: 0, row }));
        return takeStep(burst, first, this.#headDim);
      }),
    );
  }
}
