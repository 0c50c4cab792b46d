/** Counts what the node does and makes the `status` message of it. */
import type { ErrorCode } from '../core/errors';
import type { GateMode } from '../core/safety';
import type { Mode } from '../core/types';
import type { GateSnapshot } from './diagnostic-snapshot';
import type { StateName } from './lifecycle';
import type { EngineInfo, FrameStats, FromEngine, RunKind } from '../engine/protocol';
import { fromNs } from './messages';
import type { TimeMessage } from './messages';

type DoneEvent = Extract<FromEngine, { type: 'done' }>;

export const NODE_STATES = ['starting', 'running', 'holding', 'engine_down', 'stopping'] as const;
export type NodeState = (typeof NODE_STATES)[number];

/** oxygen_vla/msg/Status; 64-bit integers are bigint. */
export interface StatusMessage {
  readonly stamp: TimeMessage;
  readonly state: NodeState;
  readonly lifecycle: StateName;
  readonly gate: GateMode;
  readonly gate_reason: string;
  readonly enabled: boolean;
  readonly dry_run: boolean;
  readonly speed_scale: number;
  readonly observation_age_ms: number;
  readonly mode: Mode;
  readonly language: 'on' | 'off';
  readonly provider: string;
  readonly precision: string;
  readonly instruction: string;
  readonly action_hz: number;
  readonly replan_hz: number;
  readonly tokens_per_s: number;
  readonly fresh_ratio: number;
  readonly tokens_per_frame: number;
  readonly first_token_ms: number;
  readonly request_ms: number;
  readonly batch: number;
  readonly batch_max: number;
  readonly queued: number;
  readonly ticks: bigint;
  readonly fresh_ticks: bigint;
  readonly missed_ticks: bigint;
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
  readonly lifecycle: StateName;
  readonly engineUp: boolean;
  readonly gate: GateSnapshot;
  readonly mode: Mode;
  readonly instruction: string;
  readonly drops: readonly (readonly [ErrorCode, bigint])[];
  readonly engineRestarts: number;
  readonly lastError: string;
}

/** Counters since the start. `finished` are language requests with any reason. */
interface Counters {
  ticks: number;
  freshTicks: number;
  missed: number;
  frames: number;
  chunks: number;
  tokens: number;
  finished: number;
  /** Requests that ran to their end, and their times together; the same for first tokens. */
  answered: number;
  answeredMs: number;
  begun: number;
  begunMs: number;
}

const NOTHING: Counters = {
  ticks: 0,
  freshTicks: 0,
  missed: 0,
  frames: 0,
  chunks: 0,
  tokens: 0,
  finished: 0,
  answered: 0,
  answeredMs: 0,
  begun: 0,
  begunMs: 0,
};

const ENDING: ReadonlySet<StateName> = new Set(['deactivating', 'cleaningup', 'shuttingdown', 'finalized']);

/** Rates over less than this would be noise: an extra status between two regular ones repeats the last rates. */
const MIN_PERIOD_MS = 200;

export class StatusBoard {
  readonly #counters: Counters = { ...NOTHING };
  #before: Counters = { ...this.#counters };
  #beforeMs: number;
  #rates = { action: 0, replan: 0, tokens: 0, fresh: 0, firstTokenMs: 0, requestMs: 0 };
  #info: EngineInfo | null = null;
  #stats: FrameStats | null = null;
  #batchMax = 0;
  #language: 'on' | 'off' = 'on';
  readonly #stageMs = new Map<RunKind, number>();

  constructor(nowMs: number) {
    this.#beforeMs = nowMs;
  }

  tick(fresh: boolean): void {
    this.#counters.ticks += 1;
    if (fresh) this.#counters.freshTicks += 1;
  }

  /** Ticks that the timer left out and nobody made up for. */
  missed(ticks: number): void {
    this.#counters.missed += ticks;
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

  finished({ reason, firstTokenMs, totalMs }: DoneEvent): void {
    this.#counters.finished += 1;
    // One that was cut short says nothing of how long answers take.
    if (reason !== 'end' && reason !== 'length') return;
    this.#counters.answered += 1;
    this.#counters.answeredMs += totalMs;
    if (firstTokenMs === null) return;
    this.#counters.begun += 1;
    this.#counters.begunMs += firstTokenMs;
  }

  /** Off after lack of memory; on again with a reset or a new engine process. */
  language(state: 'on' | 'off'): void {
    this.#language = state;
  }

  engineUp(info: EngineInfo): void {
    this.#info = info;
    this.#language = 'on';
  }

  engineDown(): void {
    this.#stats = null;
  }

  /** Where and how the model runs; null before the first engine. */
  get engine(): EngineInfo | null {
    return this.#info;
  }

  stats(stats: FrameStats): void {
    this.#stats = stats;
    this.#batchMax = Math.max(this.#batchMax, stats.batch);
    for (const [stage, ms] of Object.entries(stats.stageMs)) this.#stageMs.set(stage as RunKind, ms);
  }

  message(context: StatusContext): StatusMessage {
    const { gate } = context;
    const { ticks, freshTicks, missed, frames, chunks, tokens, finished } = this.#counters;
    return {
      stamp: fromNs(context.nowNs),
      state: this.#state(context),
      lifecycle: context.lifecycle,
      gate: gate.mode,
      gate_reason: gate.reason,
      enabled: gate.enabled,
      dry_run: gate.dryRun,
      speed_scale: gate.speedScale,
      observation_age_ms: gate.observationAgeMs ?? 0,
      mode: context.mode,
      language: this.#language,
      provider: this.#info?.provider ?? '',
      precision: this.#info?.precision ?? '',
      instruction: context.instruction,
      action_hz: this.#rates.action,
      replan_hz: this.#rates.replan,
      tokens_per_s: this.#rates.tokens,
      fresh_ratio: this.#rates.fresh,
      tokens_per_frame: this.#stats?.decodeSteps ?? 0,
      first_token_ms: this.#rates.firstTokenMs,
      request_ms: this.#rates.requestMs,
      batch: this.#stats?.batch ?? 0,
      batch_max: this.#batchMax,
      queued: this.#stats?.queued ?? 0,
      ticks: BigInt(ticks),
      fresh_ticks: BigInt(freshTicks),
      missed_ticks: BigInt(missed),
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

  #state({ lifecycle, engineUp, gate }: StatusContext): NodeState {
    if (ENDING.has(lifecycle)) return 'stopping';
    if (lifecycle !== 'active') return 'starting';
    if (!engineUp) return 'engine_down';
    return gate.mode === 'active' || gate.mode === 'ramp' ? 'running' : 'holding';
  }

  /** The rates are those since the last call, unless that was just now. `nowMs`: monotonic. */
  updateRates(nowMs: number): void {
    const ms = nowMs - this.#beforeMs;
    if (ms < MIN_PERIOD_MS) return;
    const [now, before] = [this.#counters, this.#before];
    const grown = (name: keyof Counters): number => now[name] - before[name];
    const perSecond = (name: keyof Counters): number => (grown(name) * 1000) / ms;
    const mean = (sum: keyof Counters, count: keyof Counters): number =>
      grown(count) === 0 ? 0 : grown(sum) / grown(count);
    this.#rates = {
      action: perSecond('ticks'),
      replan: perSecond('chunks'),
      tokens: perSecond('tokens'),
      fresh: mean('freshTicks', 'ticks'),
      firstTokenMs: mean('begunMs', 'begun'),
      requestMs: mean('answeredMs', 'answered'),
    };
    this.#before = { ...now };
    this.#beforeMs = nowMs;
  }
}
