/**
 * Life of language requests: queued → active → done(reason). Owns the queue and what each active request has said;
 * every end frees its cache row at once and is announced exactly once.
 */
import { OxygenError } from './errors';
import { KvCache, type Prefix } from './kv-cache';
import type { Candidates, Clock } from './ports';
import { sample } from './sampler';
import type { SchedulerEvent, SchedulerOptions } from './scheduler-io';
import type { EndReason, LanguageRequest } from './types';
import { byUrgency, type Queued } from './urgency';

/** A request that has a row. */
export interface Active {
  readonly request: LanguageRequest;
  readonly queuedAtMs: number;
  /** Of the frame whose prefix it started from. */
  readonly frameStampNs: bigint;
  /** Since it was queued; null before the first token. */
  firstTokenMs: number | null;
  /** Tokens announced. */
  tokens: number;
  /** Announced but not yet fed. */
  last: number;
}

export type RequestOptions = Pick<SchedulerOptions, 'maxQueue' | 'maxPrefixLength' | 'stopIds' | 'ageingMs'>;

export class Requests {
  readonly #cache: KvCache;
  readonly #options: RequestOptions;
  readonly #clock: Clock;
  readonly #announce: (event: SchedulerEvent) => void;
  /** In the order of their starts. */
  readonly #active = new Map<string, Active>();
  #queue: Queued[] = [];
  #off: OxygenError | null = null;

  constructor(
    cache: KvCache,
    options: RequestOptions,
    clock: Clock,
    announce: (event: SchedulerEvent) => void,
  ) {
    this.#cache = cache;
    this.#options = options;
    this.#clock = clock;
    this.#announce = announce;
  }

  /** In order of arrival. */
  get queue(): readonly Queued[] {
    return this.#queue;
  }

  /** In the order of their starts: the youngest is the last. */
  get active(): readonly LanguageRequest[] {
    return [...this.#active.values()].map(a => a.request);
  }

  /** Requests are refused. */
  get off(): boolean {
    return this.#off !== null;
  }

  readonly isOpen = (id: string): boolean =>
    this.#active.has(id) || this.#queue.some(q => q.request.id === id);

  /** The active requests in the order of their cache rows. */
  batch(): readonly Active[] {
    return this.#cache.batch().map(({ id }) => this.#active.get(id) as Active);
  }

  /** `inFrame`: it belongs to the frame that is on. Refuses what cannot run; a queue that is full drops its least urgent. */
  enqueue(request: LanguageRequest, queuedAtMs: number, inFrame = false): void {
    const { id } = request;
    if (this.isOpen(id)) {
      const error = new OxygenError(
        'REQUEST_INVALID',
        `language request ${JSON.stringify(id)} is running already`,
      );
      return this.#announce({ type: 'drop', error });
    }
    const queued: Queued = { request, queuedAtMs, inFrame };
    const refusal = this.#off ?? this.#neverFits(request);
    if (refusal) return this.#announceEnd(queued, null, 'rejected', refusal);
    this.#queue.push(queued);
    if (this.#queue.length <= this.#options.maxQueue) return;
    // The least urgent one goes; among equals the newest.
    const least = [...this.#queue]
      .sort(byUrgency(this.#clock.now(), this.#options.ageingMs))
      .at(-1) as Queued;
    const error = new OxygenError(
      'QUEUE_FULL',
      `the queue holds ${this.#options.maxQueue} language requests already`,
    );
    this.end(least.request.id, 'dropped', error);
  }

  /** A frame begins: what waits now may start from it, whatever the mode. */
  frameBegins(): void {
    this.#queue = this.#queue.map(q => ({ ...q, inFrame: true }));
  }

  /** Gives a queued request its row, which begins with the prefix. */
  start(request: LanguageRequest, prefix: Prefix): Active {
    const queued = this.#queue.find(q => q.request === request);
    if (!queued) throw new OxygenError('INTERNAL', `request ${request.id} is not in the queue`);
    this.#cache.attach(request.id, KvCache.need(prefix.length, request.seedIds.length, request.maxTokens));
    this.#queue = this.#queue.filter(q => q !== queued);
    const active: Active = {
      request,
      queuedAtMs: queued.queuedAtMs,
      frameStampNs: prefix.stampNs,
      firstTokenMs: null,
      tokens: 0,
      last: -1,
    };
    this.#active.set(request.id, active);
    return active;
  }

  /** Announces the next token of a request, or its end; true for a token. Throws NON_FINITE for bad logits. */
  take(active: Active, next: Candidates): boolean {
    const { request, frameStampNs } = active;
    const tokenId = sample(finite(next), request, active.tokens);
    if (this.#options.stopIds.includes(tokenId)) {
      this.end(request.id, 'end');
      return false;
    }
    const sequence = active.tokens++;
    active.last = tokenId;
    active.firstTokenMs ??= this.#clock.now() - active.queuedAtMs;
    const margin = (next.logits[0] as number) - (next.logits[1] ?? -Infinity);
    this.#announce({ type: 'token', id: request.id, sequence, tokenId, margin, frameStampNs });
    if (active.tokens >= request.maxTokens) this.end(request.id, 'length');
    return true;
  }

  /** Ends an open request. */
  end(id: string, reason: EndReason, error: OxygenError | null = null): void {
    const active = this.#active.get(id);
    if (active) {
      this.#active.delete(id);
      this.#cache.release(id);
      return this.#announceEnd(active, active, reason, error);
    }
    const queued = this.#queue.find(q => q.request.id === id);
    if (!queued) throw new OxygenError('INTERNAL', `request ${id} is not open`);
    this.#queue = this.#queue.filter(q => q !== queued);
    this.#announceEnd(queued, null, reason, error);
  }

  /** Ends all requests that are open. */
  endAll(reason: EndReason, error: OxygenError | null = null, which = (_: LanguageRequest) => true): void {
    for (const request of [...this.active, ...this.#queue.map(q => q.request)])
      if (which(request)) this.end(request.id, reason, error);
  }

  /** Ends and refuses all requests until it is switched on again. */
  switchOff(error: OxygenError): void {
    this.#off = error;
    this.#announce({ type: 'language-off', error });
    this.endAll('rejected', error);
  }

  switchOn(): void {
    this.#off = null;
  }

  #neverFits({ id, seedIds, maxTokens }: LanguageRequest): OxygenError | null {
    const need = KvCache.need(this.#options.maxPrefixLength, seedIds.length, maxTokens);
    const { capacity } = this.#cache.shape;
    if (need <= capacity && maxTokens >= 1) return null;
    const message = `request ${id} needs ${need} positions, a row has ${capacity}`;
    return new OxygenError('REQUEST_NEVER_FITS', message);
  }

  #announceEnd(
    { request: { id }, queuedAtMs }: Pick<Queued, 'request' | 'queuedAtMs'>,
    active: Active | null,
    reason: EndReason,
    error: OxygenError | null,
  ): void {
    const { tokens, frameStampNs, firstTokenMs } = active ?? NOT_STARTED;
    const totalMs = this.#clock.now() - queuedAtMs;
    this.#announce({
      type: 'done',
      id,
      sequence: tokens,
      reason,
      frameStampNs,
      error,
      firstTokenMs,
      totalMs,
    });
  }
}

const NOT_STARTED = { tokens: 0, frameStampNs: 0n, firstTokenMs: null };

/** Commit refuses numbers that no healthy model gives. */
export function finite(next: Candidates): Candidates {
  if (Number.isFinite(next.logSumExp) && next.logits.every(Number.isFinite)) return next;
  throw new OxygenError('NON_FINITE', 'logits are not finite');
}

/** A plain one: no seed, greedy, no deadline. */
export const greedyRequest = (id: string, maxTokens: number): LanguageRequest => ({
  id,
  seedIds: [],
  maxTokens,
  temperature: 0,
  topK: 0,
  topP: 1,
  samplingSeed: 0,
  priority: 0,
  deadlineMs: null,
  keepOnInstruction: true,
});
