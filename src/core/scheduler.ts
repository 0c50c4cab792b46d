/**
 * RxJS wiring of the policy: inputs wait in an inbox while a run is on, are applied between runs, and `planStep` says
 * what to run next. All state is changed here and in the cache, never while a run is on.
 */
import {
  defer,
  EMPTY,
  exhaustMap,
  expand,
  map,
  merge,
  of,
  Subject,
  switchMap,
  tap,
  timer,
  catchError,
  ignoreElements,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { OxygenError, toOxygenError } from './errors';
import { KvCache } from './kv-cache';
import { byUrgency, planStep, type Budget, type FrameCredit, type PlanSnapshot } from './plan';
import type { Candidates, Clock, Executor } from './ports';
import { sample } from './sampler';
import type { EndReason, Frame, LanguageRequest } from './types';

export type SchedulerInput =
  | { readonly type: 'frame'; readonly frame: Frame }
  /** The frame asked for could not be had; the credit is free again. */
  | { readonly type: 'frame-lost' }
  /** Nothing newer than the last frame; a frame will follow. */
  | { readonly type: 'no-frame' }
  | { readonly type: 'request'; readonly request: LanguageRequest }
  | { readonly type: 'cancel'; readonly id: string }
  | { readonly type: 'epoch'; readonly epoch: number; readonly endAll: boolean }
  | { readonly type: 'tunables'; readonly tokensPerFrame: number; readonly replanRateHz: number };

export type SchedulerEvent =
  | { readonly type: 'ask' }
  | { readonly type: 'chunk'; readonly frame: Frame; readonly actions: Float32Array }
  | {
      readonly type: 'token';
      readonly id: string;
      readonly sequence: number;
      readonly tokenId: number;
      readonly frameStampNs: bigint;
    }
  | {
      readonly type: 'done';
      readonly id: string;
      /** Tokens that were announced. */
      readonly sequence: number;
      readonly reason: EndReason;
      readonly frameStampNs: bigint;
      readonly error: OxygenError | null;
    }
  /** All that happened since the previous prefill. */
  | {
      readonly type: 'frame-end';
      readonly frame: Frame;
      readonly decodeSteps: number;
      readonly tokens: number;
      readonly batch: number;
    }
  | { readonly type: 'drop'; readonly error: OxygenError };

export interface SchedulerOptions {
  readonly tokensPerFrame: number;
  readonly replanRateHz: number;
  readonly maxQueue: number;
  /** Longest root prefix of this deployment; with it a request that can never fit is known at once. */
  readonly maxPrefixLength: number;
  readonly stopIds: readonly number[];
}

interface Active {
  readonly request: LanguageRequest;
  readonly frameStampNs: bigint;
  /** Tokens announced. */
  tokens: number;
  /** Announced but not yet fed. */
  last: number;
}

export class Scheduler {
  readonly events$: Observable<SchedulerEvent>;
  readonly #events$ = new Subject<SchedulerEvent>();
  readonly #inputs$ = new Subject<SchedulerInput>();
  readonly #wakeAt$ = new Subject<number | null>();
  readonly #inbox: SchedulerInput[] = [];
  readonly #executor: Executor;
  readonly #cache: KvCache;
  readonly #clock: Clock;
  readonly #options: SchedulerOptions;
  readonly #active = new Map<string, Active>();
  #queue: LanguageRequest[] = [];
  #tunables: { tokensPerFrame: number; replanRateHz: number };
  #epoch = 0;
  #credit: FrameCredit = 'none';
  #waiting: Frame | null = null;
  #owed: Frame | null = null;
  #lastPrefillMs: number | null = null;
  #current: { frame: Frame; steps: number; tokens: number; batch: number } | null = null;
  #steps: number | null = null;
  #closed = false;

  constructor(
    executor: Executor,
    cache: KvCache,
    clock: Clock,
    options: SchedulerOptions,
    timers?: SchedulerLike,
  ) {
    this.#executor = executor;
    this.#cache = cache;
    this.#clock = clock;
    this.#options = options;
    this.#tunables = options;
    this.events$ = this.#events$.asObservable();
    const wake$ = this.#wakeAt$.pipe(
      switchMap(at => (at === null ? EMPTY : timer(Math.max(0, Math.ceil(at - clock.now())), timers))),
    );
    merge(this.#inputs$.pipe(tap(input => this.#inbox.push(input))), wake$)
      .pipe(
        // What arrives during a run waits in the inbox; the run's own continuation picks it up.
        exhaustMap(() =>
          defer(() => this.#advance()).pipe(
            expand(() => this.#advance()),
            ignoreElements(),
          ),
        ),
      )
      .subscribe({ error: error => this.#events$.error(error), complete: () => this.#events$.complete() });
  }

  post(input: SchedulerInput): void {
    this.#inputs$.next(input);
  }

  /** No further run starts; `events$` completes when the present one has ended. */
  close(): void {
    this.#closed = true;
    this.#wakeAt$.complete();
    this.#inputs$.complete();
  }

  get queued(): number {
    return this.#queue.length;
  }

  snapshot(): PlanSnapshot {
    return {
      credit: this.#credit,
      waiting: this.#waiting,
      owed: this.#owed,
      steps: this.#steps,
      lastPrefillMs: this.#lastPrefillMs,
      active: Array.from(this.#active.values(), a => a.request),
      queue: this.#queue,
      maxRequests: this.#cache.shape.maxRequests,
      hasPrefix: this.#cache.prefix !== null,
    };
  }

  #advance(): Observable<unknown> {
    for (const input of this.#inbox.splice(0)) this.#apply(input);
    if (this.#closed) return EMPTY;
    const budget: Budget = { nowMs: this.#clock.now(), ...this.#tunables };
    const plan = planStep(this.snapshot(), budget);
    switch (plan.kind) {
      case 'expire':
        this.#end(plan.id, 'deadline');
        return of(null);
      case 'ask':
        this.#credit = 'asked';
        this.#events$.next({ type: 'ask' });
        return of(null);
      case 'prefill':
        return this.#prefill(plan.frame, budget.nowMs);
      case 'denoise':
        return this.#denoise(plan.frame);
      case 'start':
        return this.#start(plan.request);
      case 'decode':
        return this.#decode();
      case 'idle':
        this.#wakeAt$.next(plan.wakeAtMs);
        return EMPTY;
    }
  }

  // --- inputs -------------------------------------------------------------------------------------------------------

  #apply(input: SchedulerInput): void {
    switch (input.type) {
      case 'frame':
        this.#credit = 'none';
        // A frame of an older epoch is useless; the free credit asks again.
        if (input.frame.epoch >= this.#epoch) this.#waiting = input.frame;
        return;
      case 'frame-lost':
        this.#credit = 'none';
        return;
      case 'no-frame':
        if (this.#credit === 'asked') this.#credit = 'starved';
        return;
      case 'request':
        return this.#enqueue(input.request);
      case 'cancel':
        if (this.#isOpen(input.id)) return this.#end(input.id, 'cancelled');
        return this.#drop(
          new OxygenError('REQUEST_UNKNOWN', `no unfinished language request ${JSON.stringify(input.id)}`),
        );
      case 'epoch':
        return this.#startEpoch(input.epoch, input.endAll);
      case 'tunables':
        this.#tunables = { tokensPerFrame: input.tokensPerFrame, replanRateHz: input.replanRateHz };
        return;
    }
  }

  #enqueue(request: LanguageRequest): void {
    if (this.#isOpen(request.id)) {
      this.#drop(
        new OxygenError(
          'REQUEST_INVALID',
          `language request ${JSON.stringify(request.id)} is running already`,
        ),
      );
      return;
    }
    const need = KvCache.need(this.#options.maxPrefixLength, request.seedIds.length, request.maxTokens);
    if (need > this.#cache.shape.capacity || request.maxTokens < 1) {
      const message = `request ${request.id} needs ${need} positions, a row has ${this.#cache.shape.capacity}`;
      this.#announceEnd(request.id, 0, 'rejected', 0n, new OxygenError('REQUEST_NEVER_FITS', message));
      return;
    }
    this.#queue.push(request);
    if (this.#queue.length <= this.#options.maxQueue) return;
    // The least urgent one goes; among equals the newest.
    const least = [...this.#queue].sort(byUrgency).at(-1) as LanguageRequest;
    const error = new OxygenError(
      'QUEUE_FULL',
      `the queue holds ${this.#options.maxQueue} language requests already`,
    );
    this.#end(least.id, 'dropped', error);
  }

  #startEpoch(epoch: number, endAll: boolean): void {
    this.#epoch = epoch;
    if (this.#waiting && this.#waiting.epoch < epoch) this.#waiting = null;
    if (this.#owed && this.#owed.epoch < epoch) this.#owed = null;
    const prefix = this.#cache.prefix;
    if (prefix && prefix.epoch < epoch) {
      this.#cache.dropPrefix();
      this.#steps = null;
    }
    for (const r of this.snapshot().active.concat(this.#queue)) {
      if (endAll || !r.keepOnInstruction) this.#end(r.id, 'superseded');
    }
  }

  // --- runs ---------------------------------------------------------------------------------------------------------

  #prefill(frame: Frame, nowMs: number): Observable<unknown> {
    this.#reportFrame();
    this.#waiting = null;
    this.#lastPrefillMs = nowMs;
    this.#steps = 0;
    this.#current = { frame, steps: 0, tokens: 0, batch: 0 };
    return this.#run(
      this.#executor.prefill(frame),
      ({ kv, length, next }) => {
        this.#cache.commitPrefix(
          { frameId: frame.id, stampNs: frame.stampNs, epoch: frame.epoch, length, next: finite(next) },
          kv,
        );
        this.#owed = frame;
      },
      error => this.#drop(error),
    );
  }

  #denoise(frame: Frame): Observable<unknown> {
    return this.#run(
      this.#executor.denoise(frame, this.#cache.prefixView()),
      actions => {
        this.#owed = null;
        if (!actions.every(Number.isFinite))
          throw new OxygenError('NON_FINITE', `actions of frame ${frame.id} are not finite`);
        this.#events$.next({ type: 'chunk', frame, actions });
      },
      error => {
        this.#owed = null;
        this.#drop(error);
      },
    );
  }

  #start(request: LanguageRequest): Observable<unknown> {
    const prefix = this.#cache.prefix;
    if (!prefix) throw new OxygenError('INTERNAL', 'a request was started without a prefix');
    this.#queue = this.#queue.filter(r => r !== request);
    this.#cache.attach(request.id, KvCache.need(prefix.length, request.seedIds.length, request.maxTokens));
    const active: Active = { request, frameStampNs: prefix.stampNs, tokens: 0, last: -1 };
    this.#active.set(request.id, active);
    if (request.seedIds.length === 0) {
      this.#take(active, prefix.next);
      return of(null);
    }
    return this.#run(
      this.#executor.seed(request.seedIds, this.#cache.rowView(request.id)),
      ({ kv, next }) => {
        this.#cache.append(request.id, kv, 0, request.seedIds.length);
        this.#take(active, next);
      },
      error => this.#end(request.id, 'failed', error),
    );
  }

  #decode(): Observable<unknown> {
    const batch = this.#cache.batch();
    const rows = batch.map(({ id }) => this.#active.get(id) as Active);
    return this.#run(
      this.#executor.decode(
        rows.map(r => r.last),
        batch.map(r => r.length),
        this.#cache.batchView(),
      ),
      ({ kv, next }) => {
        this.#steps = (this.#steps ?? 0) + 1;
        if (this.#current) {
          this.#current.steps += 1;
          this.#current.batch = Math.max(this.#current.batch, rows.length);
        }
        rows.forEach((row, i) => {
          try {
            this.#cache.append(row.request.id, kv, i, 1);
            this.#take(row, next[i] as Candidates);
          } catch (error) {
            // One row's bad numbers end that row; the others go on.
            this.#end(row.request.id, 'failed', toOxygenError(error));
          }
        });
      },
      error => rows.forEach(r => this.#end(r.request.id, 'failed', error)),
    );
  }

  /** A run's one result is committed, or its failure handled; either way the policy goes on. */
  #run<T>(
    run: Observable<T>,
    commit: (result: T) => void,
    failed: (error: OxygenError) => void,
  ): Observable<unknown> {
    return run.pipe(
      map(commit),
      catchError(error => {
        failed(toOxygenError(error, 'RUN_FAILED'));
        return of(null);
      }),
    );
  }

  /** Announces the next token of a request, or its end. */
  #take(active: Active, next: Candidates): void {
    const { request } = active;
    const tokenId = sample(finite(next), request.temperature, request.samplingSeed, active.tokens);
    if (this.#options.stopIds.includes(tokenId)) return this.#end(request.id, 'end');
    const sequence = active.tokens++;
    active.last = tokenId;
    if (this.#current) this.#current.tokens += 1;
    this.#events$.next({
      type: 'token',
      id: request.id,
      sequence,
      tokenId,
      frameStampNs: active.frameStampNs,
    });
    if (active.tokens >= request.maxTokens) this.#end(request.id, 'length');
  }

  // --- ends ---------------------------------------------------------------------------------------------------------

  #isOpen(id: string): boolean {
    return this.#active.has(id) || this.#queue.some(r => r.id === id);
  }

  /** Ends an open request: its row is free at once, its end is announced once. */
  #end(id: string, reason: EndReason, error: OxygenError | null = null): void {
    const active = this.#active.get(id);
    if (active) {
      this.#active.delete(id);
      this.#cache.release(id);
    } else {
      this.#queue = this.#queue.filter(r => r.id !== id);
    }
    this.#announceEnd(id, active?.tokens ?? 0, reason, active?.frameStampNs ?? 0n, error);
  }

  #announceEnd(
    id: string,
    sequence: number,
    reason: EndReason,
    frameStampNs: bigint,
    error: OxygenError | null,
  ): void {
    this.#events$.next({ type: 'done', id, sequence, reason, frameStampNs, error });
  }

  #drop(error: OxygenError): void {
    this.#events$.next({ type: 'drop', error });
  }

  #reportFrame(): void {
    if (!this.#current) return;
    const { frame, steps, tokens, batch } = this.#current;
    this.#events$.next({ type: 'frame-end', frame, decodeSteps: steps, tokens, batch });
  }
}

function finite(next: Candidates): Candidates {
  if (!Number.isFinite(next.logSumExp) || !next.logits.every(Number.isFinite)) {
    throw new OxygenError('NON_FINITE', 'logits are not finite');
  }
  return next;
}
