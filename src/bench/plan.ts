/** What a bench is going to do, and on what. */
import { cpus } from 'node:os';
import { OxygenError } from '../core/errors';
import type { TokensPerFrame } from '../core/types';
import type { Pool } from '../engine/session-options';
import { longestPrefix } from '../model/config';
import type { Manifest } from '../model/manifest';
import { elements, tensorShapes } from '../model/tensors';
import { arrivalsAt, parseArrivals } from './arrivals';
import type { LaneBlock } from './lane';
import type { BenchMode, BenchResult } from './result';
import { sum } from '../core/statistics';
import { sweepPoints, type Point, type SweepKind } from './sweep';

export interface BenchSettings extends Pool {
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
  /** As on the command line. */
  readonly arrivals: string;
  readonly seed: number;
  readonly sweep: SweepKind;
  /** Time that the executed part of a chunk plays, for `auto`. */
  readonly executeMs: number;
}

/** Frame numbers start here: early enough to have frames before, and a multiple of all usual periods. */
const FIRST_FRAME = 1_000_000;
export const WARM_UP = 2;
/** With `auto` nobody knows the batch beforehand; it fills while frames pass. */
const WARM_UP_AUTO = 12;
/** Progress of measuring the machine's peaks, in frames. */
export const PEAKS_WEIGHT = 10;
export const PARTS_WEIGHT = 5;

/** Sizes of the blocks; refuses a workload without requests. */
export function planOf(s: BenchSettings) {
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

export const warmUpOf = (s: BenchSettings, mode: BenchMode): number =>
  mode === 'oxygen' && s.tokensPerFrame.kind === 'auto' ? WARM_UP_AUTO : WARM_UP;

/** One block of few frames. */
export const pointBlock = (s: BenchSettings, p: Point): LaneBlock => ({
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

/** What the figures are of. */
export function describe(
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
      spin_us: s.spinUs,
      horizon: model.horizon,
      prefix: longestPrefix(model),
    },
  };
}
