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
import type { KvCache } from './kv-cache';
import { planStep, type Budget, type FrameCredit, type PlanSnapshot } from './plan';
import type { Candidates, Clock, Executor } from './ports';
import { finite, Requests, type Active } from './requests';
import type { SchedulerEvent, SchedulerInput, SchedulerOptions } from './scheduler-io';
import type { RunCosts } from './run-costs';
import type { Frame, LanguageRequest, Tunables } from './types';

export class Scheduler {
  readonly events$: Observable<SchedulerEvent>;
  readonly #events$ = new Subject<SchedulerEvent>();
  readonly #inputs$ = new Subject<SchedulerInput>();
  readonly #wakeAt$ = new Subject<number | null>();
  readonly #inbox: SchedulerInput[] = [];
  readonly #executor: Executor;
  readonly #cache: KvCache;
  readonly #clock: Clock;
  readonly #requests: Requests;
  #tunables: Tunables;
  #epoch = 0;
  #credit: FrameCredit = 'none';
  #waiting: Frame | null = null;
  #owed: Frame | null = null;
  #lastPrefillMs: number | null = null;
  #current: { frame: Frame; steps: number; tokens: number; batch: number; rowSteps: number } | null = null;
  #steps: number | null = null;
  #closed = false;

  constructor(
    executor: Executor,
    cache: KvCache,
    clock: Clock,
    _costs: RunCosts,
    options: SchedulerOptions,
    timers?: SchedulerLike,
  ) {
    this.#executor = executor;
    this.#cache = cache;
    this.#clock = clock;
    this.#requests = new Requests(cache, options, clock, event => this.#events$.next(event));
    this.#tunables = options.tunables;
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
    return this.#requests.queue.length;
  }

  snapshot(): PlanSnapshot {
    return {
      credit: this.#credit,
      waiting: this.#waiting,
      owed: this.#owed,
      steps: this.#steps,
      lastPrefillMs: this.#lastPrefillMs,
      active: this.#requests.active,
      queue: this.#requests.queue,
      maxRequests: this.#cache.shape.maxRequests,
      hasPrefix: this.#cache.prefix !== null,
    };
  }

  #advance(): Observable<unknown> {
    for (const input of this.#inbox.splice(0)) this.#apply(input);
    if (this.#closed) return EMPTY;
    const { tokensPerFrame, replanRateHz } = this.#tunables;
    const steps = tokensPerFrame.kind === 'fixed' ? tokensPerFrame.steps : tokensPerFrame.minSteps;
    const budget: Budget = { nowMs: this.#clock.now(), tokensPerFrame: steps, replanRateHz };
    const plan = planStep(this.snapshot(), budget);
    switch (plan.kind) {
      case 'expire':
        this.#requests.end(plan.id, 'deadline');
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
        return this.#requests.enqueue(input.request);
      case 'cancel':
        if (this.#requests.isOpen(input.id)) return this.#requests.end(input.id, 'cancelled');
        return this.#drop(
          new OxygenError('REQUEST_UNKNOWN', `no unfinished language request ${JSON.stringify(input.id)}`),
        );
      case 'epoch':
        return this.#startEpoch(input.epoch, input.endAll);
      case 'tunables':
        this.#tunables = input.tunables;
        return;
    }
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
    for (const r of [...this.#requests.active, ...this.#requests.queue]) {
      if (endAll || !r.keepOnInstruction) this.#requests.end(r.id, 'superseded');
    }
  }

  // --- runs ---------------------------------------------------------------------------------------------------------

  #prefill(frame: Frame, nowMs: number): Observable<unknown> {
    this.#reportFrame();
    this.#waiting = null;
    this.#lastPrefillMs = nowMs;
    this.#steps = 0;
    this.#current = { frame, steps: 0, tokens: 0, batch: 0, rowSteps: 0 };
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
    const active = this.#requests.start(request, prefix);
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
      error => this.#requests.end(request.id, 'failed', error),
    );
  }

  #decode(): Observable<unknown> {
    const rows = this.#requests.batch();
    const lengths = this.#cache.batch().map(r => r.length);
    return this.#run(
      this.#executor.decode(
        rows.map(r => r.last),
        lengths,
        this.#cache.batchView(),
      ),
      ({ kv, next }) => {
        this.#steps = (this.#steps ?? 0) + 1;
        if (this.#current) {
          this.#current.steps += 1;
          this.#current.rowSteps += rows.length;
          this.#current.batch = Math.max(this.#current.batch, rows.length);
        }
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
      error => rows.forEach(r => this.#requests.end(r.request.id, 'failed', error)),
    );
  }

  #take(active: Active, next: Candidates): void {
    if (this.#requests.take(active, next) && this.#current) this.#current.tokens += 1;
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

  #drop(error: OxygenError): void {
    this.#events$.next({ type: 'drop', error });
  }

  #reportFrame(): void {
    if (!this.#current) return;
    const { frame, steps, tokens, batch, rowSteps } = this.#current;
    this.#events$.next({ type: 'frame-end', frame, decodeSteps: steps, tokens, batch, rowSteps });
  }
}
