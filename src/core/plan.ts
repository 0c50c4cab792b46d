/** The policy: which run is next. Pure; time is passed in; knows nothing of ROS, ONNX or the scheduler's wiring. */
import { languageFits, languageUntilMs, pacedAtMs, type Expected } from './due';
import type { Ahead } from './ports';
import type { Frame, LanguageRequest, Mode, TokensPerFrame } from './types';
import { byUrgency, type Queued } from './urgency';

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
  /** The frame whose prefix is in the cache: requests can attach to it. */
  readonly frame: Frame | null;
  /** The request that the newest prefill was run for; null: the actions. */
  readonly prefilledFor: string | null;
  /** Requests that got a row since the newest frame began or the last decode step. */
  readonly started: number;
  /** Decode steps since the newest frame began; null before the first frame and after an epoch. */
  readonly steps: number | null;
  /** When the newest frame began. */
  readonly lastPrefillMs: number | null;
  /** When the executed part of the newest chunk has been played; null before the first chunk and after a reset. */
  readonly playsUntilMs: number | null;
  readonly active: readonly LanguageRequest[];
  /** In order of arrival. */
  readonly queue: readonly Queued[];
  readonly maxRequests: number;
}

export interface Budget {
  readonly nowMs: number;
  readonly mode: Mode;
  readonly tokensPerFrame: TokensPerFrame;
  /** 0 is no cap. */
  readonly replanRateHz: number;
  /** Waiting time worth one step of priority; 0: none. */
  readonly ageingMs: number;
  readonly expected: Expected;
}

export type StepPlan =
  /** Past its deadline. */
  | { readonly kind: 'expire'; readonly id: string }
  /** Begins a frame; with an owner the same frame is prefilled once more, for that request alone. */
  | { readonly kind: 'prefill'; readonly frame: Frame; readonly owner: string | null }
  | { readonly kind: 'denoise'; readonly frame: Frame }
  | { readonly kind: 'ask' }
  /** Give the request a row, run its seed if it has one, and take its first token. */
  | { readonly kind: 'start'; readonly request: LanguageRequest }
  /** One step of all active rows. */
  | { readonly kind: 'decode' }
  /** Nothing to do until an input arrives or this time comes. */
  | { readonly kind: 'idle'; readonly wakeAtMs: number | null };

/** All that the modes differ in. */
const SHARING: Readonly<Record<Mode, { readonly ownPrefill: boolean; readonly acrossFrames: boolean }>> = {
  isolated: { ownPrefill: true, acrossFrames: false },
  shared: { ownPrefill: false, acrossFrames: false },
  oxygen: { ownPrefill: false, acrossFrames: true },
};

/**
 * The next step: what is late ends; a chunk that is owed goes before all else; a frame that came begins; language runs
 * (seeds, then one step of all rows) as long as no frame is due; when one is due it is asked for.
 */
export function planStep(s: PlanSnapshot, b: Budget): StepPlan {
  const open = [...s.active, ...s.queue.map(q => q.request)];
  const expired = open.find(r => r.deadlineMs !== null && b.nowMs >= r.deadlineMs);
  if (expired) return { kind: 'expire', id: expired.id };

  if (s.owed) return { kind: 'denoise', frame: s.owed };

  const paced = pacedAtMs(s.lastPrefillMs, b.replanRateHz);
  const mayBegin = b.nowMs >= paced;
  if (s.waiting && mayBegin) return { kind: 'prefill', frame: s.waiting, owner: null };

  const language = nextLanguageRun(s, b);
  const goesOn =
    language !== null && (s.credit === 'starved' || languageFits(s, b, language.ms, leastSteps(b)));
  if (goesOn) return language.plan;
  if (mayBegin && s.credit === 'none') return { kind: 'ask' };
  return idle(open, paced, b);
}

/** Decode steps that a frame gets whatever the time: without sharing across frames, all that its requests need. */
function leastSteps(b: Budget): number {
  if (!SHARING[b.mode].acrossFrames) return Infinity;
  return b.tokensPerFrame.kind === 'fixed' ? b.tokensPerFrame.steps : b.tokensPerFrame.minSteps;
}

/** How far decode steps may run ahead. While an answer is coming a frame may begin at any moment: then not at all. */
export function stepsAhead(s: PlanSnapshot, b: Budget): Ahead {
  if (s.waiting) return { steps: 1, untilMs: pacedAtMs(s.lastPrefillMs, b.replanRateHz) };
  if (s.credit !== 'none' || s.steps === null) return { steps: 1, untilMs: -Infinity };
  return { steps: Math.max(1, leastSteps(b) - s.steps), untilMs: languageUntilMs(s, b) };
}

/** What language would run now and what that is expected to take. */
function nextLanguageRun(
  s: PlanSnapshot,
  b: Budget,
): { readonly plan: StepPlan; readonly ms: number } | null {
  const next = nextRequest(s, b);
  if (s.frame && next && SHARING[b.mode].ownPrefill && s.prefilledFor !== next.id) {
    return { plan: { kind: 'prefill', frame: s.frame, owner: next.id }, ms: b.expected.prefillMs };
  }
  if (next) {
    return { plan: { kind: 'start', request: next }, ms: next.seedIds.length > 0 ? b.expected.seedMs : 0 };
  }
  return s.active.length > 0 ? { plan: { kind: 'decode' }, ms: b.expected.decodeMs } : null;
}

/** The queued request that is next in line, if one can start now. */
function nextRequest(s: PlanSnapshot, b: Budget): LanguageRequest | null {
  const { acrossFrames } = SHARING[b.mode];
  if (!s.frame || s.active.length >= (acrossFrames ? s.maxRequests : 1)) return null;
  // As many per step as there are rows: a flood of short requests must not hold up the next frame.
  if (acrossFrames && s.started >= s.maxRequests && s.credit !== 'starved') return null;
  const startable = acrossFrames ? s.queue : s.queue.filter(q => q.inFrame);
  return [...startable].sort(byUrgency(b.nowMs, b.ageingMs))[0]?.request ?? null;
}

function idle(open: readonly LanguageRequest[], paced: number, b: Budget): StepPlan {
  const times = open.map(r => r.deadlineMs ?? Infinity);
  if (paced > b.nowMs) times.push(paced);
  const wakeAtMs = Math.min(Infinity, ...times);
  return { kind: 'idle', wakeAtMs: wakeAtMs === Infinity ? null : wakeAtMs };
}
