/**
 * Replayed and recorded actions over time, for a figure: at most MAX_POINTS points, whatever the length. Each slot of
 * time keeps its first command with the recorded one beside it; when the slots run out, each gets twice as long. What
 * is left depends on the length alone, not on when that happened.
 */
import type { ActionDim } from '../core/robot';
import type { ActionSeries } from './result';

export const MAX_POINTS = 2048;

/** Below the period of the action stream: a short bag keeps every command. */
const FIRST_SLOT_NS = 10_000_000;
/** More than a figure shows. */
const DIGITS = 6;

interface Point {
  readonly atNs: number;
  /** [actions]; null: no command at this time. */
  readonly replayed: Float64Array | null;
  /** NaN where nothing was in force. */
  readonly recorded: Float64Array;
}

export class Curves {
  readonly #points = new Array<Point | undefined>(MAX_POINTS).fill(undefined);
  #slotNs = FIRST_SLOT_NS;
  #firstNs: number | null = null;

  /** Times (ns since the start) do not go back; the arrays [actions] are kept. */
  add(atNs: number, replayed: Float64Array | null, recorded: Float64Array): void {
    this.#firstNs ??= atNs;
    while (atNs - this.#firstNs >= MAX_POINTS * this.#slotNs) this.#double();
    const slot = Math.floor((atNs - this.#firstNs) / this.#slotNs);
    const before = this.#points[slot];
    if (before === undefined || (before.replayed === null && replayed !== null)) {
      this.#points[slot] = { atNs, replayed, recorded };
    }
  }

  series(actions: readonly ActionDim[]): ActionSeries[] {
    const points = this.#points.filter(point => point !== undefined);
    const t = points.map(point => point.atNs / 1e9);
    return actions.map(({ name, kind, min, max }, d) => ({
      name,
      kind,
      min,
      max,
      t,
      replayed: points.map(point => shown(point.replayed?.[d])),
      recorded: points.map(point => shown(point.recorded[d])),
    }));
  }

  #double(): void {
    for (let slot = 0; slot < MAX_POINTS; slot++) {
      this.#points[slot] = first(this.#points[2 * slot], this.#points[2 * slot + 1]);
    }
    this.#slotNs *= 2;
  }
}

const first = (a: Point | undefined, b: Point | undefined): Point | undefined =>
  a === undefined || (a.replayed === null && b !== undefined && b.replayed !== null) ? b : a;

const shown = (value: number | undefined): number | null =>
  value === undefined || !Number.isFinite(value) ? null : Number(value.toPrecision(DIGITS));
