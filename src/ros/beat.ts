/**
 * A ROS timer that is called more than a period late leaves out the calls in between. This tells how many, from the
 * grid times that the timer reports, so that the stream can make up for one of them. Never more: a burst of commands
 * helps no robot.
 */
import type { RclTimerInfo } from './rcl';

export class Beat {
  readonly #periodNs: bigint;
  #lastNs: bigint | null = null;

  constructor(periodNs: bigint) {
    this.#periodNs = periodNs;
  }

  /** Ticks to make now: 1, or 2 when calls were left out since the last one. Without information (Humble) always 1. */
  ticks(info: RclTimerInfo | undefined): 1 | 2 {
    const nowNs = info?.expectedCallTime;
    if (nowNs === undefined) return 1;
    const lastNs = this.#lastNs;
    this.#lastNs = nowNs;
    // Half a period of tolerance: the grid is exact, but a cancelled timer starts a new one.
    return lastNs !== null && nowNs - lastNs > this.#periodNs + this.#periodNs / 2n ? 2 : 1;
  }
}
