/** Counts what the node does and makes the `status` message of it. */
import type { ErrorCode } from '../core/errors';
import type { GateMode } from '../core/safety';
import type { EngineInfo, FrameStats, RunKind } from '../engine/protocol';
import { fromNs } from './messages';
import type { TimeMessage } from './messages';

export const NODE_STATES = ['starting', 'running', 'holding', 'engine_down', 'stopping'] as const;
export type NodeState = (typeof NODE_STATES)[number];

/** oxygen_vla/msg/Status; 64-bit integers are bigint. */
export interface StatusMessage {
  readonly stamp: TimeMessage;
  readonly state: NodeState;
  readonly mode: string;
  readonly provider: string;
  readonly precision: string;
  readonly instruction: string;
  readonly action_hz: number;
  readonly replan_hz: number;
  readonly tokens_per_s: number;
  readonly fresh_ratio: number;
  readonly batch: number;
  readonly batch_max: number;
  readonly queued: number;
  readonly ticks: bigint;
  readonly fresh_ticks: bigint;
  readonly frames: bigint;
  readonly chunks: bigint;
  readonly tokens: bigint;
  readonly requests_finished: bigint;
  readonly cache_use: number;
  readonly cache_bytes: bigint;
  readonly stage_names: readonly string[];
  readonly stage_ms: readonly number[];
  readonly drop_reasons: readonly string[];
  readonly drop_counts: readonly bigint[];
  readonly engine_restarts: number;
  readonly last_error: string;
}

/** What the status says beside the counters. */
export interface StatusContext {
  readonly nowNs: bigint;
  /** Monotonic, for the rates. */
  readonly nowMs: number;
  readonly engineUp: boolean;
  readonly stopping: boolean;
  readonly mode: GateMode;
  readonly instruction: string;
  readonly drops: readonly (readonly [ErrorCode, bigint])[];
  readonly engineRestarts: number;
  readonly lastError: string;
}

/** Counters since the start. `finished` are language requests with any reason. */
interface Counters {
  ticks: number;
  freshTicks: number;
  frames: number;
  chunks: number;
  tokens: number;
  finished: number;
}

/** Rates over less than this would be noise: an extra status between two regular ones repeats the last rates. */
const MIN_PERIOD_MS = 200;

export class StatusBoard {
  readonly #counters: Counters = { ticks: 0, freshTicks: 0, frames: 0, chunks: 0, tokens: 0, finished: 0 };
  #before: Counters = { ...this.#counters };
  #beforeMs: number;
  #rates = { action: 0, replan: 0, tokens: 0, fresh: 0 };
  #info: EngineInfo | null = null;
  #stats: FrameStats | null = null;
  #batchMax = 0;
  readonly #stageMs = new Map<RunKind, number>();

  constructor(nowMs: number) {
    this.#beforeMs = nowMs;
  }

  tick(fresh: boolean): void {
    this.#counters.ticks += 1;
    if (fresh) this.#counters.freshTicks += 1;
  }

  frame(): void {
    this.#counters.frames += 1;
  }

  chunk(): void {
    this.#counters.chunks += 1;
  }

  token(): void {
    this.#counters.tokens += 1;
  }

  finished(): void {
    this.#counters.finished += 1;
  }

  engineUp(info: EngineInfo): void {
    this.#info = info;
  }

  engineDown(): void {
    this.#stats = null;
  }

  stats(stats: FrameStats): void {
    this.#stats = stats;
    this.#batchMax = Math.max(this.#batchMax, stats.batch);
    for (const [stage, ms] of Object.entries(stats.stageMs)) this.#stageMs.set(stage as RunKind, ms);
  }

  message(context: StatusContext): StatusMessage {
    this.#updateRates(context.nowMs);
    const { ticks, freshTicks, frames, chunks, tokens, finished } = this.#counters;
    return {
      stamp: fromNs(context.nowNs),
      state: this.#state(context),
      mode: context.mode,
      provider: this.#info?.provider ?? '',
      precision: this.#info?.precision ?? '',
      instruction: context.instruction,
      action_hz: this.#rates.action,
      replan_hz: this.#rates.replan,
      tokens_per_s: this.#rates.tokens,
      fresh_ratio: this.#rates.fresh,
      batch: this.#stats?.batch ?? 0,
      batch_max: this.#batchMax,
      queued: this.#stats?.queued ?? 0,
      ticks: BigInt(ticks),
      fresh_ticks: BigInt(freshTicks),
      frames: BigInt(frames),
      chunks: BigInt(chunks),
      tokens: BigInt(tokens),
      requests_finished: BigInt(finished),
      cache_use: this.#stats?.cacheUse ?? 0,
      cache_bytes: BigInt(this.#info?.kvBytes ?? 0),
      stage_names: [...this.#stageMs.keys()],
      stage_ms: [...this.#stageMs.values()],
      drop_reasons: context.drops.map(([code]) => code),
      drop_counts: context.drops.map(([, count]) => count),
      engine_restarts: context.engineRestarts,
      last_error: context.lastError,
    };
  }

  #state({ stopping, engineUp, mode }: StatusContext): NodeState {
    if (stopping) return 'stopping';
    if (!engineUp) return this.#info === null ? 'starting' : 'engine_down';
    return mode === 'active' || mode === 'ramp' ? 'running' : 'holding';
  }

  #updateRates(nowMs: number): void {
    const ms = nowMs - this.#beforeMs;
    if (ms < MIN_PERIOD_MS) return;
    const [now, before] = [this.#counters, this.#before];
    const ticks = now.ticks - before.ticks;
    this.#rates = {
      action: (ticks * 1000) / ms,
      replan: ((now.chunks - before.chunks) * 1000) / ms,
      tokens: ((now.tokens - before.tokens) * 1000) / ms,
      fresh: ticks === 0 ? 0 : (now.freshTicks - before.freshTicks) / ticks,
    };
    this.#before = { ...now };
    this.#beforeMs = nowMs;
  }
}
