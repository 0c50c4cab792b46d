/** What each kind of run is expected to cost, in ms: from engine.json at first, then what was measured. */

/** A run of a graph, or of all Euler steps. */
export type ModelRun = 'vision' | 'prefill' | 'denoise' | 'seed' | 'decode';

/**
 * `ask`: from asking for a frame to having it. `upload`: what a decode run takes beside its steps, where keys and values
 * have to be copied to the device for it.
 */
export type CostKind = ModelRun | 'ask' | 'upload';

/** Milliseconds of each run as the engine's builder measured them. */
export interface CostTable {
  readonly vision: number;
  /** Without vision. */
  readonly prefill: number;
  /** All Euler steps. */
  readonly denoise: number;
  readonly seed: number;
  /** Batch size → one step, without upload. */
  readonly decode: Readonly<Record<string, number>>;
  /** Batch size → upload of a decode run, however many steps it has; none where the model runs in host memory. */
  readonly upload?: Readonly<Record<string, number>>;
}

/** Of a decode run; others have one of each. */
export interface RunSize {
  readonly batch?: number;
  readonly steps?: number;
}

/** How fast the estimate follows. */
const GAIN = 0.2;

export class RunCosts {
  /** Per kind: batch size → ms, ascending in batch size. Only decode and upload have more than one. */
  readonly #ms = new Map<CostKind, Map<number, number>>();

  constructor(table: CostTable | null) {
    if (!table) return;
    const { decode, upload = {}, ...others } = table;
    for (const [kind, ms] of Object.entries(others)) this.#set(kind as keyof typeof others, 1, ms);
    for (const [batch, ms] of Object.entries(decode)) this.#set('decode', Number(batch), ms);
    for (const [batch, ms] of Object.entries(upload)) this.#set('upload', Number(batch), ms);
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

  /** A whole run: its decode steps share one upload. */
  expectedRun(run: ModelRun, { batch = 1, steps = 1 }: RunSize = {}): number {
    return this.#uploadMs(run, batch) + steps * this.expected(run, batch);
  }

  /** The steps' estimate follows; the upload's stays. */
  measuredRun(run: ModelRun, ms: number, { batch = 1, steps = 1 }: RunSize = {}): void {
    this.measured(run, Math.max(0, ms - this.#uploadMs(run, batch)) / steps, batch);
  }

  /** The estimate follows; a batch size that was not known begins with its first measurement. */
  measured(run: CostKind, ms: number, batch = 1): void {
    const before = this.#ms.get(run)?.get(batch) ?? ms;
    this.#set(run, batch, before + GAIN * (ms - before));
  }

  #uploadMs(run: ModelRun, batch: number): number {
    return run === 'decode' ? this.expected('upload', batch) : 0;
  }

  #set(run: CostKind, batch: number, ms: number): void {
    const known = this.#ms.get(run) ?? new Map<number, number>();
    if (known.has(batch)) known.set(batch, ms);
    else this.#ms.set(run, new Map([...known, [batch, ms] as const].sort(([a], [b]) => a - b)));
  }
}
