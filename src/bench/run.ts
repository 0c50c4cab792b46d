/** The bench: all modes in turns, single runs between them, the sweep, the roofline. */
import { cpus } from 'node:os';
import { OxygenError } from '../core/errors';
import type { TokensPerFrame } from '../core/types';
import { imageTokens } from '../model/config';
import type { Manifest } from '../model/manifest';
import { elements, tensorShapes } from '../model/tensors';
import { arrivalsAt, longest, parseArrivals } from './arrivals';
import type { BlockResult } from './block';
import { NO_ENERGY } from './energy';
import { compare } from './equality';
import { Lane, type LaneBlock, type LaneOptions } from './lane';
import { partsOf, type PartSamples } from './parts';
import { BenchProcess } from './process';
import type { BenchMode, BenchResult, ModeFigures, Parts, Roofline, SweepPoint } from './result';
import { roofline } from './roofline';
import { summarise } from './summary';
import { sum } from './statistics';
import { expectedFrameMs, pointName, sweepPoints, type Point, type SweepKind } from './sweep';

export interface BenchSettings {
  readonly engineDir: string;
  readonly manifest: Manifest;
  readonly modes: readonly BenchMode[];
  /** N */
  readonly tokens: number;
  /** k */
  readonly tokensPerFrame: TokensPerFrame;
  /** S */
  readonly denoiseSteps: number;
  /** Wanted counted frames per mode; rounded up to whole blocks. */
  readonly frames: number;
  readonly repeats: number;
  readonly threads: number;
  /** As on the command line. */
  readonly arrivals: string;
  readonly seed: number;
  readonly sweep: SweepKind;
  /** Time that the executed part of a chunk plays, for `auto`. */
  readonly executeMs: number;
}

export interface BenchReporter {
  readonly progress: (done: number, total: number, what: string) => void;
}

/** Frame numbers start here: early enough to have frames before, and a multiple of all usual periods. */
const FIRST_FRAME = 1_000_000;
const WARM_UP = 2;
/** With `auto` nobody knows the batch beforehand; it fills while frames pass. */
const WARM_UP_AUTO = 12;
/** Points of the sweep whose frame should take longer are left out. */
const LONGEST_FRAME_MS = 5_000;
/** Repeats further apart than this are worth a note. */
const UNSTEADY = 1.25;
/** Progress of measuring the machine's peaks, in frames. */
const PEAKS_WEIGHT = 10;
const PARTS_WEIGHT = 5;

/** Throws RUN_FAILED when a run failed, ENGINE_* when the engine cannot be loaded, USAGE when no request would come. */
export async function runBench(settings: BenchSettings, reporter: BenchReporter): Promise<BenchResult> {
  const plan = planOf(settings);
  const options: LaneOptions = settings;
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
    const rounds: PartSamples[] = [];
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
      notes: [...notesOf(modes), ...notes],
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

/** Sizes of the blocks; refuses a workload without requests. */
function planOf(s: BenchSettings) {
  const perBlock = Math.ceil(s.frames / s.repeats);
  const arrivals = parseArrivals(s.arrivals);
  const first = (round: number) => FIRST_FRAME + round * perBlock;
  const counted = Array.from({ length: perBlock * s.repeats }, (_, i) => FIRST_FRAME + i);
  if (sum(counted.map(f => arrivalsAt(arrivals, f, s.tokens, s.seed).length)) === 0) {
    throw new OxygenError(
      'USAGE',
      `no request arrives in ${counted.length} frames of ${s.arrivals}; raise --frames or the rate`,
    );
  }
  const block = (round: number) => (mode: BenchMode): LaneBlock => ({
    tokens: s.tokens,
    tokensPerFrame: s.tokensPerFrame,
    denoiseSteps: s.denoiseSteps,
    arrivals,
    seed: s.seed,
    first: first(round),
    warmUp: warmUpOf(s, mode),
    frames: perBlock,
    executeMs: s.executeMs,
  }); // prettier-ignore
  const points = sweepPoints(s.sweep, s.modes, s.manifest.model.denoiseSteps);
  const total =
    s.repeats * (sum(s.modes.map(m => perBlock + warmUpOf(s, m))) + PARTS_WEIGHT) +
    sum(points.map(p => p.frames + WARM_UP)) +
    PEAKS_WEIGHT;
  return { perBlock, block, total };
}

const warmUpOf = (s: BenchSettings, mode: BenchMode): number =>
  mode === 'oxygen' && s.tokensPerFrame.kind === 'auto' ? WARM_UP_AUTO : WARM_UP;

function figures(lanes: readonly Lane[], horizon: number): BenchResult['modes'] {
  const reference = lanes.find(l => l.mode === 'isolated') ?? (lanes[0] as Lane);
  for (const lane of lanes) refuseFailures(lane.mode, lane.blocks);
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

function refuseFailures(what: string, blocks: readonly BlockResult[]): void {
  const failures = blocks.flatMap(b => b.failures);
  if (failures.length > 0)
    throw new OxygenError('RUN_FAILED', `${what}: ${failures.length} runs failed: ${failures[0]}`);
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
      refuseFailures(pointName(point), [result]);
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
  const needed = prefixLength(s.manifest) + longest(parseArrivals(p.arrivals), p.tokens);
  const { maxPositions } = s.manifest;
  return needed > maxPositions ? `it needs ${needed} positions, the engine has ${maxPositions}` : null;
}

const pointBlock = (s: BenchSettings, p: Point): LaneBlock => ({
  tokens: p.tokens,
  tokensPerFrame: { kind: 'fixed', steps: p.tokens_per_frame },
  denoiseSteps: p.denoise_steps,
  arrivals: parseArrivals(p.arrivals),
  seed: s.seed,
  first: FIRST_FRAME,
  warmUp: WARM_UP,
  frames: p.frames,
  executeMs: s.executeMs,
});

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

/** Positions of a frame's prefix: all cameras and the longest prompt. */
export const prefixLength = ({ model }: Pick<Manifest, 'model'>): number =>
  model.cameraSlots.length * imageTokens(model) + model.maxPromptTokens;

async function measureRoofline(s: BenchSettings, apart: BenchProcess, parts: Parts): Promise<Roofline> {
  const tokens = prefixLength(s.manifest);
  const { peaks, gemmMs } = await apart.order({ type: 'peaks', tokens });
  return roofline(s.manifest, peaks, {
    prefill: { tokens, ms: parts.prefill, gemmMs },
    decode: { batch: 1, positions: tokens, ms: parts.decode['1'] as number },
  });
}

function describe(
  s: BenchSettings,
  perBlock: number,
  onnxruntime: string,
): Pick<BenchResult, 'engine' | 'machine' | 'threads' | 'settings'> {
  const { name, precision, model } = s.manifest;
  const processors = cpus();
  return {
    engine: {
      name,
      precision,
      parameters: sum([...tensorShapes(model).values()].map(elements)),
    },
    machine: {
      cpu: processors[0]?.model.trim() ?? 'unknown',
      cores: processors.length,
      node: process.versions.node,
      onnxruntime,
    },
    threads: s.threads,
    settings: {
      tokens: s.tokens,
      tokens_per_frame: s.tokensPerFrame.kind === 'fixed' ? s.tokensPerFrame.steps : 'auto',
      denoise_steps: s.denoiseSteps,
      frames: perBlock * s.repeats,
      warm_up: Math.max(...s.modes.map(m => warmUpOf(s, m))),
      repeats: s.repeats,
      arrivals: s.arrivals,
      seed: s.seed,
      horizon: model.horizon,
      prefix: prefixLength(s.manifest),
    },
  };
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
