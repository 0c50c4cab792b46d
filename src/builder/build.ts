/** Builds an engine folder from a checkpoint: into a temporary folder first, renamed when everything is written. */
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { OxygenError } from '../core/errors';
import { Draft } from '../draft';
import { imageTokens } from '../model/config';
import {
  BUILDER_VERSION,
  CPU_FOLDER,
  hashFile,
  MANIFEST_FORMAT,
  type Manifest,
  type Precision,
  type PromptProfile,
  type ResizeProfile,
  type StageCosts,
  type Target,
} from '../model/manifest';
import type { PackModel } from '../model/packed';
import { promptProfileOf } from '../model/prompt';
import { tokenizerJson } from '../model/sentencepiece-json';
import { checkTokenizer, loadTokenizer } from '../model/tokenizer';
import { normStatsJson, statsWidth, type FeatureStats } from '../policies/norm-stats';
import type { Checkpoint } from './checkpoint';
import { TOP_K } from './language-graph';
import type { NormStatsSource } from './norm-stats-source';
import { WRITERS } from './targets';

/** Positions beyond the longest prefix that seeds and generated text may take. */
const TEXT_POSITIONS = 1024;
/** PaliGemma's, for engines without a tokenizer. */
const SPECIAL_IDS = { begin: 2, end: 1, pad: 0 };

export interface BuildOptions {
  readonly out: string;
  /** Default: cpu. */
  readonly target?: Target;
  /** One of the target's. */
  readonly precision: Precision;
  /**
   * For cuda and tensorrt: also an engine of this precision for the CPU, in the folder `cpu` inside, so that the robot
   * starts on a machine without a GPU too. Default: none.
   */
  readonly cpuPrecision?: Precision | undefined;
  /** tokenizer.json or a sentencepiece .model; null leaves an engine that can be measured but not talked to. */
  readonly tokenizer: string | null;
  readonly stats: NormStatsSource;
  /** Default: as the checkpoint's config.json says. */
  readonly promptProfile?: PromptProfile | undefined;
  /** Default: that of the checkpoint's project. */
  readonly resize?: ResizeProfile | undefined;
  /** How much is done, of how much; `what` is the weight at hand. */
  readonly progress?: ((done: number, total: number, what: string) => void) | undefined;
  /** Packs weights for this machine; without it processes do not share them. */
  readonly pack?: PackModel;
  /** Hears what a person may want to know of the graphs. */
  readonly note?: (line: string) => void;
  /** Measures stage costs of a finished folder; its result goes into engine.json. */
  readonly measure?: (dir: string, manifest: Manifest) => Promise<StageCosts | null>;
}

/** Any other with content is somebody's work, and not replaced. */
const isEngineFolder = (path: string): boolean =>
  existsSync(join(path, 'engine.json')) || readdirSync(path).length === 0;

/** Of the time of both: packing weights for the CPU takes about as long as reading them. */
const CPU_PART = 2 / 3;

export async function buildEngine(checkpoint: Checkpoint, options: BuildOptions): Promise<Manifest> {
  const out = resolve(options.out);
  const failure = (_: string, cause: Error): OxygenError =>
    new OxygenError(
      'BUILD_FAILED',
      `cannot write ${out}: ${cause.message}; choose another --out, which may be written and has room`,
      { cause },
    );
  let draft: Draft | null = null;
  try {
    mkdirSync(dirname(out), { recursive: true });
    draft = await Draft.folder(out, isEngineFolder, failure);
    const { cpuPrecision, progress, target = 'cpu', ...own } = options;
    const inside = target === 'cpu' ? undefined : cpuPrecision;
    const first = inside === undefined ? 1 : 1 - CPU_PART;
    const finish = (dir: string, part: Pick<BuildOptions, 'target' | 'precision' | 'progress'>) =>
      finishFolder(dir, basename(out), checkpoint, { ...own, ...part });
    const { precision } = own;
    const manifest = await finish(draft.path, { target, precision, progress: partOf(progress, 0, first) });
    if (inside !== undefined) {
      const folder = join(draft.path, CPU_FOLDER);
      mkdirSync(folder);
      await finish(folder, { target: 'cpu', precision: inside, progress: partOf(progress, first, 1) });
    }
    await draft.keep();
    return manifest;
  } catch (error) {
    await draft?.discard();
    throw error instanceof OxygenError ? error : failure(out, error as Error);
  }
}

async function finishFolder(
  dir: string,
  name: string,
  checkpoint: Checkpoint,
  options: BuildOptions,
): Promise<Manifest> {
  const manifest = await writeFolder(dir, name, checkpoint, options);
  const costs = (await options.measure?.(dir, manifest)) ?? null;
  const finished = { ...manifest, costs };
  writeManifest(dir, finished);
  return finished;
}

/** A part of the whole, from a share of it to another. */
const partOf =
  (progress: BuildOptions['progress'], from: number, to: number): BuildOptions['progress'] =>
  (done, total, what) =>
    progress?.(from + ((to - from) * done) / total, 1, what);

async function writeFolder(
  dir: string,
  name: string,
  checkpoint: Checkpoint,
  options: BuildOptions,
): Promise<Manifest> {
  const { config } = checkpoint;
  const promptProfile = options.promptProfile ?? promptProfileOf(config);
  const maxPositions =
    imageTokens(config) * config.cameraSlots.length + config.maxPromptTokens + TEXT_POSITIONS;
  const target = options.target ?? 'cpu';
  const hostTensors = await WRITERS[target](dir, checkpoint, { ...options, maxPositions });

  const special = writeTokenizer(dir, options.tokenizer, config.language.vocab);
  const statistics = writeStatistics(dir, options.stats, checkpoint);
  const files: Manifest['files'] = {};
  for (const file of readdirSync(dir).sort()) {
    files[file] = { bytes: statSync(join(dir, file)).size, sha256: hashFile(join(dir, file)) };
  }
  const manifest: Manifest = {
    format: MANIFEST_FORMAT,
    builder: BUILDER_VERSION,
    name,
    source: checkpoint.source,
    target,
    precision: options.precision,
    sourceDtype: checkpoint.dtype,
    // OxyGen's own configs train the whole prompt causally
    attention: promptProfile === 'oxygen_subtask' ? 'causal' : 'bidirectional',
    promptProfile,
    resize: options.resize ?? (checkpoint.family === 'lerobot' ? 'torch' : 'pillow'),
    model: { ...config, cameraSlots: [...config.cameraSlots] },
    maxPositions,
    topK: Math.min(TOP_K, config.language.vocab),
    ...statistics,
    special,
    hostTensors,
    files,
    costs: null,
  };
  writeManifest(dir, manifest);
  return manifest;
}

/** Returns the special ids. */
function writeTokenizer(dir: string, source: string | null, vocab: number): Manifest['special'] {
  if (source === null) return SPECIAL_IDS;
  const path = join(dir, 'tokenizer.json');
  writeFileSync(path, tokenizerJson(source));
  const tokenizer = loadTokenizer(path);
  checkTokenizer(tokenizer, vocab);
  return { begin: tokenizer.bosId, end: tokenizer.eosId, pad: tokenizer.padId };
}

function writeStatistics(
  dir: string,
  found: NormStatsSource,
  { config, family }: Checkpoint,
): Pick<Manifest, 'normalization' | 'stateDim' | 'actionDims'> {
  const { actionDim } = config;
  if ('missing' in found) {
    const normalization = { convention: family, state: 'missing', actions: 'missing' } as const;
    return { normalization, stateDim: actionDim, actionDims: actionDim };
  }
  const { stats, normalization, source } = found;
  if (statsWidth(stats.actions) > actionDim) {
    throw new OxygenError(
      'NORM_STATS_INVALID',
      `${source} has ${statsWidth(stats.actions)} action dimensions, the model ${actionDim}`,
    );
  }
  writeFileSync(join(dir, 'norm_stats.json'), normStatsJson(stats));
  // a feature that is not normalised may come without lists
  const width = (feature: FeatureStats) => statsWidth(feature) || actionDim;
  return { normalization, stateDim: width(stats.state), actionDims: width(stats.actions) };
}

function writeManifest(dir: string, manifest: Manifest): void {
  writeFileSync(join(dir, 'engine.json'), `${JSON.stringify(manifest, null, 1)}\n`);
}
