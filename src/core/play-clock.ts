/**
 * Play time: the time of the chunk timeline. It goes on with ROS time, slower by the factor of `speed_scale`, and
 * stands still at 0. It remembers its changes of speed, so that the stamps of observations have a play time too.
 */

/** Longest memory of changes; an observation older than this is refused anyway. */
export const MEMORY_NS = 60_000_000_000n;
/** Speeds are kept in millionths: play time is then exact in nanoseconds, and never runs back. */
const WHOLE = 1_000_000n;

/** From here on, play time goes at this speed. */
interface Mark {
  readonly rosNs: bigint;
  readonly playNs: bigint;
  readonly millionths: bigint;
}

export class PlayClock {
  /** By time; never empty. */
  #marks: readonly Mark[];

  /** `speed`: 0..1. */
  constructor(speed = 1) {
    this.#marks = [{ rosNs: 0n, playNs: 0n, millionths: millionths(speed) }];
  }

  /** Of now, 0..1. */
  get speed(): number {
    return Number(this.#marks.at(-1)!.millionths) / Number(WHOLE);
  }

  /** Play time at a ROS time, which may lie in the past. */
  at(rosNs: bigint): bigint {
    const mark = this.#marks.findLast(({ rosNs: fromNs }) => fromNs <= rosNs) ?? this.#marks[0]!;
    return mark.playNs + ((rosNs - mark.rosNs) * mark.millionths) / WHOLE;
  }

  /** Play time goes at this speed from `nowNs` on. */
  setSpeed(speed: number, nowNs: bigint): void {
    if (millionths(speed) === this.#marks.at(-1)!.millionths) return;
    const mark = { rosNs: nowNs, playNs: this.at(nowNs), millionths: millionths(speed) };
    const before = this.#marks.filter(({ rosNs }) => rosNs < nowNs);
    // The newest mark of those older than the memory says how fast time went at its beginning.
    const oldest = before.findLastIndex(({ rosNs }) => rosNs < nowNs - MEMORY_NS);
    this.#marks = [...before.slice(Math.max(0, oldest)), mark];
  }
}

const millionths = (speed: number): bigint => BigInt(Math.round(Math.min(1, Math.max(0, speed)) * 1e6));
