/**
 * Life of language requests: queued → active → done(reason). Owns the queue and what each active request has said;
 * every end frees its cache row at once and is announced exactly once.
 */
import { OxygenError } from './errors';
import { KvCache, type Prefix } from './kv-cache';
import { byUrgency } from './plan';
import type { Candidates, Clock } from './ports';
import { sample } from './sampler';
import type { SchedulerEvent, SchedulerOptions } from './scheduler-io';
import type { EndReason, LanguageRequest } from './types';

/** A request that has a row. */
export interface Active {
  readonly request: LanguageRequest;
  /** Of the frame whose prefix it started from. */
  readonly frameStampNs: bigint;
  readonly queuedAtMs: number;
  firstTokenMs: number | null;
  /** Tokens announced. */
  tokens: number;
  /** Announced but not yet fed. */
  last: number;
}

export type RequestOptions = Pick<SchedulerOptions, 'maxQueue' | 'maxPrefixLength' | 'stopIds'>;

export class Requests {
  readonly #cache: KvCache;
  readonly #options: RequestOptions;
  readonly #announce: (event: SchedulerEvent) => void;
  readonly #clock: Clock;
  readonly #active = new Map<string, Active>();
  readonly #queuedAtMs = new Map<string, number>();
  #queue: LanguageRequest[] = [];

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
  get queue(): readonly LanguageRequest[] {
    return this.#queue;
  }

  get active(): readonly LanguageRequest[] {
    return Array.from(this.#active.values(), a => a.request);
  }

  isOpen(id: string): boolean {
    return this.#active.has(id) || this.#queue.some(r => r.id === id);
  }

  /** The active requests in the order of their cache rows. */
  batch(): readonly Active[] {
    return this.#cache.batch().map(({ id }) => this.#active.get(id) as Active);
  }

  enqueue(request: LanguageRequest): void {
    if (this.isOpen(request.id)) {
      const error = new OxygenError(
        'REQUEST_INVALID',
        `language request ${JSON.stringify(request.id)} is running already`,
      );
      return this.#announce({ type: 'drop', error });
    }
    const need = KvCache.need(this.#options.maxPrefixLength, request.seedIds.length, request.maxTokens);
    if (need > this.#cache.shape.capacity || request.maxTokens < 1) {
      const message = `request ${request.id} needs ${need} positions, a row has ${this.#cache.shape.capacity}`;
      return this.#announceEnd(request.id, null, 'rejected', new OxygenError('REQUEST_NEVER_FITS', message));
    }
    this.#queue.push(request);
    this.#queuedAtMs.set(request.id, this.#clock.now());
    if (this.#queue.length <= this.#options.maxQueue) return;
    // The least urgent one goes; among equals the newest.
    const least = [...this.#queue].sort(byUrgency).at(-1) as LanguageRequest;
    const error = new OxygenError(
      'QUEUE_FULL',
      `the queue holds ${this.#options.maxQueue} language requests already`,
    );
    this.end(least.id, 'dropped', error);
  }

  /** Gives a queued request its row, which begins with the prefix. */
  start(request: LanguageRequest, prefix: Prefix): Active {
    this.#queue = this.#queue.filter(r => r !== request);
    this.#cache.attach(request.id, KvCache.need(prefix.length, request.seedIds.length, request.maxTokens));
    const active: Active = {
      request,
      frameStampNs: prefix.stampNs,
      queuedAtMs: this.#queuedAtMs.get(request.id) ?? this.#clock.now(),
      firstTokenMs: null,
      tokens: 0,
      last: -1,
    };
    this.#active.set(request.id, active);
    return active;
  }

  /** Announces the next token of a request, or its end; true for a token. Throws NON_FINITE for bad logits. */
  take(active: Active, next: Candidates): boolean {
    const { request } = active;
    const tokenId = sample(finite(next), request.temperature, request.samplingSeed, active.tokens);
    if (this.#options.stopIds.includes(tokenId)) {
      this.end(request.id, 'end');
      return false;
    }
    const sequence = active.tokens++;
    active.last = tokenId;
    active.firstTokenMs ??= this.#clock.now() - active.queuedAtMs;
    const margin = (next.logits[0] as number) - (next.logits[1] ?? -Infinity);
    const { frameStampNs } = active;
    this.#announce({ type: 'token', id: request.id, sequence, tokenId, margin, frameStampNs });
    if (active.tokens >= request.maxTokens) this.end(request.id, 'length');
    return true;
  }

  /** Ends an open request. */
  end(id: string, reason: EndReason, error: OxygenError | null = null): void {
    const active = this.#active.get(id) ?? null;
    if (active) {
      this.#active.delete(id);
      this.#cache.release(id);
    } else {
      this.#queue = this.#queue.filter(r => r.id !== id);
    }
    this.#announceEnd(id, active, reason, error);
  }

  #announceEnd(id: string, active: Active | null, reason: EndReason, error: OxygenError | null): void {
    const [sequence, frameStampNs] = active ? [active.tokens, active.frameStampNs] : [0, 0n];
    const now = this.#clock.now();
    const totalMs = now - (this.#queuedAtMs.get(id) ?? now);
    this.#queuedAtMs.delete(id);
    const firstTokenMs = active?.firstTokenMs ?? null;
    this.#announce({ type: 'done', id, sequence, reason, frameStampNs, error, firstTokenMs, totalMs });
  }
}

/** Commit refuses numbers that no healthy model gives. */
export function finite(next: Candidates): Candidates {
  if (Number.isFinite(next.logSumExp) && next.logits.every(Number.isFinite)) return next;
  throw new OxygenError('NON_FINITE', 'logits are not finite');
}
