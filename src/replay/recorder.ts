/**
 * Hears of everything that happens in a replay and makes the result of it. Its memory does not grow with the bag: see
 * the parts for their bounds. It has no clock; all times are nanoseconds of the bag's time axis.
 */
import type { ErrorCode } from '../core/errors';
import type { Robot } from '../core/robot';
import type { ActionChunk } from '../core/types';
import { counted } from '../core/words';
import type { FrameStats, FromEngine, StandingInput } from '../engine/protocol';
import type { LanguageTokenMessage } from '../ros/outputs';
import { Comparer, MAX_WAITING } from './compare';
import { Curves } from './curves';
import { LatencySketch } from './latency-sketch';
import { RateBuckets, ratio } from './rate-buckets';
import type { RecordedAction } from './recorded-actions';
import type { Comparison, ReplayResult, ReplaySeries, ReplaySummary } from './result';
import { TextLog } from './text-log';

type DoneEvent = Extract<FromEngine, { type: 'done' }>;

export interface RecorderOptions {
  readonly robot: Robot;
  /** First message of the bag: where the seconds of the result begin. */
  readonly startNs: bigint;
  /** Where playing begins. */
  readonly fromNs: bigint;
  /** The recorded actions that are looked at; null: none. */
  readonly recorded: { readonly topic: string; readonly type: string } | null;
}

/** What only the whole replay knows. */
export type ReplayEnd = Pick<ReplaySummary, 'bag' | 'settings' | 'partial' | 'faults' | 'notes'> &
  Pick<ReplaySeries, 'thumbnails'>;

const MAX_INSTRUCTIONS = 500;

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #curves = new Curves();
  readonly #comparer: Comparer;
  readonly #rates: RateBuckets;
  readonly #texts = new TextLog();
  readonly #latency = {
    chunk: new LatencySketch(),
    firstToken: new LatencySketch(),
    request: new LatencySketch(),
  };
  readonly #instructions: { readonly t: number; readonly text: string }[] = [];
  #instruction: string | null = null;
  #frames = 0;
  #chunks = 0;
  readonly #commands = { count: 0, fresh: 0, firstNs: 0n, lastNs: 0n };
  readonly #decoded = { frames: 0, steps: 0, rows: 0, batchMax: 0 };
  readonly #recorded = { used: 0, refused: 0, refusal: '' };
  #drops: ReadonlyMap<ErrorCode, bigint> = new Map();

  constructor(options: RecorderOptions) {
    const { robot, startNs, fromNs } = options;
    this.#options = options;
    this.#comparer = new Comparer(robot.actions, startNs, (...point) => this.#curves.add(...point));
    this.#rates = new RateBuckets(this.#since(fromNs));
  }

  /** A frame went to the engine. */
  frame(): void {
    this.#frames += 1;
  }

  /** The instruction in force; the same text again is no change. */
  instruction(text: string, atNs: bigint): void {
    if (text === this.#instruction) return;
    this.#instruction = text;
    if (this.#instructions.length < MAX_INSTRUCTIONS) {
      this.#instructions.push({ t: this.#seconds(atNs), text });
    }
  }

  /** `values` [actions]: a command of the action stream; `fresh`: it played a step of a chunk. */
  command(values: ArrayLike<number>, fresh: boolean, atNs: bigint): void {
    const commands = this.#commands;
    if (commands.count === 0) commands.firstNs = atNs;
    commands.lastNs = atNs;
    commands.count += 1;
    if (fresh) commands.fresh += 1;
    this.#comparer.command(values, fresh, atNs);
  }

  /** A message of the recorded actions. */
  recorded(action: RecordedAction, atNs: bigint): void {
    const recorded = this.#recorded;
    if (action.kind === 'refused') {
      if (recorded.refused === 0) recorded.refusal = action.why;
      recorded.refused += 1;
      return;
    }
    recorded.used += 1;
    this.#comparer.recorded(action.values, atNs);
  }

  /** A chunk that was taken: step k plays at `startNs` + k · `stepSeconds`. */
  chunk(chunk: ActionChunk, startNs: bigint, stepSeconds: number, atNs: bigint): void {
    this.#chunks += 1;
    this.#rates.add(this.#since(atNs), { chunks: 1 });
    this.#latency.chunk.add(Number(atNs - chunk.observationStampNs) / 1e6);
    this.#comparer.chunk(chunk, startNs, stepSeconds);
  }

  /** Standing requests that are or were. */
  standing(requests: readonly Pick<StandingInput, 'name' | 'text'>[]): void {
    this.#texts.standing(requests);
  }

  /** A language request went to the engine, which announces its end. */
  request(id: string, seed: string): void {
    this.#texts.request(id, seed);
  }

  /** A message on `language/tokens`: a token, or the end of a request. */
  token(message: LanguageTokenMessage, atNs: bigint): void {
    if (this.#texts.hear(message, this.#seconds(atNs))) this.#rates.add(this.#since(atNs), { tokens: 1 });
  }

  /** The engine's own times of a request. One that was cut short says nothing of how long answers take. */
  done({ reason, firstTokenMs, totalMs }: Pick<DoneEvent, 'reason' | 'firstTokenMs' | 'totalMs'>): void {
    if (firstTokenMs !== null) this.#latency.firstToken.add(firstTokenMs);
    if (reason === 'end' || reason === 'length') this.#latency.request.add(totalMs);
  }

  /** What a frame cost. */
  stats({ batch, decodeSteps, rowSteps: rows }: FrameStats, atNs: bigint): void {
    this.#decoded.frames += 1;
    this.#decoded.steps += decodeSteps;
    this.#decoded.rows += rows;
    this.#decoded.batchMax = Math.max(this.#decoded.batchMax, batch);
    this.#rates.add(this.#since(atNs), { steps: decodeSteps, rows });
  }

  /** Counts since the start, as the DropLog has them; what is new since the last call happened now. */
  drops(counts: Iterable<readonly [ErrorCode, bigint]>, atNs: bigint): void {
    const before = this.#drops;
    this.#drops = new Map(counts);
    let drops = 0n;
    for (const [code, count] of this.#drops) drops += count - (before.get(code) ?? 0n);
    if (drops > 0n) this.#rates.add(this.#since(atNs), { drops: Number(drops) });
  }

  /** Once, after everything. */
  result(end: ReplayEnd): ReplayResult {
    this.#comparer.end();
    const { thumbnails, ...rest } = end;
    const notes = [...end.notes, ...this.#cutNote()];
    const { chunk, firstToken, request } = this.#latency;
    return {
      summary: { ...rest, notes, ...this.#figures(end.bag.to_s - end.bag.from_s) },
      series: {
        actions: this.#curves.series(this.#options.robot.actions),
        instructions: this.#instructions,
        ...this.#texts.texts(),
        thumbnails,
        rates: this.#rates.series(Math.round(end.bag.to_s * 1e9)),
        latency: {
          chunk_ms: chunk.histogram(),
          first_token_ms: firstToken.histogram(),
          request_ms: request.histogram(),
        },
      },
    };
  }

  #figures(seconds: number): Omit<ReplaySummary, keyof ReplayEnd> {
    const { count, fresh, firstNs, lastNs } = this.#commands;
    const { frames, steps, rows, batchMax } = this.#decoded;
    const { chunk, firstToken, request } = this.#latency;
    const codes = [...this.#drops].filter(([, drops]) => drops > 0n).sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      frames: this.#frames,
      chunks: this.#chunks,
      actions: count,
      fresh_ratio: ratio(fresh, count),
      tokens: this.#texts.tokens,
      requests: this.#texts.requests(),
      drops: Object.fromEntries(codes.map(([code, drops]) => [code, Number(drops)])),
      rates: {
        action_hz: ratio(count - 1, Number(lastNs - firstNs) / 1e9),
        replan_hz: ratio(this.#chunks, seconds),
        tokens_per_s: ratio(this.#texts.tokens, seconds),
        batch_mean: ratio(rows, steps),
        batch_max: batchMax,
        tokens_per_frame_mean: ratio(steps, frames),
      },
      latency: {
        chunk_ms: chunk.quantiles(),
        first_token_ms: firstToken.quantiles(),
        request_ms: request.quantiles(),
      },
      comparison: this.#comparison(),
    };
  }

  #cutNote(): readonly string[] {
    const { cut } = this.#comparer;
    if (this.#options.recorded === null || cut === 0) return [];
    return [
      `the last steps of ${counted(cut, 'chunk')} were not compared: more than ${MAX_WAITING} played at once`,
    ];
  }

  #comparison(): Comparison | null {
    const { recorded } = this.#options;
    if (recorded === null) return null;
    const [joints, horizon] = [this.#comparer.joints(), this.#comparer.horizon()];
    return { ...recorded, ...this.#recorded, joints, horizon };
  }

  /** Exact: 2^53 ns are a hundred days. */
  #since(ns: bigint): number {
    return Number(ns - this.#options.startNs);
  }

  #seconds(ns: bigint): number {
    return this.#since(ns) / 1e9;
  }
}
