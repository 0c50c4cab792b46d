/**
 * Several decode steps computed in one run, and what of them is still good. Pure. A step of a burst is the step that is
 * asked for when each row's text, length and fed token are those that it was computed with. Rows never influence each
 * other, so it stays good while other rows end or move; a row that is not in the burst, or a token that the host drew
 * differently, means a new run.
 */
import type { Ahead, Candidates, DecodeRow, NewKv, StepResult } from '../core/ports';

/** Most steps of a run: what it computes for a row that ends early, or that a new request interrupts, is lost. */
export const MOST_STEPS = 16;

/** What a run of `steps` steps of B rows gave. */
export interface BurstResult {
  /** [step][row]: the tokens that the graph drew, and fed in the next step. */
  readonly chosen: readonly (readonly number[])[];
  /** [step][row] */
  readonly next: readonly (readonly Candidates[])[];
  /** Per layer [B, steps, headDim]. */
  readonly kv: NewKv;
}

/** A run and what it was asked for. */
export interface Burst extends BurstResult {
  readonly texts: readonly object[];
  /** Fed in step 0. */
  readonly tokens: readonly number[];
  /** Positions of each row before step 0. */
  readonly lengths: readonly number[];
}

/** Where in a burst a row's step lies. */
interface Cell {
  readonly step: number;
  readonly row: number;
}

/** Where the asked step's rows lie in the burst; null: one of them is not in it. */
export function findStep(
  burst: Burst,
  tokens: readonly number[],
  lengths: readonly number[],
  rows: readonly DecodeRow[],
): readonly Cell[] | null {
  const cells: Cell[] = [];
  for (const [i, { text }] of rows.entries()) {
    const row = burst.texts.indexOf(text);
    if (row < 0) return null;
    const step = (lengths[i] as number) - (burst.lengths[row] as number);
    if (step < 0 || step >= burst.chosen.length) return null;
    const fed = step === 0 ? burst.tokens[row] : burst.chosen[step - 1]?.[row];
    if (fed !== tokens[i]) return null;
    cells.push({ step, row });
  }
  return cells.length > 0 ? cells : null;
}

/** A step's result, taken out of the burst. `headDim` is the width of a position. */
export function takeStep(burst: Burst, cells: readonly Cell[], headDim: number): StepResult {
  const steps = burst.chosen.length;
  const cut = (layer: Float32Array) => {
    const out = new Float32Array(cells.length * headDim);
    cells.forEach(({ step, row }, i) => {
      const from = (row * steps + step) * headDim;
      out.set(layer.subarray(from, from + headDim), i * headDim);
    });
    return out;
  };
  return {
    kv: { k: burst.kv.k.map(cut), v: burst.kv.v.map(cut) },
    next: cells.map(({ step, row }) => burst.next[step]?.[row] as Candidates),
  };
}

/** What a run is expected to take: `uploadMs` once and `stepMs` for each step; 0: not known yet. */
export interface BurstCosts {
  readonly uploadMs: number;
  readonly stepMs: number;
}

/**
 * How many steps to compute: those that come before the next frame in any case, and the further ones that end before
 * `untilMs`; never more than the longest text still needs.
 */
export function burstSteps(
  rows: readonly DecodeRow[],
  ahead: Ahead,
  nowMs: number,
  costs: BurstCosts,
): number {
  const timeMs = ahead.untilMs - nowMs - costs.uploadMs;
  const fit = costs.stepMs > 0 ? Math.floor(timeMs / costs.stepMs) : 0;
  const needed = Math.max(...rows.map(row => row.left));
  return Math.max(1, Math.min(Math.max(ahead.steps, fit), needed, MOST_STEPS));
}
