/** One loaded engine with its cache and scheduler: what the engine process, the bench and the replay host. */
import { OxygenError } from '../core/errors';
import { KvCache } from '../core/kv-cache';
import type { Executor } from '../core/ports';
import { RunCosts, type CostTable } from '../core/run-costs';
import { Scheduler } from '../core/scheduler';
import type { Frame, Mode, Tunables } from '../core/types';
import { longestPrefix } from '../model/config';
import type { StageCosts } from '../model/manifest';
import { CudaExecutor } from './cuda-executor';
import type { CudaSessions } from './cuda-sessions';
import type { LanguageResult, ModelSessions } from './model-sessions';
import { firstOf, OnnxExecutor, type ExecutorOptions } from './onnx-executor';
import type { RunMonitor } from './run-watch';
import { tensorRtExecutor, type TensorRtEngine } from './tensorrt-engine';
import { REAL_TIME, type EngineTime } from './time';

/** The graphs of an engine, loaded for where they run. */
export type EngineSessions = ModelSessions | CudaSessions | TensorRtEngine;

export interface DeploymentOptions extends ExecutorOptions {
  /** Cameras of this robot; fewer than the model's make the cache smaller. */
  readonly cameras: number;
  readonly maxRequests: number;
  readonly maxQueue: number;
  readonly maxTokens: number;
  readonly maxSeedTokens: number;
  readonly mode: Mode;
  readonly tunables: Tunables;
  /** Waiting time worth one step of priority; 0: none. */
  readonly ageingMs: number;
  /** Empty: texts end by length only. */
  readonly stopIds: readonly number[];
}

export interface Deployment {
  readonly cache: KvCache;
  /** What runs are expected to take. */
  readonly costs: RunCosts;
  readonly scheduler: Scheduler;
}

/** Throws CONFIG_INVALID when a row would be longer than the engine's rotary tables. */
export function deploy(
  sessions: EngineSessions,
  o: DeploymentOptions,
  monitor: RunMonitor | null = null,
  time: EngineTime = REAL_TIME,
): Deployment {
  const { model, maxPositions } = sessions.manifest;
  const maxPrefixLength = longestPrefix(model, o.cameras);
  const capacity = KvCache.need(maxPrefixLength, o.maxSeedTokens, o.maxTokens);
  if (capacity > maxPositions) {
    throw new OxygenError(
      'CONFIG_INVALID',
      `a prefix of ${maxPrefixLength} + max_seed_tokens ${o.maxSeedTokens} + max_tokens ${o.maxTokens} positions ` +
        `exceed the engine's ${maxPositions}; lower max_tokens or max_seed_tokens`,
    );
  }
  const { layers, headDim } = model.language;
  const cache = new KvCache({ layers, headDim, maxRequests: o.maxRequests, capacity });
  const costs = new RunCosts(time.costs ?? costTable(sessions.manifest.costs, o.denoiseSteps));
  const executor = executorOf(sessions, o, costs, monitor, time);
  const scheduler = new Scheduler(executor, cache, time, costs, { ...o, maxPrefixLength }, time.timers);
  return { cache, costs, scheduler };
}

function executorOf(
  sessions: EngineSessions,
  ...rest: [ExecutorOptions, RunCosts, RunMonitor | null, EngineTime]
): Executor {
  switch (sessions.target) {
    case 'cpu':
      return new OnnxExecutor(sessions, ...rest);
    case 'cuda':
      return new CudaExecutor(sessions, ...rest);
    case 'tensorrt':
      return tensorRtExecutor(sessions, ...rest);
  }
}

/** engine.json's costs for a number of Euler steps; null when they were not measured. */
export function costTable(costs: StageCosts | null, denoiseSteps: number): CostTable | null {
  if (!costs) return null;
  const { vision, prefill, seed, decode, denoiseStep, upload } = costs;
  return {
    vision,
    prefill,
    denoise: denoiseStep * denoiseSteps,
    seed,
    decode,
    ...(upload === undefined ? {} : { upload }),
  };
}

/**
 * A cache that holds one prefix, for runs outside the scheduler: warm-up, measuring, verifying. `spare`: positions per
 * row after the prefix.
 */
export function prefixCache(
  { manifest }: Pick<EngineSessions, 'manifest'>,
  { kv, next, length }: Pick<LanguageResult, 'kv' | 'next'> & { readonly length: number },
  maxRequests: number,
  spare: number,
): KvCache {
  const { layers, headDim } = manifest.model.language;
  const cache = new KvCache({ layers, headDim, maxRequests, capacity: length + spare });
  cache.commitPrefix({ frameId: 0, stampNs: 0n, epoch: 0, length, next: firstOf(next) }, kv);
  return cache;
}

/** A frame of the longest prompt and grey pictures: only its shapes matter. */
export function dummyFrame(
  sessions: Pick<EngineSessions, 'manifest'>,
  cameras: number,
): Pick<Frame, 'cameras' | 'images' | 'promptIds'> {
  const { model, special } = sessions.manifest;
  const { imageHeight, imageWidth } = model.vision;
  return {
    cameras: model.cameraSlots.slice(0, cameras),
    images: new Uint8Array(cameras * imageHeight * imageWidth * 3).fill(127),
    promptIds: new Array<number>(model.maxPromptTokens).fill(special.begin),
  };
}
