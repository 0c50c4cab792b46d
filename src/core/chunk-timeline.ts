/**
 * Turns action chunks into one command at a point in time. Pure: time comes in as nanoseconds of ROS time, and is
 * looked at as play time (play-clock.ts), which `speed_scale` slows down.
 *
 * Step 0 of a chunk plays at its *start*. A later chunk starts as long ago as chunks have really been playing
 * since its observation, so with an unbroken stream its start is its observation stamp, and after a pause (cold
 * start, hold) no step is skipped. What becomes of the steps that two chunks have in common is track.ts's to say.
 * At most `executeSteps` steps of a chunk are played, counted from the step at which it enters; the rest counts as
 * not there.
 *
 * - position: linear between steps
 * - velocity: the step's value while the chunk lasts, times the speed of play
 * - delta: every step is sent once, at its trained rate; a tick at which none is due sends 0
 * - binary: `max` when the step is in the upper half of the range (mid included), else `min`
 */
import { DeltaStream } from './delta-stream';
import type { Moment } from './delta-stream';
import { MEMORY_NS, PlayClock } from './play-clock';
import { binaryOf } from './robot';
import type { ActionDim } from './robot';
import { aggregated, EXACT, stepAt, trackValue, wholeStep } from './track';
import type { Track } from './track';
import type { ActionChunk, Aggregation } from './types';

export type Refusal = 'epoch' | 'late' | 'non-finite';

/** Where a chunk plays at the present speed: step k at startNs + k · stepSeconds of ROS time. */
export interface Placement {
  readonly startNs: bigint;
  readonly stepSeconds: number;
}

export type Acceptance =
  | ({ readonly accepted: true; readonly firstStep: number } & Placement)
  | { readonly accepted: false; readonly reason: Refusal };

export interface Sample {
  /** [dims] in robot units; null unless the source is `chunk`. */
  readonly values: Float64Array | null;
  /** `hold`: the last chunk has ended; `none`: there is none since the start, a clear or a stop. */
  readonly source: 'chunk' | 'hold' | 'none';
  /** Step being played, -1 without a chunk. */
  readonly step: number;
  /** Deltas that are not sent any more, because a stall made them too late. */
  readonly lostDeltas: number;
}

/** How chunks are played; a change counts from the next chunk on. */
export interface PlayRules {
  readonly aggregation: Aggregation;
  /** Null is all steps. */
  readonly executeSteps: number | null;
}

/** What plays: the steps of a chunk, averaged with those before where the rules say so. */
export interface Planned extends Placement {
  readonly step: number;
  readonly chunk: ActionChunk;
}

interface Playing {
  readonly chunk: ActionChunk;
  readonly track: Track;
  /** Play time at which this chunk took over from the one before. */
  readonly enteredNs: bigint;
}

/** A stretch of play time in which chunks were playing. */
interface Span {
  readonly fromNs: bigint;
  readonly toNs: bigint;
}

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const PLAIN: PlayRules = { aggregation: 'latest_only', executeSteps: null };

export class ChunkTimeline {
  readonly #dims: readonly ActionDim[];
  readonly #stepNs: number;
  readonly #deltas: DeltaStream | null;
  #clock: PlayClock;
  #epoch = 0;
  #playing: Playing | null = null;
  #played: Span[] = [];
  rules: PlayRules;

  constructor(dims: readonly ActionDim[], trainHz: number, rules: PlayRules = PLAIN, speed = 1) {
    this.#dims = dims;
    this.#stepNs = 1e9 / trainHz;
    this.#deltas = dims.some(dim => dim.kind === 'delta') ? new DeltaStream(this.#stepNs) : null;
    this.#clock = new PlayClock(speed);
    this.rules = rules;
  }

  /** Of play, 0..1. */
  get speed(): number {
    return this.#clock.speed;
  }

  /** From `nowNs` on. What plays goes on where it is. */
  setSpeed(speed: number, nowNs: bigint): void {
    this.#clock.setSpeed(speed, nowNs);
  }

  /** Chunks of an older epoch are refused from now on; with `hold` the one that plays stops at once. */
  setEpoch(epoch: number, playing: 'continue' | 'hold', nowNs: bigint): void {
    this.#epoch = epoch;
    if (playing === 'hold') this.stop(nowNs);
  }

  /** What plays stops at once. */
  stop(nowNs: bigint): void {
    const span = this.#playing && this.#span(this.#playing, this.#clock.at(nowNs));
    if (span && span.toNs > span.fromNs) this.#remember(span);
    this.#playing = null;
    this.#deltas?.stop();
  }

  /** Forgets everything but the epoch and the speed: for a reset or a jump of the clock. */
  clear(): void {
    this.#playing = null;
    this.#played = [];
    this.#deltas?.clear();
    this.#clock = new PlayClock(this.#clock.speed);
  }

  accept(chunk: ActionChunk, nowNs: bigint): Acceptance {
    if (chunk.epoch !== this.#epoch) return { accepted: false, reason: 'epoch' };
    if (!chunk.values.every(Number.isFinite)) return { accepted: false, reason: 'non-finite' };
    const now = this.#moment(nowNs);
    const consumedNs = this.#playedSince(this.#clock.at(chunk.observationStampNs), now.playNs);
    const firstStep = Number(consumedNs) / this.#stepNs;
    const executeSteps = this.rules.executeSteps ?? Infinity;
    const horizon = Math.min(chunk.horizon, Math.floor(firstStep + EXACT) + executeSteps);
    const startNs = now.playNs - consumedNs;
    const endNs = startNs + BigInt(Math.round(horizon * this.#stepNs));
    if (endNs <= now.playNs) return { accepted: false, reason: 'late' };

    // What another instruction wants is replaced, not averaged.
    const before = this.#playing?.chunk.epoch === chunk.epoch ? this.#playing.track : null;
    const next: Track = {
      startNs,
      endNs,
      stepNs: this.#stepNs,
      horizon,
      values: chunk.values,
      predictions: null,
    };
    this.stop(nowNs);
    const track = aggregated(this.rules.aggregation, this.#dims, before, next);
    this.#playing = { chunk, track, enteredNs: now.playNs };
    this.#deltas?.begin(chunk.horizon, executeSteps, chunk.observationStampNs, now);
    const forgottenNs = this.#clock.at(nowNs - MEMORY_NS);
    this.#played = this.#played.filter(span => span.toNs > forgottenNs);
    return { accepted: true, firstStep, ...this.#placement(track, nowNs) };
  }

  sample(nowNs: bigint): Sample {
    const playing = this.#playing;
    if (playing === null) return { values: null, source: 'none', step: -1, lostDeltas: 0 };
    const { track } = playing;
    const now = this.#moment(nowNs);
    if (now.playNs >= track.endNs && !this.#deltas?.owes) {
      return { values: null, source: 'hold', step: -1, lostDeltas: 0 };
    }
    const at = stepAt(track, now.playNs);
    const due = this.#deltas?.take(now);
    const values = Float64Array.from(this.#dims, (dim, d) => {
      if (dim.kind === 'delta') {
        return due!.steps.reduce((sum, k) => sum + track.values[k * this.#dims.length + d]!, 0);
      }
      const value = trackValue(track, this.#dims, at, d);
      if (dim.kind === 'velocity') return now.playNs < track.endNs ? value * this.speed : 0;
      if (dim.kind === 'binary') return binaryOf(dim, value);
      return value;
    });
    return { values, source: 'chunk', step: wholeStep(track, at), lostDeltas: due?.lost ?? 0 };
  }

  /** What plays now; null when nothing does. */
  planned(nowNs: bigint): Planned | null {
    if (this.#playing === null) return null;
    const { chunk, track } = this.#playing;
    const playNs = this.#clock.at(nowNs);
    if (playNs >= track.endNs) return null;
    const { horizon, values } = track;
    return {
      ...this.#placement(track, nowNs),
      step: wholeStep(track, stepAt(track, playNs)),
      chunk: { ...chunk, horizon, values: values.subarray(0, horizon * chunk.dims) },
    };
  }

  #moment(rosNs: bigint): Moment {
    return { rosNs, playNs: this.#clock.at(rosNs) };
  }

  /** At speed 0 as if it began to play now. */
  #placement({ startNs }: Track, nowNs: bigint): Placement {
    const speed = this.speed || 1;
    const past = Number(this.#clock.at(nowNs) - startNs) / speed;
    return { startNs: nowNs - BigInt(Math.round(past)), stepSeconds: this.#stepNs / 1e9 / speed };
  }

  /** How long chunks were playing in [sinceNs, nowNs] of play time. */
  #playedSince(sinceNs: bigint, nowNs: bigint): bigint {
    const spans = [...this.#played];
    if (this.#playing) spans.push(this.#span(this.#playing, nowNs));
    return spans.reduce((sum, span) => sum + max(0n, span.toNs - max(span.fromNs, sinceNs)), 0n);
  }

  /** Chunks that follow each other without a gap are one stretch: thirty a second would be many to add up. */
  #remember(span: Span): void {
    const last = this.#played.at(-1);
    if (last?.toNs !== span.fromNs) this.#played.push(span);
    else this.#played[this.#played.length - 1] = { fromNs: last.fromNs, toNs: span.toNs };
  }

  #span({ enteredNs, track }: Playing, nowNs: bigint): Span {
    return { fromNs: enteredNs, toNs: max(enteredNs, min(track.endNs, nowNs)) };
  }
}
