/**
 * RxJS wiring of the policy: inputs wait in an inbox while a run is on, are applied between runs, and `planStep` says
 * what to run next. All state is changed here and in the cache, never while a run is on.
 */
import {
  defer,
  EMPTY,
  exhaustMap,
  expand,
  merge,
  of,
  Subject,
  switchMap,
  tap,
  timer,
  ignoreElements,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { OxygenError } from './errors';
import type { Expected } from './due';
import { FrameRuns } from './frame-runs';
import type { KvCache } from './kv-cache';
import { LanguageRuns } from './language-runs';
import { planStep, stepsAhead, type FrameCredit, type PlanSnapshot } from './plan';
import type { Clock, Executor } from './ports';
import { Requests } from './requests';
import type { RunCosts } from './run-costs';
import type { SchedulerEvent, SchedulerInput, SchedulerOptions } from './scheduler-io';
import { StandingAsker } from './standing';
import type { Frame, Tunables } from './types';

export class Scheduler {
  readonly events$: Observable<SchedulerEvent>;
  readonly #events$ = new Subject<SchedulerEvent>();
  readonly #inputs$ = new Subject<SchedulerInput>();
  readonly #wakeAt$ = new Subject<number | null>();
  readonly #inbox: { readonly input: SchedulerInput; readonly atMs: number }[] = [];
  readonly #cache: KvCache;
  readonly #clock: Clock;
  readonly #costs: RunCosts;
  readonly #options: SchedulerOptions;
  readonly #requests: Requests;
  readonly #language: LanguageRuns;
  readonly #frames: FrameRuns;
  readonly #standing = new StandingAsker();
  #tunables: Tunables;
  #epoch = 0;
  #credit: FrameCredit = 'none';
  #askedAtMs = 0;
  #waiting: Frame | null = null;
  #closed = false;

  /** `costs` are read here and written by the executor; only the time from asking to having a frame is written here. */
  constructor(
    executor: Executor,
    cache: KvCache,
    clock: Clock,
    costs: RunCosts,
    options: SchedulerOptions,
    timers?: SchedulerLike,
  ) {
    this.#cache = cache;
    this.#clock = clock;
    this.#costs = costs;
    this.#options = options;
    const announce = (event: SchedulerEvent) => this.#events$.next(event);
    this.#requests = new Requests(cache, options, clock, announce);
    this.#language = new LanguageRuns(executor, cache, this.#requests);
    this.#tunables = options.tunables;
    const executeMs = () => this.#tunables.executeMs;
    this.#frames = new FrameRuns(executor, cache, clock, executeMs, this.#language, announce);
    this.events$ = this.#events$.asObservable();
    const wake$ = this.#wakeAt$.pipe(
      switchMap(at => (at === null ? EMPTY : timer(Math.max(0, Math.ceil(at - clock.now())), timers))),
    );
    const inbox$ = this.#inputs$.pipe(tap(input => this.#inbox.push({ input, atMs: clock.now() })));
    merge(inbox$, wake$)
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
      ...this.#frames.state,
      active: this.#requests.active,
      queue: this.#requests.queue,
      maxRequests: this.#cache.shape.maxRequests,
    };
  }

  #advance(): Observable<unknown> {
    for (const { input, atMs } of this.#inbox.splice(0)) this.#apply(input, atMs);
    if (this.#closed) return EMPTY;
    const { mode, ageingMs } = this.#options;
    const nowMs = this.#clock.now();
    const budget = { nowMs, mode, ageingMs, ...this.#tunables, expected: this.#expected() };
    const snapshot = this.snapshot();
    const plan = planStep(snapshot, budget);
    switch (plan.kind) {
      case 'expire':
        this.#requests.end(plan.id, 'deadline');
        return of(null);
      case 'ask':
        this.#credit = 'asked';
        this.#askedAtMs = nowMs;
        this.#events$.next({ type: 'ask' });
        return of(null);
      case 'prefill':
        if (plan.owner !== null) return this.#frames.prefillFor(plan.owner, plan.frame);
        this.#waiting = null;
        return this.#frames.begin(plan.frame, () => this.#askStanding());
      case 'denoise':
        return this.#frames.denoise(plan.frame);
      case 'start':
        return this.#language.start(plan.request);
      case 'decode':
        return this.#language.decode(stepsAhead(snapshot, budget));
      case 'idle':
        this.#wakeAt$.next(plan.wakeAtMs);
        return EMPTY;
    }
  }

  #expected(): Expected {
    const costs = this.#costs;
    const prefillMs = costs.expected('vision') + costs.expected('prefill');
    return {
      chunkMs: costs.expected('ask') + prefillMs + costs.expected('denoise'),
      prefillMs,
      seedMs: costs.expected('seed'),
      decodeMs: this.#language.nextStepMs(costs),
    };
  }

  // --- inputs -------------------------------------------------------------------------------------------------------

  #apply(input: SchedulerInput, atMs: number): void {
    switch (input.type) {
      case 'frame':
        // A camera with nothing new says nothing of how long an answer takes.
        if (this.#credit === 'asked') this.#costs.measured('ask', atMs - this.#askedAtMs);
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
        return this.#requests.enqueue(input.request, atMs);
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
    this.#frames.startEpoch(epoch, endAll);
    this.#requests.endAll('superseded', null, request => endAll || !request.keepOnInstruction);
    if (endAll) this.#language.reset();
  }

  #askStanding(): void {
    if (this.#requests.off) return;
    const nowMs = this.#clock.now();
    const asked = this.#standing.ofNewFrame(this.#tunables.standing, this.#requests.isOpen, nowMs);
    for (const request of asked) this.#requests.enqueue(request, nowMs, true);
  }

  #drop(error: OxygenError): void {
    this.#events$.next({ type: 'drop', error });
  }
}
