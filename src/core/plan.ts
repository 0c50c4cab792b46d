/** The policy: which run is next. Pure; time is passed in; knows nothing of ROS, ONNX or the scheduler's wiring. */
import type { Frame, LanguageRequest } from './types';

/**
 * The frame mailbox. `none`: nobody was asked; `asked`: an answer is coming, language waits for it so that every frame
 * gets exactly k steps; `starved`: the cameras have nothing newer, language goes on alone.
 */
export type FrameCredit = 'none' | 'asked' | 'starved';

export interface PlanSnapshot {
  readonly credit: FrameCredit;
  /** Delivered and not yet started. */
  readonly waiting: Frame | null;
  /** The frame whose prefix is in the cache and whose chunk is still owed. */
  readonly owed: Frame | null;
  /** Decode steps since the newest prefill; null before the first frame. */
  readonly steps: number | null;
  /** Start of the newest prefill. */
  readonly lastPrefillMs: number | null;
  readonly active: readonly LanguageRequest[];
  /** In order of arrival. */
  readonly queue: readonly LanguageRequest[];
  readonly maxRequests: number;
  /** A request can attach. */
  readonly hasPrefix: boolean;
}

export interface Budget {
  readonly nowMs: number;
  /** k */
  readonly tokensPerFrame: number;
  /** 0 is no cap. */
  readonly replanRateHz: number;
}

export type StepPlan =
  /** Past its deadline. */
  | { readonly kind: 'expire'; readonly id: string }
  | { readonly kind: 'prefill'; readonly frame: Frame }
  | { readonly kind: 'denoise'; readonly frame: Frame }
  | { readonly kind: 'ask' }
  /** Give the request a row, run its seed if it has one, and take its first token. */
  | { readonly kind: 'start'; readonly request: LanguageRequest }
  | { readonly kind: 'decode' }
  /** Nothing to do until an input arrives or this time comes. */
  | { readonly kind: 'idle'; readonly wakeAtMs: number | null };

/** The next step: actions first, then seeds, then one ragged decode step; k steps per frame. */
export function planStep(s: PlanSnapshot, b: Budget): StepPlan {
  const expired = [...s.active, ...s.queue].find(r => r.deadlineMs !== null && b.nowMs >= r.deadlineMs);
  if (expired) return { kind: 'expire', id: expired.id };

  if (s.owed) return { kind: 'denoise', frame: s.owed };

  const pacedAtMs = pace(s, b);
  const paced = b.nowMs >= pacedAtMs;
  if (s.waiting && paced) return { kind: 'prefill', frame: s.waiting };

  const next = nextRequest(s);
  if (paced && s.credit !== 'starved' && isDue(s, b, next !== null)) {
    return s.credit === 'none' ? { kind: 'ask' } : idle(s, pacedAtMs, b);
  }
  if (next) return { kind: 'start', request: next };
  if (s.active.length > 0) return { kind: 'decode' };
  return idle(s, pacedAtMs, b);
}

/** k steps of this frame are done, or there is nothing to say. */
function isDue(s: PlanSnapshot, b: Budget, canStart: boolean): boolean {
  if (s.steps === null) return true;
  return s.steps >= b.tokensPerFrame || (s.active.length === 0 && !canStart);
}

/** The earliest start of the next prefill under the replan cap. */
function pace(s: PlanSnapshot, b: Budget): number {
  if (b.replanRateHz <= 0 || s.lastPrefillMs === null) return -Infinity;
  return s.lastPrefillMs + 1000 / b.replanRateHz;
}

function idle(s: PlanSnapshot, pacedAtMs: number, b: Budget): StepPlan {
  const times = [...s.active, ...s.queue].map(r => r.deadlineMs ?? Infinity);
  if (pacedAtMs > b.nowMs) times.push(pacedAtMs);
  const wakeAtMs = Math.min(Infinity, ...times);
  return { kind: 'idle', wakeAtMs: wakeAtMs === Infinity ? null : wakeAtMs };
}

/** The queued request that is next in line, if one can start now. */
function nextRequest(s: PlanSnapshot): LanguageRequest | null {
  if (!s.hasPrefix || s.active.length >= s.maxRequests) return null;
  return [...s.queue].sort(byUrgency)[0] ?? null;
}

/** Priority, then deadline, then age (sorting is stable and the queue is in order of arrival). */
export function byUrgency(a: LanguageRequest, b: LanguageRequest): number {
  const deadline = (r: LanguageRequest) => r.deadlineMs ?? Number.MAX_VALUE;
  return b.priority - a.priority || deadline(a) - deadline(b);
}
