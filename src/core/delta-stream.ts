/**
 * When deltas are sent: each once, at its trained rate, across chunks. Deltas have their own grid: a new chunk
 * continues that of the one before, with its first delta that has no counterpart sent since its observation.
 */
import { MEMORY_NS } from './play-clock';

/** A delta that is overdue by more is not sent any more: after a stall, a burst would be a jump. */
const MAX_LATE_NS = 250_000_000n;

/** A time on both clocks: deltas become due by play time, observations see what was sent by ROS time. */
export interface Moment {
  readonly rosNs: bigint;
  readonly playNs: bigint;
}

export interface Due {
  /** Steps whose deltas are to be sent now. */
  readonly steps: readonly number[];
  /** Deltas that were overdue by too much. */
  readonly lost: number;
}

const NONE: Due = { steps: [], lost: 0 };

interface Playing {
  next: number;
  readonly end: number;
  /** Play time at which delta 0 is due. */
  readonly startNs: bigint;
}

export class DeltaStream {
  readonly #stepNs: number;
  #playing: Playing | null = null;
  #sent: { readonly dueNs: bigint; readonly sentNs: bigint }[] = [];

  constructor(stepNs: number) {
    this.#stepNs = stepNs;
  }

  /** True while deltas of the chunk are left. */
  get owes(): boolean {
    return this.#playing !== null && this.#playing.next < this.#playing.end;
  }

  /** Plays a chunk of `horizon` steps, at most `executeSteps` of them. `observedNs`: ROS time. */
  begin(horizon: number, executeSteps: number, observedNs: bigint, now: Moment): void {
    this.#sent = this.#sent.filter(delta => delta.sentNs > now.rosNs - MEMORY_NS);
    const index = this.#sent.filter(delta => delta.sentNs >= observedNs).length;
    const last = this.#sent.at(-1);
    const next = last === undefined ? now.playNs : last.dueNs + this.#steps(1);
    // An unbroken stream keeps its rhythm; after a pause the first delta is due at once.
    const dueNs = now.playNs - next > this.#steps(1) ? now.playNs : next;
    this.#playing = {
      next: index,
      end: Math.min(horizon, index + executeSteps),
      startNs: dueNs - this.#steps(index),
    };
  }

  /** The deltas that became due since the last call. */
  take(now: Moment): Due {
    const playing = this.#playing;
    if (playing === null) return NONE;
    const steps: number[] = [];
    let lost = 0;
    for (; playing.next < playing.end; playing.next++) {
      const dueNs = playing.startNs + this.#steps(playing.next);
      if (dueNs > now.playNs) break;
      if (now.playNs - dueNs <= MAX_LATE_NS) steps.push(playing.next);
      else lost += 1;
      this.#sent.push({ dueNs, sentNs: now.rosNs });
    }
    return { steps, lost };
  }

  stop(): void {
    this.#playing = null;
  }

  clear(): void {
    this.#playing = null;
    this.#sent = [];
  }

  #steps(count: number): bigint {
    return BigInt(Math.round(count * this.#stepNs));
  }
}
