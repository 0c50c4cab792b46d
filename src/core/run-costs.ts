/** What each kind of run is expected to cost, in ms: from engine.json at first, then what was measured. */

/** A run of a graph, or of all Euler steps. */
export type ModelRun = 'vision' | 'prefill' | 'denoise' | 'seed' | 'decode';

/** `ask`: from asking for a frame to having it. */
export type CostKind = ModelRun | 'ask';

/** Milliseconds of each run as the engine's builder measured them. */
export interface CostTable {
  readonly vision: number;
  /** Without vision. */
  readonly prefill: number;
  /** All Euler steps. */
  readonly denoise: number;
  readonly seed: number;
  /** Batch size → one step. */
  readonly decode: Readonly<Record<string, number>>;
}

/** How fast the estimate follows. */
const GAIN = 0.2;

export class RunCosts {
  /** Per kind: batch size → ms, ascending in batch size. Only decode has more than one. */
  readonly #ms = new Map<CostKind, Map<number, number>>();

  constructor(table: CostTable | null) {
    if (!table) return;
    const { decode, ...others } = table;
    for (const [kind, ms] of Object.entries(others)) this.#set(kind as keyof typeof others, 1, ms);
    for (const [batch, ms] of Object.entries(decode)) this.#set('decode', Number(batch), ms);
  }

  /** Linear between the batch sizes that are known, constant beyond them; 0 when none is. */
  expected(run: CostKind, batch = 1): number {
    let below: [number, number] | null = null;
    for (const [size, ms] of this.#ms.get(run) ?? []) {
      if (size >= batch) {
        if (!below) return ms;
        return below[1] + ((ms - below[1]) * (batch - below[0])) / (size - below[0]);
      }
      below = [size, ms];
    }
    return below?.[1] ?? 0;
  }

  /** The estimate follows; a batch size that was not known begins with its first measurement. */
  measured(run: CostKind, ms: number, batch = 1): void {
    const before = this.#ms.get(run)?.get(batch) ?? ms;
    this.#set(run, batch, before + GAIN * (ms - before));
  }

  #set(run: CostKind, batch: number, ms: number): void {
    const known = this.#ms.get(run) ?? new Map<number, number>();
    if (known.has(batch)) known.set(batch, ms);
    else this.#ms.set(run, new Map([...known, [batch, ms] as const].sort(([a], [b]) => a - b)));
  }
}
