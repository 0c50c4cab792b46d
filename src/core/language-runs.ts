/** Seeds and decode steps: runs the executor, commits what it gave, and says what a failure means for the requests. */
import { of, type Observable } from 'rxjs';
import { OxygenError, toOxygenError } from './errors';
import type { KvCache } from './kv-cache';
import type { Ahead, Candidates, DecodeRow, Executor } from './ports';
import type { Active, Requests } from './requests';
import type { RunCosts } from './run-costs';
import { settle } from './settle';
import type { LanguageRequest } from './types';

/** Failures for lack of memory, without a good decode step in between, after which language is switched off. */
export const MEMORY_FAILURES = 5;

/** What language did since the newest frame began. */
export interface FrameTally {
  /** Requests that got a row since then or since the last step. */
  started: number;
  /** Those that failed included: they took their time as well. */
  decodeSteps: number;
  tokens: number;
  /** Rows of the largest step. */
  batch: number;
  /** Sum over the steps of their rows. */
  rowSteps: number;
}

export class LanguageRuns {
  readonly #executor: Executor;
  readonly #cache: KvCache;
  readonly #requests: Requests;
  #tally: FrameTally = emptyTally();
  #memoryFailures = 0;

  constructor(executor: Executor, cache: KvCache, requests: Requests) {
    this.#executor = executor;
    this.#cache = cache;
    this.#requests = requests;
  }

  get tally(): Readonly<FrameTally> {
    return this.#tally;
  }

  frameBegins(): void {
    this.#tally = emptyTally();
    this.#requests.frameBegins();
  }

  /** A row, the seed's run if there is a seed, and the first token. */
  start(request: LanguageRequest): Observable<unknown> {
    const prefix = this.#cache.prefix;
    if (!prefix) throw new OxygenError('INTERNAL', 'a request was started without a prefix');
    const active = this.#requests.start(request, prefix);
    this.#tally.started += 1;
    if (request.seedIds.length === 0) {
      this.#take(active, prefix.next);
      return of(null);
    }
    return settle(
      this.#executor.seed(request.seedIds, this.#cache.rowView(request.id)),
      ({ kv, next }) => {
        this.#cache.append(request.id, kv, 0, request.seedIds.length);
        this.#take(active, next);
      },
      error => this.failed(error, [request.id]),
    );
  }

  /** What the next step of the active rows is expected to take: nothing when it is computed already. */
  nextStepMs(costs: RunCosts): number {
    const rows = this.#requests.batch();
    const { tokens, lengths } = this.#feeds(rows);
    if (this.#executor.isReady?.(tokens, lengths, rows.map(decodeRow))) return 0;
    return costs.expectedRun('decode', { batch: Math.max(1, rows.length) });
  }

  /** One token for every active row. */
  decode(ahead: Ahead): Observable<unknown> {
    this.#tally.started = 0;
    this.#tally.decodeSteps += 1;
    const rows = this.#requests.batch();
    const { tokens, lengths } = this.#feeds(rows);
    return settle(
      this.#executor.decode(tokens, lengths, this.#cache.batchView(), rows.map(decodeRow), ahead),
      ({ kv, next }) => {
        this.#memoryFailures = 0;
        this.#tally.rowSteps += rows.length;
        this.#tally.batch = Math.max(this.#tally.batch, rows.length);
        rows.forEach((row, i) => {
          try {
            this.#cache.append(row.request.id, kv, i, 1);
            this.#take(row, next[i] as Candidates);
          } catch (error) {
            // One row's bad numbers end that row; the others go on.
            this.#requests.end(row.request.id, 'failed', toOxygenError(error));
          }
        });
      },
      error => this.failed(error, this.#requests.active.map(r => r.id)), // prettier-ignore
    );
  }

  /**
   * A language run failed. Without memory the youngest of its requests ends, so that the rest is tried again in a
   * smaller batch, and after several such failures language is switched off; for any other reason all of them end.
   */
  failed(error: OxygenError, ids: readonly string[]): void {
    if (error.code !== 'OUT_OF_MEMORY') return ids.forEach(id => this.#requests.end(id, 'failed', error));
    const youngest = ids.at(-1);
    if (youngest !== undefined) this.#requests.end(youngest, 'out_of_memory', error);
    if (++this.#memoryFailures < MEMORY_FAILURES) return;
    const message =
      `language is switched off after ${MEMORY_FAILURES} runs without memory (${error.message}); ` +
      'lower max_requests or max_tokens, then reset';
    this.#requests.switchOff(new OxygenError('LANGUAGE_OFF', message, { cause: error }));
  }

  /** After a reset language may try again. */
  reset(): void {
    this.#memoryFailures = 0;
    this.#requests.switchOn();
  }

  #feeds(rows: readonly Active[]): { readonly tokens: number[]; readonly lengths: number[] } {
    return { tokens: rows.map(row => row.last), lengths: this.#cache.batch().map(row => row.length) };
  }

  #take(active: Active, next: Candidates): void {
    if (this.#requests.take(active, next)) this.#tally.tokens += 1;
  }
}

const decodeRow = (active: Active): DecodeRow => ({
  text: active,
  sampling: active.request,
  sequence: active.tokens,
  left: active.request.maxTokens - active.tokens,
});

const emptyTally = (): FrameTally => ({ started: 0, decodeSteps: 0, tokens: 0, batch: 0, rowSteps: 0 });
