/** Builds an engine folder from a checkpoint: into a temporary folder first, renamed when everything is written. */
import {
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { OxygenError } from '../core/errors';
import { imageTokens } from '../model/config';
import {
  BUILDER_VERSION,
  hashFile,
  MANIFEST_FORMAT,
  type Manifest,
  type Precision,
  type StageCosts,
} from '../model/manifest';
import type { PackModel } from '../model/packed';
import { loadNormStats } from '../policies/norm-stats';
import type { Checkpoint } from './checkpoint';
import { TOP_K } from './language-graph';
import { writeGraphs } from './write-graphs';

/** Positions beyond the longest prefix that seeds and generated text may take. */
const TEXT_POSITIONS = 1024;

export interface BuildOptions {
  readonly out: string;
  readonly precision: Precision;
  readonly tokenizer: string | null;
  readonly tokenizerConfig: string | null;
  readonly normStats: string | null;
  readonly progress?: (done: number, total: number, what: string) => void;
  /** Packs weights for this machine; without it processes do not share them. */
  readonly pack?: PackModel;
  /** Measures stage costs of the finished folder; its result goes into engine.json. */
  readonly measure?: (dir: string) => Promise<StageCosts>;
}

export async function buildEngine(checkpoint: Checkpoint, options: BuildOptions): Promise<Manifest> {
  const out = resolve(options.out);
  refuseForeignFolder(out);
  const temp = join(dirname(out), `.${basename(out)}.tmp-${process.pid}`);
  rmSync(temp, { recursive: true, force: true });
  mkdirSync(temp, { recursive: true });
  try {
    const manifest = await writeFolder(temp, basename(out), checkpoint, options);
    const costs = (await options.measure?.(temp)) ?? null;
    const finished = { ...manifest, costs };
    writeManifest(temp, finished);
    replaceFolder(temp, out);
    return finished;
  } catch (error) {
    rmSync(temp, { recursive: true, force: true });
    if (error instanceof OxygenError) throw error;
    throw new OxygenError('BUILD_FAILED', `cannot write ${out}: ${String(error)}`, { cause: error });
  }
}

async function writeFolder(
  dir: string,
  name: string,
  checkpoint: Checkpoint,
  options: BuildOptions,
): Promise<Manifest> {
  const { config } = checkpoint;
  const maxPositions =
    imageTokens(config) * config.cameraSlots.length + config.maxPromptTokens + TEXT_POSITIONS;
  const hostTensors = await writeGraphs(dir, checkpoint, { ...options, maxPositions });

  const copies: [string | null, string][] = [
    [options.tokenizer, 'tokenizer.json'],
    [options.tokenizerConfig, 'tokenizer_config.json'],
    [options.normStats, 'norm_stats.json'],
  ];
  for (const [from, to] of copies) if (from !== null) copyInto(from, join(dir, to));
  const stats = options.normStats === null ? null : loadNormStats(join(dir, 'norm_stats.json'));
  if (stats && stats.actions.q01.length > config.actionDim) {
    throw new OxygenError(
      'NORM_STATS_INVALID',
      `${options.normStats} has ${stats.actions.q01.length} action dimensions, the model ${config.actionDim}`,
    );
  }
  const files: Manifest['files'] = {};
  for (const file of readdirSync(dir).sort()) {
    files[file] = { bytes: statSync(join(dir, file)).size, sha256: hashFile(join(dir, file)) };
  }
  const manifest: Manifest = {
    format: MANIFEST_FORMAT,
    builder: BUILDER_VERSION,
    name,
    source: checkpoint.source,
    target: 'cpu',
    precision: options.precision,
    sourceDtype: checkpoint.dtype,
    attention: 'bidirectional',
    promptProfile: config.discreteState ? 'pi05_state' : 'pi05_no_state',
    resize: 'pillow',
    model: { ...config, cameraSlots: [...config.cameraSlots] },
    maxPositions,
    topK: Math.min(TOP_K, config.language.vocab),
    stateDim: stats?.state.q01.length ?? config.actionDim,
    actionDims: stats?.actions.q01.length ?? config.actionDim,
    special: specialIds(dir, options),
    normalization: {
      convention: 'openpi',
      state: stats ? 'quantile' : 'missing',
      actions: stats ? 'quantile' : 'missing',
    },
    hostTensors,
    files,
    costs: null,
  };
  writeManifest(dir, manifest);
  return manifest;
}

function copyInto(from: string, to: string): void {
  if (!existsSync(from)) throw new OxygenError('CHECKPOINT_NOT_FOUND', `no file at ${from}`);
  copyFileSync(from, to);
}

/** PaliGemma's ids unless the tokenizer files name others. */
function specialIds(dir: string, options: BuildOptions): Manifest['special'] {
  const special = { begin: 2, end: 1, pad: 0 };
  if (options.tokenizer === null || options.tokenizerConfig === null) return special;
  const json = (file: string) => JSON.parse(readFileSync(join(dir, file), 'utf8')) as Record<string, unknown>;
  const names = json('tokenizer_config.json');
  const tokens = (json('tokenizer.json')['added_tokens'] ?? []) as { id: number; content: string }[];
  const id = (name: string, fallback: number) => tokens.find(t => t.content === names[name])?.id ?? fallback;
  return { begin: id('bos_token', 2), end: id('eos_token', 1), pad: id('pad_token', 0) };
}

function writeManifest(dir: string, manifest: Manifest): void {
  writeFileSync(join(dir, 'engine.json'), `${JSON.stringify(manifest, null, 1)}\n`);
}

/** An existing engine may be replaced; any other folder with content is somebody's work. */
function refuseForeignFolder(out: string): void {
  if (!existsSync(out)) return;
  if (statSync(out).isDirectory() && (existsSync(join(out, 'engine.json')) || readdirSync(out).length === 0))
    return;
  throw new OxygenError('BUILD_FAILED', `${out} exists and is no engine folder; choose another --out`);
}

function replaceFolder(temp: string, out: string): void {
  const fd = openSync(temp, 'r');
  fsyncSync(fd);
  closeSync(fd);
  const old = join(dirname(out), `.${basename(out)}.old-${process.pid}`);
  if (existsSync(out)) renameSync(out, old);
  renameSync(temp, out);
  rmSync(old, { recursive: true, force: true });
}
