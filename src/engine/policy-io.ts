/** What lies around the model: observation → frame (prompt ids), seed text → ids, model actions → robot units. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { OxygenError } from '../core/errors';
import type { ActionChunk, Frame, Observation } from '../core/types';
import type { Manifest } from '../model/manifest';
import { cleanInstruction, promptIds, stateBins } from '../model/prompt';
import { loadTokenizer, type Tokenizer } from '../model/tokenizer';
import { loadNormStats, type NormStats } from '../policies/norm-stats';
import { normalizeQuantile, unnormalizeChunk } from '../policies/transforms';

export class PolicyIo {
  readonly manifest: Manifest;
  readonly tokenizer: Tokenizer;
  readonly #stats: NormStats | null;
  #frames = 0;

  /** Throws TOKENIZER_INVALID or NORM_STATS_INVALID. */
  constructor(dir: string, manifest: Manifest) {
    const path = join(dir, 'tokenizer.json');
    if (!existsSync(path)) {
      throw new OxygenError(
        'TOKENIZER_INVALID',
        `${dir} holds no tokenizer.json; build the engine with --tokenizer FILE`,
      );
    }
    this.manifest = manifest;
    this.tokenizer = loadTokenizer(path);
    this.#stats =
      manifest.normalization.state === 'missing' ? null : loadNormStats(join(dir, 'norm_stats.json'));
  }

  /** The frame of an observation. Throws STATE_INVALID, INSTRUCTION_INVALID or PROMPT_TOO_LONG. */
  frame(o: Observation, noise: Float32Array | null): Frame {
    const normalised = this.#stats ? normalizeQuantile(o.state, this.#stats.state) : o.state;
    const bins = this.manifest.model.discreteState ? stateBins(normalised) : null;
    const ids = promptIds(
      this.tokenizer,
      cleanInstruction(o.instruction),
      bins,
      this.manifest.model.maxPromptTokens,
    );
    return {
      id: this.#frames++,
      stampNs: o.stampNs,
      epoch: o.epoch,
      cameras: o.cameras,
      images: o.images,
      promptIds: ids,
      ...(noise && { noise }),
    };
  }

  /** Ids of a request's seed text. Throws REQUEST_INVALID when it is longer than `maxTokens`. */
  seedIds(text: string, maxTokens: number): number[] {
    const ids = this.tokenizer.encode(text);
    if (ids.length <= maxTokens) return ids;
    throw new OxygenError(
      'REQUEST_INVALID',
      `the seed text has ${ids.length} tokens, at most ${maxTokens} are allowed`,
    );
  }

  /** Model actions [H·A] → a chunk in robot units, cut to the dimensions that the robot has. */
  chunk(frame: Frame, actions: Float32Array): ActionChunk {
    const { actionDims, model } = this.manifest;
    return {
      observationStampNs: frame.stampNs,
      epoch: frame.epoch,
      horizon: model.horizon,
      dims: actionDims,
      values: this.#stats
        ? unnormalizeChunk(actions, model.horizon, model.actionDim, actionDims, this.#stats.actions)
        : Float64Array.from(actions),
    };
  }
}
