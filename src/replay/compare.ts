/**
 * Replayed actions against recorded ones, as they come and in bounded memory. Two questions:
 *
 * - Of each command that played a step of a chunk: how far is it from the recorded command that was in force at that
 *   time? Commands that only hold (before the first chunk, after the end of the last) are no answer of the model's.
 * - Of each step of each chunk: how far is it from what was recorded at the time at which the step plays? Positions
 *   and velocities are compared with the line between the recorded neighbours; of deltas and binaries, which have
 *   nothing in between, with the recorded one in force.
 *
 * Nothing is judged before its time is over, so the order of calls at equal times does not matter. Times do not go
 * back: what comes with an older one counts as coming now, as it would for a robot.
 */
import { binaryOf } from '../core/robot';
import type { ActionDim } from '../core/robot';
import type { ActionChunk } from '../core/types';
import { ErrorSums } from './error-sums';
import { IN_FORCE_NS, RecordedTrack } from './recorded-track';
import type { HorizonError, JointError } from './result';

/**
 * A time is over; ns since the start. [actions] each: a command of this time, null when there was none, and the
 * recorded one in force, NaN where there is none.
 */
export type OnCompared = (atNs: number, replayed: Float64Array | null, recorded: Float64Array) => void;

interface WaitingChunk {
  readonly chunk: ActionChunk;
  readonly startNs: number;
  readonly stepNs: number;
  /** The first step that is not judged yet. */
  next: number;
}

interface StepErrors {
  count: number;
  readonly joints: readonly ErrorSums[];
}

/** Of chunks whose steps are not over yet; the oldest ones make room. More overlap only when steps last seconds. */
export const MAX_WAITING = 1024;

export class Comparer {
  readonly #actions: readonly ActionDim[];
  readonly #startNs: bigint;
  readonly #onCompared: OnCompared;
  readonly #tracks: readonly RecordedTrack[];
  readonly #joints: readonly ErrorSums[];
  readonly #horizon: StepErrors[] = [];
  #waiting: WaitingChunk[] = [];
  #cut = 0;
  #nowNs = -Infinity;
  /** What came at `#nowNs`. */
  #commands: { readonly values: Float64Array; readonly fresh: boolean }[] = [];
  #heard = false;

  /** `startNs`: where the times of `onCompared` begin. */
  constructor(actions: readonly ActionDim[], startNs: bigint, onCompared: OnCompared = () => {}) {
    this.#actions = actions;
    this.#startNs = startNs;
    this.#onCompared = onCompared;
    this.#tracks = actions.map(() => new RecordedTrack());
    this.#joints = actions.map(() => new ErrorSums());
  }

  /** `values` [actions]: a command that was replayed; `fresh`: it played a step of a chunk. */
  command(values: ArrayLike<number>, fresh: boolean, atNs: bigint): void {
    this.#advance(atNs);
    this.#commands.push({ values: new Float64Array(values), fresh });
  }

  /** `values` [actions]: a command that was recorded; NaN leaves the one before in force. */
  recorded(values: ArrayLike<number>, atNs: bigint): void {
    this.#advance(atNs);
    this.#heard = true;
    this.#tracks.forEach((track, d) => {
      if (Number.isFinite(values[d])) track.add(this.#nowNs, values[d]!);
    });
  }

  /** Step k plays at `startNs` + k · `stepSeconds`. */
  chunk(chunk: ActionChunk, startNs: bigint, stepSeconds: number): void {
    while (this.#horizon.length < chunk.horizon) {
      this.#horizon.push({ count: 0, joints: this.#actions.map(() => new ErrorSums()) });
    }
    this.#waiting.push({ chunk, startNs: this.#since(startNs), stepNs: stepSeconds * 1e9, next: 0 });
    if (this.#waiting.length <= MAX_WAITING) return;
    this.#waiting.shift();
    this.#cut += 1;
  }

  /** Judges what is still open. Chunk steps after the last thing heard have nothing to be compared with. */
  end(): void {
    this.#judgeCommands();
    this.#judgeChunks(this.#nowNs);
    this.#waiting = [];
  }

  /** Chunks whose last steps were not judged, because too many were waiting. */
  get cut(): number {
    return this.#cut;
  }

  /** [actions], as in the robot file. */
  joints(): JointError[] {
    return this.#actions.map(({ name, kind }, d) => {
      const { mae, rmse, max, count } = this.#joints[d]!;
      return { name, kind, mae, rmse, max, count };
    });
  }

  horizon(): HorizonError[] {
    return this.#horizon.map(({ count, joints }, step) => ({
      step,
      mae: joints.map(joint => joint.mae),
      rmse: joints.map(joint => joint.rmse),
      count,
    }));
  }

  /** Exact: 2^53 ns are a hundred days. */
  #since(ns: bigint): number {
    return Number(ns - this.#startNs);
  }

  #advance(atNs: bigint): void {
    const now = this.#since(atNs);
    if (now <= this.#nowNs) return;
    this.#judgeCommands();
    this.#nowNs = now;
    // By now, the recorded neighbours of a step are known, or too far away.
    this.#judgeChunks(now - IN_FORCE_NS - 1);
  }

  #judgeCommands(): void {
    if (this.#commands.length === 0 && !this.#heard) return;
    const recorded = new Float64Array(this.#tracks.length);
    this.#tracks.forEach((track, d) => {
      recorded[d] = track.inForce(this.#nowNs);
    });
    for (const { values, fresh } of this.#commands) {
      if (fresh) this.#joints.forEach((joint, d) => joint.add(values[d]! - recorded[d]!));
      this.#onCompared(this.#nowNs, values, recorded);
    }
    if (this.#commands.length === 0) this.#onCompared(this.#nowNs, null, recorded);
    this.#commands = [];
    this.#heard = false;
  }

  #judgeChunks(untilNs: number): void {
    let done = false;
    for (const waiting of this.#waiting) {
      const { chunk, startNs, stepNs } = waiting;
      for (; waiting.next < chunk.horizon; waiting.next++) {
        const atNs = startNs + Math.round(waiting.next * stepNs);
        if (atNs > untilNs) break;
        this.#judgeStep(chunk, waiting.next, atNs);
      }
      done ||= waiting.next === chunk.horizon;
    }
    if (done) this.#waiting = this.#waiting.filter(({ chunk, next }) => next < chunk.horizon);
  }

  #judgeStep(chunk: ActionChunk, step: number, atNs: number): void {
    const errors = this.#horizon[step]!;
    let known = false;
    this.#actions.forEach((dim, d) => {
      const value = asPlayed(dim, chunk.values[step * chunk.dims + d] ?? NaN);
      if (errors.joints[d]!.add(value - recordedAt(this.#tracks[d]!, dim, atNs))) known = true;
    });
    if (known) errors.count += 1;
  }
}

const recordedAt = (track: RecordedTrack, { kind }: ActionDim, atNs: number): number =>
  kind === 'position' || kind === 'velocity' ? track.between(atNs) : track.inForce(atNs);

/** A binary is one of two, whatever the model says in between. */
const asPlayed = (dim: ActionDim, value: number): number =>
  dim.kind !== 'binary' || Number.isNaN(value) ? value : binaryOf(dim, value);
