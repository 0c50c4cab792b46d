/** The bench: all modes in turns, single runs between them, the sweep, the roofline. */
import { longest, parseArrivals } from './arrivals';
import type { BlockResult } from './block';
import { NO_ENERGY } from './energy';
import { compare } from './equality';
import { Lane, type LaneOptions } from './lane';
import type { RunSamples } from '../engine/measure';
import { longestPrefix } from '../model/config';
import { partsOf } from './parts';
import { describe, PARTS_WEIGHT, planOf, pointBlock, WARM_UP, type BenchSettings } from './plan';
import { BenchProcess } from './process';
import type { BenchMode, BenchResult, ModeFigures, Parts, Roofline, SweepPoint } from './result';
import { roofline } from './roofline';
import { summarise } from './summary';
import { expectedFrameMs, pointName, sweepPoints, type Point } from './sweep';

export interface BenchReporter {
  readonly progress: (done: number, total: number, what: string) => void;
}

/** Points of the sweep whose frame should take longer are left out. */
const LONGEST_FRAME_MS = 5_000;
/** Repeats further apart than this are worth a note. */
const UNSTEADY = 1.25;

/** Throws RUN_FAILED when a run failed, ENGINE_* when the engine cannot be loaded, USAGE when no request would come. */
export async function runBench(settings: BenchSettings, reporter: BenchReporter): Promise<BenchResult> {
  const plan = planOf(settings);
  const { engineDir, threads, spinUs, seed } = settings;
  const options: LaneOptions = { engineDir, threads, spinUs, seed };
  const lanes: Lane[] = [];
  let apart: BenchProcess | null = null;
  const progress = new Count(reporter, plan.total);
  try {
    for (const mode of settings.modes) {
      progress.tick(0, `loading (${mode})`);
      lanes.push(await Lane.start(mode, options));
    }
    apart = await BenchProcess.start('parts');
    const { onnxruntime } = await apart.order({ type: 'load', ...options });
    const rounds: RunSamples[] = [];
    for (let r = 0; r < settings.repeats; r++) {
      const block = plan.block(r);
      // another order every time, so that no mode always follows the same one
      for (const lane of [...lanes.slice(r % lanes.length), ...lanes.slice(0, r % lanes.length)])
        await lane.measure(block(lane.mode), () => progress.tick(1, lane.mode));
      const parts = { ...block('oxygen'), mode: 'oxygen', paced: false } as const;
      rounds.push(await apart.order({ type: 'parts', block: parts }));
      progress.tick(PARTS_WEIGHT, 'single runs');
    }
    const modes = figures(lanes, settings.manifest.model.horizon);
    const parts = partsOf(rounds, settings.denoiseSteps, settings.tokens);
    const { sweep, notes } = await runSweep(settings, lanes, parts, progress);
    for (const lane of lanes) await lane.stop();
    progress.tick(0, 'peaks of the machine');
    const measured = await measureRoofline(settings, apart, parts);
    return {
      ...describe(settings, plan.perBlock, onnxruntime),
      modes,
      parts_ms: parts,
      roofline: measured,
      sweep,
      notes: [...notesOf(modes), ...roundingNote(settings, modes), ...notes],
    };
  } finally {
    for (const lane of lanes) await lane.stop();
    await apart?.stop();
  }
}

class Count {
  readonly #reporter: BenchReporter;
  #total: number;
  #done = 0;

  constructor(reporter: BenchReporter, total: number) {
    this.#reporter = reporter;
    this.#total = total;
  }

  tick(frames: number, what: string): void {
    this.#done += frames;
    this.#reporter.progress(this.#done, this.#total, what);
  }

  leaveOut(frames: number): void {
    this.#total -= frames;
  }
}

function figures(lanes: readonly Lane[], horizon: number): BenchResult['modes'] {
  const reference = lanes.find(l => l.mode === 'isolated') ?? (lanes[0] as Lane);
  const all: Partial<Record<BenchMode, ModeFigures>> = {};
  for (const lane of lanes) {
    all[lane.mode] = {
      ...summarise(lane.blocks, horizon),
      ...lane.memory(),
      ...compare(lane.blocks, reference.blocks),
    };
  }
  return all;
}

async function runSweep(
  s: BenchSettings,
  lanes: readonly Lane[],
  parts: Parts,
  progress: Count,
): Promise<{ sweep: SweepPoint[]; notes: string[] }> {
  const sweep: SweepPoint[] = [];
  const notes: string[] = [];
  for (const point of sweepPoints(s.sweep, s.modes, s.manifest.model.denoiseSteps)) {
    const lane = lanes.find(l => l.mode === point.mode) as Lane;
    const why = reasonToSkip(s, point, parts);
    if (why === null) {
      const result = await lane.run(pointBlock(s, point), () =>
        progress.tick(1, `sweep: ${pointName(point)}`),
      );
      if (result.requests.length > 0) {
        sweep.push(sweepPoint(point, result, s.manifest.model.horizon));
        continue;
      }
      notes.push(`sweep: ${pointName(point)} is left out: no request came in ${point.frames} frames`);
    } else {
      notes.push(`sweep: ${pointName(point)} is left out: ${why}`);
      progress.leaveOut(point.frames + WARM_UP);
    }
  }
  return { sweep, notes };
}

function reasonToSkip(s: BenchSettings, p: Point, parts: Parts): string | null {
  const ms = expectedFrameMs(p, parts);
  if (ms > LONGEST_FRAME_MS) return `a frame would take about ${(ms / 1000).toFixed(1)} s`;
  const needed = longestPrefix(s.manifest.model) + longest(parseArrivals(p.arrivals), p.tokens);
  const { maxPositions } = s.manifest;
  return needed > maxPositions ? `it needs ${needed} positions, the engine has ${maxPositions}` : null;
}

function sweepPoint({ frames: _, ...point }: Point, block: BlockResult, horizon: number): SweepPoint {
  const t = summarise([block], horizon);
  return {
    ...point,
    frame_ms_median: t.frame_ms_median,
    frame_ms_p95: t.frame_ms_p95,
    action_hz: t.action_hz,
    replan_hz: t.replan_hz,
    tokens_per_s: t.tokens_per_s,
    batch_mean: t.batch_mean,
    first_action_ms_median: t.first_action_ms_median,
    request_latency_ms_median: t.request_latency_ms_median,
    manager_ms_median: t.manager_ms_median,
  };
}

async function measureRoofline(s: BenchSettings, apart: BenchProcess, parts: Parts): Promise<Roofline> {
  const tokens = longestPrefix(s.manifest.model);
  const { peaks, gemmMs } = await apart.order({ type: 'peaks', tokens });
  return roofline(s.manifest, peaks, {
    prefill: { tokens, ms: parts.prefill, gemmMs },
    decode: { batch: 1, positions: tokens, ms: parts.decode['1'] as number },
  });
}

/** Why texts may part in int8: the attention of several threads differs in its last bit, and a code on the edge flips. */
function roundingNote({ manifest, threads }: BenchSettings, modes: BenchResult['modes']): string[] {
  const parted = Object.values(modes).some(m => m.near_ties + m.differing > 0);
  if (!parted || manifest.precision !== 'int8' || threads === 1) return [];
  return [
    'texts: with int8 and several threads a last bit can flip the rounding of an activation and move a logit by tenths; ' +
      'with --threads 1 all modes say the same',
  ];
}

function notesOf(modes: BenchResult['modes']): string[] {
  const notes: string[] = [];
  const all = Object.entries(modes);
  if (all.some(([, m]) => m.energy_j_per_request === null)) notes.push(NO_ENERGY);
  if (all.some(([, m]) => m.memory === null)) notes.push('memory: there is no /proc here, so none is given');
  for (const [mode, { frame_ms_spread: s }] of all) {
    if (s.high > UNSTEADY * s.low)
      notes.push(
        `${mode}: the repeats' frame times are between ${s.low.toFixed(1)} and ${s.high.toFixed(1)} ms; ` +
          'the machine was busy, so compare modes only',
      );
  }
  return notes;
}
