/** The timer of the action stream, on the steady clock: its rate may change, and it tells of ticks that were left out. */
import { Beat } from './beat';
import type { Ticks } from './beat';
import type { LoopWatch } from './loop-delay';
import type { Rcl, RclNode, RclTimer } from './rcl';
import type { ActionTimer } from './surroundings';

export class Ticker implements ActionTimer {
  readonly #rcl: Rcl;
  readonly #node: RclNode;
  readonly #loop: LoopWatch;
  readonly #nowMs: () => number;
  readonly #onTicks: (ticks: Ticks) => void;
  #periodNs: bigint;
  #timer: RclTimer | null = null;
  /** Held for as long as its timer: rclnodejs does not, and a timer of a collected clock ends the process. */
  #steady: object | null = null;

  constructor(
    rcl: Rcl,
    node: RclNode,
    loop: LoopWatch,
    nowMs: () => number,
    hz: number,
    onTicks: (ticks: Ticks) => void,
  ) {
    this.#rcl = rcl;
    this.#node = node;
    this.#loop = loop;
    this.#nowMs = nowMs;
    this.#periodNs = periodOf(hz);
    this.#onTicks = onTicks;
  }

  get periodNs(): bigint {
    return this.#periodNs;
  }

  start(): void {
    const beat = new Beat(this.#periodNs);
    this.#steady = new this.#rcl.Clock(this.#rcl.ClockType.STEADY_TIME);
    this.#loop.restart(Number(this.#periodNs) / 1e6);
    this.#timer = this.#node.createTimer(
      this.#periodNs,
      info => {
        if (this.#timer === null) return;
        this.#loop.tick(this.#nowMs());
        this.#onTicks(beat.ticks(info));
      },
      this.#steady,
    );
  }

  stop(): void {
    if (this.#timer) this.#node.destroyTimer(this.#timer);
    this.#timer = null;
    this.#steady = null;
  }

  rate(hz: number): void {
    const runs = this.#timer !== null;
    if (periodOf(hz) === this.#periodNs) return;
    this.#periodNs = periodOf(hz);
    if (!runs) return;
    this.stop();
    this.start();
  }
}

/** Nanoseconds: a rate that is rounded to milliseconds would drift. */
export const periodOf = (hz: number): bigint => BigInt(Math.round(1e9 / hz));
