/** What each kind of run is expected to cost: from engine.json at first, then what was measured. */
import type { StageCosts } from '../model/manifest';
import type { RunKind } from './protocol';

/** How fast the estimate follows. */
const GAIN = 0.2;

export class RunCosts {
  readonly #ms: Map<RunKind, number>;

  constructor(costs: StageCosts | null, denoiseSteps: number) {
    const decode = Math.max(0, ...Object.values(costs?.decode ?? {}));
    this.#ms = new Map<RunKind, number>([
      ['vision', costs?.vision ?? 0],
      ['prefill', costs?.prefill ?? 0],
      ['denoise', (costs?.denoiseStep ?? 0) * denoiseSteps],
      ['seed', costs?.seed ?? 0],
      ['decode', decode],
    ]);
  }

  expected(run: RunKind): number {
    return this.#ms.get(run) ?? 0;
  }

  measured(run: RunKind, ms: number): void {
    const before = this.#ms.get(run) ?? ms;
    this.#ms.set(run, before + GAIN * (ms - before));
  }
}
