/** When the next frame is due. Pure; times in ms of the engine's clock. */
import type { TokensPerFrame } from './types';

/** What the next runs are expected to take. */
export interface Expected {
  /** From asking for a frame to its chunk. */
  readonly chunkMs: number;
  /** Vision and prefill. */
  readonly prefillMs: number;
  readonly seedMs: number;
  /** The next step of the rows that are active now: a run, or nothing if it is computed already. */
  readonly decodeMs: number;
}

interface Playing {
  readonly steps: number | null;
  readonly lastPrefillMs: number | null;
  readonly playsUntilMs: number | null;
}

interface Pace {
  readonly nowMs: number;
  readonly tokensPerFrame: TokensPerFrame;
  readonly replanRateHz: number;
  readonly expected: Expected;
}

/** Share of the expected time that a chunk is asked for earlier: runs differ a little from their estimate. */
const MARGIN = 0.05;

/** The earliest start of the next frame under the replan cap. */
export function pacedAtMs(lastPrefillMs: number | null, replanRateHz: number): number {
  if (replanRateHz <= 0 || lastPrefillMs === null) return -Infinity;
  return lastPrefillMs + 1000 / replanRateHz;
}

/** Until then `auto` may talk: a chunk asked for at this time arrives when the last one has been played. */
export const chunkDueMs = (playsUntilMs: number | null, chunkMs: number): number =>
  playsUntilMs === null ? -Infinity : playsUntilMs - chunkMs * (1 + MARGIN);

/**
 * Whether a language run of this length comes before the next frame: while the frame has not had its least steps, and
 * after that as long as the run ends before the frame is due. A fixed k is due as soon as it may be.
 */
export function languageFits(s: Playing, b: Pace, runMs: number, leastSteps: number): boolean {
  if (s.steps !== null && s.steps < leastSteps) return true;
  return b.nowMs + runMs <= languageUntilMs(s, b);
}

/** When language must have ended, once the frame has had its least steps. */
export function languageUntilMs(s: Playing, b: Pace): number {
  const byChunk = b.tokensPerFrame.kind === 'auto' && s.steps !== null;
  const dueMs = byChunk ? chunkDueMs(s.playsUntilMs, b.expected.chunkMs) : -Infinity;
  return Math.max(dueMs, pacedAtMs(s.lastPrefillMs, b.replanRateHz));
}

/**
 * When a chunk that comes out now will have been played. It enters at the step that matches what was really played
 * since its frame was observed (ChunkTimeline does the same): all of that time, none, or a part if the old chunk ran out.
 */
export function playsUntilMs(
  previousMs: number | null,
  observedMs: number,
  nowMs: number,
  executeMs: number,
): number {
  const playedMs = Math.max(0, Math.min(previousMs ?? -Infinity, nowMs) - observedMs);
  return nowMs - playedMs + executeMs;
}
