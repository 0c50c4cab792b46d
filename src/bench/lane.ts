/** One mode's processes: loaded once, idle between the mode's blocks. */
import { OxygenError } from '../core/errors';
import type { Pool } from '../engine/session-options';
import type { BlockResult } from './block';
import { memoryFigures, PeakWatch, readMappings, type Mapping } from './memory';
import { BenchProcess } from './process';
import type { BenchMode, ModeFigures } from './result';
import { together } from './summary';
import type { Block } from './workload';

/** A block without what the lane knows. */
export type LaneBlock = Omit<Block, 'mode' | 'paced'>;

export interface LaneOptions extends Pool {
  /** As the kernel names it. */
  readonly engineDir: string;
  readonly seed: number;
}

export class Lane {
  readonly mode: BenchMode;
  /** Of the measured blocks, in order. */
  readonly blocks: BlockResult[] = [];
  readonly #options: LaneOptions;
  readonly #processes: BenchProcess[] = [];
  #base: Mapping[][] | null = null;
  #peakRss = 0;

  private constructor(mode: BenchMode, options: LaneOptions) {
    this.mode = mode;
    this.#options = options;
  }

  /** Starts the processes and loads the engine. `parallel` has two with half the threads each. */
  static async start(mode: BenchMode, options: LaneOptions): Promise<Lane> {
    const lane = new Lane(mode, options);
    try {
      const names = mode === 'parallel' ? ['parallel (actions)', 'parallel (language)'] : [mode];
      for (const name of names) lane.#processes.push(await BenchProcess.start(name));
      lane.#base = readMappings(lane.#pids());
      const threads = Math.max(1, Math.floor(options.threads / names.length));
      for (const p of lane.#processes) await p.order({ type: 'load', ...options, threads });
      return lane;
    } catch (error) {
      await lane.stop();
      throw error;
    }
  }

  /** Runs a block whose figures count: `blocks` keeps it, and memory is watched. */
  async measure(block: LaneBlock, onFrame: () => void): Promise<void> {
    const watch = new PeakWatch(this.#pids());
    try {
      this.blocks.push(await this.run(block, onFrame));
    } finally {
      this.#peakRss = Math.max(this.#peakRss, watch.stop());
    }
  }

  /** Throws RUN_FAILED when a run of the block failed: its figures would be worthless. */
  async run(block: LaneBlock, onFrame: () => void): Promise<BlockResult> {
    const result = await this.#run(block, onFrame);
    const { failures } = result;
    if (failures.length === 0) return result;
    throw new OxygenError('RUN_FAILED', `${this.mode}: ${failures.length} runs failed: ${failures[0]}`);
  }

  #run(block: LaneBlock, onFrame: () => void): Promise<BlockResult> {
    const [first, second] = this.#processes as [BenchProcess, BenchProcess | undefined];
    if (this.mode === 'parallel' && second) return runPair(first, second, block, onFrame);
    const mode = this.mode === 'parallel' ? 'shared' : this.mode;
    return first.order({ type: 'block', block: { ...block, mode, paced: false } }, onFrame);
  }

  /** To be asked right after the last measured block. */
  memory(): Pick<ModeFigures, 'peak_pss_mb' | 'memory'> {
    const now = readMappings(this.#pids());
    if (!this.#base || !now || this.#peakRss === 0) return { peak_pss_mb: null, memory: null };
    const kvBytes = Math.max(...this.blocks.map(b => b.kvBytes));
    return memoryFigures(this.#base, now, this.#peakRss, kvBytes, this.#options.engineDir);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map(p => p.stop()));
  }

  #pids(): number[] {
    return this.#processes.map(p => p.pid);
  }
}

/** Both start every frame at the same time; one makes chunks only, the other prefills again and decodes only. */
async function runPair(
  actions: BenchProcess,
  language: BenchProcess,
  block: LaneBlock,
  onFrame: () => void,
): Promise<BlockResult> {
  let waiting = 0;
  const arrived = () => {
    if (++waiting < 2) return;
    waiting = 0;
    onFrame();
    actions.go();
    language.go();
  };
  const paced = { ...block, mode: 'shared', paced: true } as const;
  const [a, l] = await Promise.all([
    actions.order({ type: 'block', block: { ...paced, arrivals: { kind: 'none' } } }, arrived),
    language.order({ type: 'block', block: { ...paced, denoiseSteps: 0 } }, arrived),
  ]);
  return together(a, l);
}
