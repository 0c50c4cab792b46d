/** What was recorded of one action lately: values over time. Times are whole nanoseconds of any one axis. */

/** A command counts for this long, and no line is drawn between two that are further apart. */
export const IN_FORCE_NS = 500_000_000;

/** The newest ones that are kept at least: 8 s of a stream of 1 kHz. */
const KEPT = 8192;

export class RecordedTrack {
  #times: number[] = [];
  #values: number[] = [];

  /** `atNs` is not before the last one; of two at the same time, the later call counts. */
  add(atNs: number, value: number): void {
    const last = this.#times.length - 1;
    if (this.#times[last] === atNs) {
      this.#values[last] = value;
      return;
    }
    this.#times.push(atNs);
    this.#values.push(value);
    if (this.#times.length < 2 * KEPT) return;
    this.#times = this.#times.slice(-KEPT);
    this.#values = this.#values.slice(-KEPT);
  }

  /** The last one at or before `atNs`; NaN when it is too old or there is none. */
  inForce(atNs: number): number {
    const i = this.#lastUpTo(atNs);
    return i >= 0 && atNs - this.#times[i]! <= IN_FORCE_NS ? this.#values[i]! : NaN;
  }

  /** On the line between the two around `atNs`; NaN when there are no such two. */
  between(atNs: number): number {
    const i = this.#lastUpTo(atNs);
    if (i < 0) return NaN;
    const [from, value] = [this.#times[i]!, this.#values[i]!];
    if (from === atNs) return value;
    const to = this.#times[i + 1];
    if (to === undefined || to - from > IN_FORCE_NS) return NaN;
    const share = (atNs - from) / (to - from);
    return (1 - share) * value + share * this.#values[i + 1]!;
  }

  /** Index of the last one at or before `atNs`; -1: there is none. */
  #lastUpTo(atNs: number): number {
    let low = 0;
    let high = this.#times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#times[middle]! <= atNs) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
