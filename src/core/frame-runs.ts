/** Prefill and denoise: runs the executor, commits what it gave, and knows what became of the newest frame. */
import type { Observable } from 'rxjs';
import { playsUntilMs } from './due';
import { OxygenError } from './errors';
import type { KvCache } from './kv-cache';
import type { LanguageRuns } from './language-runs';
import type { PlanSnapshot } from './plan';
import type { Clock, Executor } from './ports';
import { finite } from './requests';
import type { SchedulerEvent } from './scheduler-io';
import { settle } from './settle';
import type { Frame } from './types';

type FrameState = Pick<
  PlanSnapshot,
  'owed' | 'frame' | 'prefilledFor' | 'started' | 'steps' | 'lastPrefillMs' | 'playsUntilMs'
>;

export class FrameRuns {
  readonly #executor: Executor;
  readonly #cache: KvCache;
  readonly #clock: Clock;
  readonly #executeMs: () => number;
  readonly #language: LanguageRuns;
  readonly #announce: (event: SchedulerEvent) => void;
  #owed: Frame | null = null;
  #frame: Frame | null = null;
  #prefilledFor: string | null = null;
  /** The frame that began last, whatever became of it. */
  #begun: Frame | null = null;
  /** No frame began since the start or the last epoch. */
  #stale = true;
  #lastPrefillMs: number | null = null;
  #playsUntilMs: number | null = null;

  constructor(
    executor: Executor,
    cache: KvCache,
    clock: Clock,
    executeMs: () => number,
    language: LanguageRuns,
    announce: (event: SchedulerEvent) => void,
  ) {
    this.#executor = executor;
    this.#cache = cache;
    this.#clock = clock;
    this.#executeMs = executeMs;
    this.#language = language;
    this.#announce = announce;
  }

  get state(): FrameState {
    return {
      owed: this.#owed,
      frame: this.#frame,
      prefilledFor: this.#prefilledFor,
      started: this.#language.tally.started,
      steps: this.#stale ? null : this.#language.tally.decodeSteps,
      lastPrefillMs: this.#lastPrefillMs,
      playsUntilMs: this.#playsUntilMs,
    };
  }

  /** The frame before has ended; `committed` is called when the prefix is in the cache. */
  begin(frame: Frame, committed: () => void): Observable<unknown> {
    if (this.#begun) {
      const { decodeSteps, tokens, batch, rowSteps } = this.#language.tally;
      this.#announce({ type: 'frame-end', frame: this.#begun, decodeSteps, tokens, batch, rowSteps });
    }
    this.#begun = frame;
    this.#stale = false;
    this.#lastPrefillMs = this.#clock.now();
    this.#language.frameBegins();
    const prefilled = () => {
      this.#prefilledFor = null;
      this.#owed = frame;
      committed();
    };
    return this.#prefill(frame, prefilled, error => this.#announce({ type: 'drop', error }));
  }

  /** Once more, for one request alone. */
  prefillFor(owner: string, frame: Frame): Observable<unknown> {
    const prefilled = () => {
      this.#prefilledFor = owner;
    };
    return this.#prefill(frame, prefilled, error => this.#language.failed(error, [owner]));
  }

  denoise(frame: Frame): Observable<unknown> {
    return settle(
      this.#executor.denoise(frame, this.#cache.prefixView()),
      actions => {
        this.#owed = null;
        if (!actions.every(Number.isFinite))
          throw new OxygenError('NON_FINITE', `actions of frame ${frame.id} are not finite`);
        const nowMs = this.#clock.now();
        const observedMs = frame.observedMs ?? this.#lastPrefillMs ?? nowMs;
        this.#playsUntilMs = playsUntilMs(this.#playsUntilMs, observedMs, nowMs, this.#executeMs());
        this.#announce({ type: 'chunk', frame, actions });
      },
      error => {
        this.#owed = null;
        this.#announce({ type: 'drop', error });
      },
    );
  }

  /** What belongs to an older epoch is void; after a reset no chunk plays any more. */
  startEpoch(epoch: number, reset: boolean): void {
    if (this.#owed && this.#owed.epoch < epoch) this.#owed = null;
    if (this.#frame && this.#frame.epoch < epoch) {
      this.#cache.dropPrefix();
      this.#frame = null;
    }
    if (this.#begun && this.#begun.epoch < epoch) this.#stale = true;
    if (reset) this.#playsUntilMs = null;
  }

  #prefill(frame: Frame, prefilled: () => void, failed: (error: OxygenError) => void): Observable<unknown> {
    return settle(
      this.#executor.prefill(frame),
      ({ kv, length, next }) => {
        const { id: frameId, stampNs, epoch } = frame;
        this.#cache.commitPrefix({ frameId, stampNs, epoch, length, next: finite(next) }, kv);
        this.#frame = frame;
        prefilled();
      },
      failed,
    );
  }
}
