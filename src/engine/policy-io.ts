/** What lies around the model: observation → frame (prompt ids), seed text → ids, model actions → robot units. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { OxygenError } from '../core/errors';
import type { RobotTransforms } from '../core/robot';
import type { ActionChunk, Frame, Observation } from '../core/types';
import type { Manifest } from '../model/manifest';
import { readsState, stateBins } from '../model/prompt';
import { PromptWriter, type LongPrompt } from '../model/prompt-ids';
import { loadTokenizer, type Tokenizer } from '../model/tokenizer';
import { loadNormStats, NO_STATS } from '../policies/norm-stats';
import { PLATFORMS, type Platform } from '../policies/platforms';
import { addState, normalizeState, scaler, unnormalizeChunk, type Scaler } from '../policies/transforms';

/** A normalised state is within -1..1 for 98 % of the training data; beyond this size something is wrong. */
const UNUSUAL_SIZE = 10;

export class PolicyIo {
  readonly manifest: Manifest;
  readonly tokenizer: Tokenizer;
  readonly #platform: Platform;
  readonly #robot: Omit<RobotTransforms, 'platform'>;
  readonly #stateScaler: Scaler;
  readonly #actionScaler: Scaler;
  readonly #prompts: PromptWriter;
  readonly #warn: (message: string) => void;
  /** State dimensions that have been warned about. */
  readonly #unusual = new Set<number>();
  #frames = 0;

  /**
   * Without a robot all action dimensions of the engine come out, in its units. `warn` hears once per state dimension
   * that is far outside the statistics; `shortened` when the end of an instruction is left out of the prompt. Throws
   * TOKENIZER_INVALID or NORM_STATS_INVALID.
   */
  constructor(
    dir: string,
    manifest: Manifest,
    robot: RobotTransforms | null = null,
    warn: (message: string) => void = () => undefined,
    longPrompt: LongPrompt = 'refuse',
    shortened: (error: OxygenError) => void = () => undefined,
  ) {
    const path = join(dir, 'tokenizer.json');
    if (!existsSync(path)) {
      throw new OxygenError(
        'TOKENIZER_INVALID',
        `${dir} holds no tokenizer.json; build the engine with --tokenizer FILE`,
      );
    }
    this.manifest = manifest;
    this.tokenizer = loadTokenizer(path);
    this.#prompts = new PromptWriter(
      this.tokenizer,
      { profile: manifest.promptProfile, maxTokens: manifest.model.maxPromptTokens, tooLong: longPrompt },
      shortened,
    );
    this.#platform = PLATFORMS[robot?.platform ?? 'none'];
    this.#robot = robot ?? {
      stateNames: [],
      relativeTo: new Array<null>(manifest.actionDims).fill(null),
    };
    this.#warn = warn;
    const { convention, ...modes } = manifest.normalization;
    const needed = [modes.state, modes.actions].some(mode => mode === 'quantile' || mode === 'zscore');
    const stats = needed
      ? loadNormStats(join(dir, 'norm_stats.json'), modes)
      : { state: NO_STATS, actions: NO_STATS };
    this.#stateScaler = scaler(stats.state, modes.state, convention);
    this.#actionScaler = scaler(stats.actions, modes.actions, convention);
  }

  /** The frame of an observation. Throws STATE_INVALID, INSTRUCTION_INVALID or PROMPT_TOO_LONG. */
  frame(o: Observation, noise: Float32Array | null): Frame {
    const state = this.#platform.state(o.state);
    const normalised = normalizeState(state, this.#stateScaler);
    this.#warnOfSize(o.state, normalised);
    const bins = readsState(this.manifest.promptProfile) ? stateBins(normalised) : [];
    return {
      id: this.#frames++,
      stampNs: o.stampNs,
      epoch: o.epoch,
      cameras: o.cameras,
      images: o.images,
      promptIds: this.#prompts.ids(o.instruction, bins),
      state,
      ...(noise && { noise }),
    };
  }

  /** Ids of a request's seed text. Throws REQUEST_INVALID when it is longer than `maxTokens`. */
  seedIds(text: string, maxTokens: number): number[] {
    const ids = this.tokenizer.encode(text);
    if (ids.length <= maxTokens) return ids;
    throw new OxygenError(
      'REQUEST_INVALID',
      `the seed text has ${ids.length} tokens, at most ${maxTokens} are allowed (max_seed_tokens)`,
    );
  }

  /** Model actions [H·A] → a chunk in robot units, cut to the dimensions that the robot has. */
  chunk(frame: Frame, actions: Float32Array): ActionChunk {
    const { horizon, actionDim } = this.manifest.model;
    const { relativeTo } = this.#robot;
    const dims = relativeTo.length;
    const values = unnormalizeChunk(actions, horizon, actionDim, dims, this.#actionScaler);
    addState(values, relativeTo, frame.state ?? []);
    this.#platform.actions(values, dims);
    return { observationStampNs: frame.stampNs, epoch: frame.epoch, horizon, dims, values };
  }

  #warnOfSize(raw: Float64Array, normalised: Float64Array): void {
    normalised.forEach((value, i) => {
      if (Math.abs(value) <= UNUSUAL_SIZE || this.#unusual.has(i)) return;
      this.#unusual.add(i);
      const name = this.#robot.stateNames[i];
      this.#warn(
        `state ${i}${name === undefined ? '' : ` (${name})`} is ${raw[i]}, ${value.toPrecision(4)} when normalised: far ` +
          `outside what the checkpoint was trained on (limit ${UNUSUAL_SIZE}); the model sees the end of its range`,
      );
    });
  }
}
