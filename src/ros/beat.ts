/**
 * A ROS timer that is called more than a period late leaves out the calls in between. This tells how many, from the
 * grid times that the timer reports, so that the stream can make up for one of them. Never more: a burst of commands
 * helps no robot.
 */
import type { RclTimerInfo } from './rcl';

export interface Ticks {
  readonly make: 1 | 2;
  /** Left out, and not made up for. */
  readonly missed: number;
}

const ON_TIME: Ticks = { make: 1, missed: 0 };

export class Beat {
  readonly #periodNs: bigint;
  #lastNs: bigint | null = null;

  constructor(periodNs: bigint) {
    this.#periodNs = periodNs;
  }

  /** Ticks to make now. Without information (Humble) always one. */
  ticks(info: RclTimerInfo | undefined): Ticks {
    const nowNs = info?.expectedCallTime;
    if (nowNs === undefined) return ON_TIME;
    const lastNs = this.#lastNs;
    this.#lastNs = nowNs;
    // Rounded: the grid is exact, but a cancelled timer starts a new one.
    const periods = lastNs === null ? 1 : Math.round(Number(nowNs - lastNs) / Number(this.#periodNs));
    return periods > 1 ? { make: 2, missed: periods - 2 } : ON_TIME;
  }
}
