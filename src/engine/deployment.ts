/** One loaded engine with its cache and scheduler: what the engine process, the bench and the replay host. */
import { OxygenError } from '../core/errors';
import { KvCache } from '../core/kv-cache';
import { Scheduler } from '../core/scheduler';
import type { ModelSessions } from './model-sessions';
import { OnnxExecutor, type ExecutorOptions, type RunMonitor } from './onnx-executor';

export interface DeploymentOptions extends ExecutorOptions {
  /** Cameras of this robot; fewer than the model's make the cache smaller. */
  readonly cameras: number;
  readonly maxRequests: number;
  readonly maxQueue: number;
  readonly maxTokens: number;
  readonly maxSeedTokens: number;
  readonly tokensPerFrame: number;
  readonly replanRateHz: number;
  /** Empty: texts end by length only. */
  readonly stopIds: readonly number[];
}

export interface Deployment {
  readonly cache: KvCache;
  readonly scheduler: Scheduler;
}

/** Throws CONFIG_INVALID when a row would be longer than the engine's rotary tables. */
export function deploy(
  sessions: ModelSessions,
  o: DeploymentOptions,
  monitor: RunMonitor | null = null,
): Deployment {
  const { model, maxPositions } = sessions.manifest;
  const maxPrefixLength = o.cameras * sessions.imageTokens + model.maxPromptTokens;
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
  const scheduler = new Scheduler(new OnnxExecutor(sessions, o, monitor), cache, performance, {
    ...o,
    maxPrefixLength,
  });
  return { cache, scheduler };
}
