/**
 * Turns action chunks into one command at a point in time. Pure: time comes in as nanoseconds of ROS time.
 *
 * Step 0 of a chunk plays at its *start*. A later chunk starts as long ago as chunks have really been playing
 * since its observation, so with an unbroken stream its start is its observation stamp, and after a pause (cold
 * start, hold) no step is skipped. Chunks replace each other (`latest_only`); #playing is the one seam where an
 * aggregate over several chunks would go. Where the robot file says so, at most `executeSteps` steps of a chunk are
 * played, counted from the step at which it enters; the rest counts as not there.
 *
 * - position: linear between steps
 * - velocity: the step's value while the chunk lasts
 * - delta: every step is sent once, at its trained rate; a tick at which none is due sends 0
 * - binary: `max` when the step is in the upper half of the range (mid included), else `min`
 */
import type { ActionDim } from './robot';
import type { ActionChunk } from './types';

/** A delta that is overdue by more is not sent any more: after a stall, a burst would be a jump. */
const MAX_LATE_NS = 250_000_000n;
/** Longest memory of what has been played; an observation older than this is refused anyway. */
const MEMORY_NS = 60_000_000_000n;
/** A whole number of steps is one, whatever rounding to nanoseconds did. */
const EXACT = 1e-6;

export type Refusal = 'epoch' | 'late' | 'non-finite';
export type Acceptance =
  | { readonly accepted: true; readonly startNs: bigint; readonly firstStep: number }
  | { readonly accepted: false; readonly reason: Refusal };

export interface Sample {
  /** [dims] in robot units; null unless the source is `chunk`. */
  readonly values: Float64Array | null;
  /** `hold`: the last chunk has ended; `none`: there is none since the start, a clear or a stop. */
  readonly source: 'chunk' | 'hold' | 'none';
  /** Step being played, -1 without a chunk. */
  readonly step: number;
  /** Since the observation of the last chunk; 0 without one. */
  readonly ageNs: bigint;
}

interface Playing {
  readonly chunk: ActionChunk;
  /** Steps that count, from step 0; deltas have their own. */
  readonly horizon: number;
  readonly deltaHorizon: number;
  readonly startNs: bigint;
  /** When this chunk took over from the one before. */
  readonly enteredNs: bigint;
  readonly endNs: bigint;
  /** Deltas have their own grid: it continues that of the chunk before. */
  readonly deltaOffsetNs: bigint;
  nextDelta: number;
}

interface Span {
  readonly fromNs: bigint;
  readonly toNs: bigint;
}

interface SentDelta {
  readonly dueNs: bigint;
  readonly sentNs: bigint;
}

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);

export class ChunkTimeline {
  readonly #dims: readonly ActionDim[];
  readonly #stepNs: number;
  readonly #executeSteps: number;
  readonly #hasDeltas: boolean;
  #epoch = 0;
  #playing: Playing | null = null;
  #played: Span[] = [];
  #sent: SentDelta[] = [];

  constructor(dims: readonly ActionDim[], trainHz: number, executeSteps: number | null = null) {
    this.#dims = dims;
    this.#stepNs = 1e9 / trainHz;
    this.#executeSteps = executeSteps ?? Infinity;
    this.#hasDeltas = dims.some(dim => dim.kind === 'delta');
  }

  /** Chunks of an older epoch are refused from now on; with `hold` the one that plays stops at once. */
  setEpoch(epoch: number, playing: 'continue' | 'hold', nowNs: bigint): void {
    this.#epoch = epoch;
    if (playing === 'hold') this.#stop(nowNs);
  }

  /** Forgets everything but the epoch: for a reset or a jump of the clock. */
  clear(): void {
    this.#playing = null;
    this.#played = [];
    this.#sent = [];
  }

  accept(chunk: ActionChunk, nowNs: bigint): Acceptance {
    if (chunk.epoch !== this.#epoch) return { accepted: false, reason: 'epoch' };
    if (!chunk.values.every(Number.isFinite)) return { accepted: false, reason: 'non-finite' };
    const consumedNs = this.#playedSince(chunk.observationStampNs, nowNs);
    const startNs = nowNs - consumedNs;
    const firstStep = Number(consumedNs) / this.#stepNs;
    const horizon = Math.min(chunk.horizon, Math.floor(firstStep + EXACT) + this.#executeSteps);
    const endNs = startNs + this.#steps(horizon);
    if (endNs <= nowNs) return { accepted: false, reason: 'late' };

    const grid = this.#deltaGrid(chunk.observationStampNs, nowNs);
    this.#stop(nowNs);
    this.#playing = {
      chunk,
      horizon,
      deltaHorizon: Math.min(chunk.horizon, grid.index + this.#executeSteps),
      startNs,
      enteredNs: nowNs,
      endNs,
      nextDelta: grid.index,
      deltaOffsetNs: grid.dueNs - this.#steps(grid.index),
    };
    this.#forget(nowNs);
    return { accepted: true, startNs, firstStep };
  }

  sample(nowNs: bigint): Sample {
    const playing = this.#playing;
    if (playing === null) return { values: null, source: 'none', step: -1, ageNs: 0n };
    const ageNs = nowNs - playing.chunk.observationStampNs;
    if (nowNs >= playing.endNs && !this.#owesDeltas(playing)) {
      return { values: null, source: 'hold', step: -1, ageNs };
    }
    const at = Math.max(0, Number(nowNs - playing.startNs) / this.#stepNs);
    const step = Math.min(Math.floor(at), playing.horizon - 1);
    const deltaSteps = this.#dueDeltas(playing, nowNs);
    const values = Float64Array.from(this.#dims, (dim, d) => {
      if (dim.kind === 'delta') return deltaSteps.reduce((sum, k) => sum + this.#at(playing, k, d), 0);
      const value = this.#at(playing, step, d);
      if (dim.kind === 'velocity') return nowNs < playing.endNs ? value : 0;
      if (dim.kind === 'binary') return value >= (dim.min + dim.max) / 2 ? dim.max : dim.min;
      const next = this.#at(playing, Math.min(step + 1, playing.horizon - 1), d);
      return value + (next - value) * Math.min(1, at - step);
    });
    return { values, source: 'chunk', step, ageNs };
  }

  #at(playing: Playing, step: number, dim: number): number {
    return playing.chunk.values[step * playing.chunk.dims + dim] ?? NaN;
  }

  #steps(count: number): bigint {
    return BigInt(Math.round(count * this.#stepNs));
  }

  /** Time during which chunks were playing in [sinceNs, nowNs]. */
  #playedSince(sinceNs: bigint, nowNs: bigint): bigint {
    const spans = [...this.#played];
    if (this.#playing) spans.push(this.#span(this.#playing, nowNs));
    return spans.reduce((sum, span) => sum + max(0n, span.toNs - max(span.fromNs, sinceNs)), 0n);
  }

  #span(playing: Playing, nowNs: bigint): Span {
    return { fromNs: playing.enteredNs, toNs: max(playing.enteredNs, min(playing.endNs, nowNs)) };
  }

  #stop(nowNs: bigint): void {
    if (this.#playing) this.#played.push(this.#span(this.#playing, nowNs));
    this.#playing = null;
  }

  #forget(nowNs: bigint): void {
    this.#played = this.#played.filter(span => span.toNs > nowNs - MEMORY_NS);
    this.#sent = this.#sent.filter(delta => delta.sentNs > nowNs - MEMORY_NS);
  }

  /** The first delta of a new chunk that has no counterpart sent since its observation, and when it is due. */
  #deltaGrid(observedNs: bigint, nowNs: bigint): { readonly index: number; readonly dueNs: bigint } {
    const index = this.#sent.filter(delta => delta.sentNs >= observedNs).length;
    const last = this.#sent.at(-1);
    const next = last === undefined ? nowNs : last.dueNs + this.#steps(1);
    // An unbroken stream keeps its rhythm; after a pause the first delta is due at once.
    return { index, dueNs: nowNs - next > this.#steps(1) ? nowNs : next };
  }

  #owesDeltas(playing: Playing): boolean {
    return this.#hasDeltas && playing.nextDelta < playing.deltaHorizon;
  }

  /** Takes the deltas that became due since the last sample. */
  #dueDeltas(playing: Playing, nowNs: bigint): readonly number[] {
    if (!this.#hasDeltas) return [];
    const due: number[] = [];
    for (; playing.nextDelta < playing.deltaHorizon; playing.nextDelta++) {
      const dueNs = playing.deltaOffsetNs + this.#steps(playing.nextDelta);
      if (dueNs > nowNs) break;
      if (nowNs - dueNs <= MAX_LATE_NS) due.push(playing.nextDelta);
      this.#sent.push({ dueNs, sentNs: nowNs });
    }
    return due;
  }
}
