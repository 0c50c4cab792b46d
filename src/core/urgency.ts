/** Which waiting request goes first, and so which one goes last when the queue is full. */
import type { LanguageRequest } from './types';

export interface Queued {
  readonly request: LanguageRequest;
  readonly queuedAtMs: number;
  /** It was there when the newest frame began. */
  readonly inFrame: boolean;
}

/**
 * Priority, raised by one for every `ageingMs` of waiting (0: never); then deadline; then age: sorting is stable and
 * the queue is in order of arrival.
 */
export function byUrgency(nowMs: number, ageingMs: number): (a: Queued, b: Queued) => number {
  const aged = (q: Queued): number => (ageingMs > 0 ? Math.floor((nowMs - q.queuedAtMs) / ageingMs) : 0);
  const priority = (q: Queued): number => q.request.priority + aged(q);
  const deadline = (q: Queued): number => q.request.deadlineMs ?? Number.MAX_VALUE;
  return (a, b) => priority(b) - priority(a) || deadline(a) - deadline(b);
}
