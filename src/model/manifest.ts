/** engine.json: what an engine folder holds, as written by the builder and checked at load. */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { OxygenError } from '../core/errors';
import { readSmallFile } from './small-file';

export const MANIFEST_FORMAT = 1;
/** Raised when the graphs change; an engine of another builder version is refused. */
export const BUILDER_VERSION = '0.3.2';

/** Where an engine runs: on the CPU, or on an NVIDIA GPU through ONNX Runtime alone or through TensorRT too. */
export const TARGETS = ['cpu', 'cuda', 'tensorrt'] as const;
export type Target = (typeof TARGETS)[number];

export const PRECISIONS = ['fp32', 'int8', 'fp16'] as const;
export type Precision = (typeof PRECISIONS)[number];

/** The precisions of each target, the default first. */
export const TARGET_PRECISIONS = {
  cpu: ['fp32', 'int8'],
  cuda: ['fp16'],
  tensorrt: ['fp16'],
} as const satisfies Record<Target, readonly Precision[]>;

/** How the action prompt is written, by the names of the README. */
export const PROMPT_PROFILES = ['pi05_state', 'pi05_no_state', 'oxygen_subtask'] as const;
export type PromptProfile = (typeof PROMPT_PROFILES)[number];

/** How camera pictures are scaled: `pillow` antialiased (openpi serving), `torch` plain bilinear (lerobot). */
export const RESIZE_PROFILES = ['pillow', 'torch'] as const;
export type ResizeProfile = (typeof RESIZE_PROFILES)[number];

/** `missing`: the checkpoint came without statistics; the node refuses it unless told to use raw model units. */
export const NORM_MODES = ['quantile', 'zscore', 'identity', 'missing'] as const;
export type NormMode = (typeof NORM_MODES)[number];
export const NORM_CONVENTIONS = ['openpi', 'lerobot'] as const;
export interface Normalization {
  /** Whose formula: they differ in what keeps the division defined. */
  readonly convention: (typeof NORM_CONVENTIONS)[number];
  readonly state: NormMode;
  readonly actions: NormMode;
}

const size = z.number().int().positive();
const bareName = z.string().regex(/^[\w][\w.-]*$/, 'a bare file name');
const range = z.object({
  file: bareName,
  offset: z.number().int().nonnegative(),
  shape: z.array(size).min(1),
  dtype: z.enum(['F32', 'BF16']),
});
const model = z.object({
  name: z.string(),
  vision: z.object({
    width: size,
    layers: size,
    heads: size,
    mlp: size,
    patch: size,
    imageHeight: size,
    imageWidth: size,
    layerNormEps: z.number(),
  }),
  language: z.object({ width: size, layers: size, heads: size, headDim: size, mlp: size, vocab: size }),
  expert: z.object({ width: size, mlp: size }),
  rmsEps: z.number(),
  ropeTheta: z.number(),
  actionDim: size,
  horizon: size,
  denoiseSteps: size,
  minPeriod: z.number(),
  maxPeriod: z.number(),
  maxPromptTokens: size,
  discreteState: z.boolean(),
  cameraSlots: z.array(z.string()).min(1),
});
/** engine.json's `costs`. */
export const stageCosts = z.object({
  /** Median ms, all cameras, the longest prompt. */
  vision: z.number(),
  prefill: z.number(),
  /** One Euler step. */
  denoiseStep: z.number(),
  /** An 8-token seed. */
  seed: z.number(),
  /** Batch size → ms of one decode step. */
  decode: z.record(z.string(), z.number()),
  /** Batch size → ms that a decode run takes beside its steps, where keys and values are copied to a device for it. */
  upload: z.record(z.string(), z.number()).optional(),
  threads: size,
});

const manifestSchema = z.object({
  format: z.literal(MANIFEST_FORMAT),
  builder: z.string(),
  name: z.string(),
  source: z.string(),
  target: z.enum(TARGETS),
  precision: z.enum(PRECISIONS),
  /** Element types of the checkpoint's weights, e.g. `F32` or `BF16+F32`. */
  sourceDtype: z.string(),
  attention: z.enum(['bidirectional', 'causal']),
  promptProfile: z.enum(PROMPT_PROFILES),
  resize: z.enum(RESIZE_PROFILES),
  model,
  maxPositions: size,
  topK: size,
  /** Widths that the statistics give; without statistics those of the model. */
  stateDim: size,
  actionDims: size,
  special: z.object({ begin: z.number().int(), end: z.number().int(), pad: z.number().int() }),
  normalization: z.object({
    convention: z.enum(NORM_CONVENTIONS),
    state: z.enum(NORM_MODES),
    actions: z.enum(NORM_MODES),
  }),
  /** Tensors that the host reads: the action expert's modulation weights, and for the CPU the embedding table. */
  hostTensors: z.record(z.string(), range),
  files: z.record(
    bareName,
    z.object({ bytes: z.number().int().nonnegative(), sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  ),
  costs: stageCosts.nullable(),
});

export type Manifest = z.infer<typeof manifestSchema>;
export type StageCosts = z.infer<typeof stageCosts>;

/** Real ones have some kilobytes. */
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;

/** Files up to this size are hashed at every load; larger ones by `oxygen doctor`. */
const HASHED_AT_LOAD_BYTES = 64 * 1024 * 1024;

/** Reads engine.json and checks that every file is there, of the right size and (small ones) unaltered. */
export function readManifest(dir: string): Manifest {
  const path = join(dir, 'engine.json');
  const invalid = (why: string) =>
    new OxygenError('ENGINE_INVALID', `${dir}: ${why}; build the engine again`);
  let text: string;
  try {
    text = readSmallFile(path, MAX_MANIFEST_BYTES).toString('utf8');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === undefined) throw invalid(`engine.json: ${message}`);
    throw new OxygenError(
      'ENGINE_NOT_FOUND',
      `no engine at ${dir}: ${path} cannot be read; run \`oxygen build\``,
      { cause },
    );
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw invalid('engine.json is not JSON');
  }
  const builder = (json as { builder?: unknown } | null)?.builder;
  if (builder !== BUILDER_VERSION) {
    throw invalid(`it was made by builder version ${String(builder)}, this is ${BUILDER_VERSION}`);
  }
  const parsed = manifestSchema.safeParse(json);
  if (!parsed.success) throw invalid(`engine.json: ${z.prettifyError(parsed.error)}`);
  const { target, precision } = parsed.data;
  if (!TARGET_PRECISIONS[target].some(p => p === precision))
    throw invalid(`engine.json: no engine for ${target} has precision ${precision}`);
  const unlisted = loadedFiles(dir, parsed.data).find(file => !Object.hasOwn(parsed.data.files, file));
  if (unlisted !== undefined) throw invalid(`engine.json does not list ${unlisted}`);
  for (const [file, { bytes, sha256 }] of Object.entries(parsed.data.files)) {
    const actual = statSync(join(dir, file), { throwIfNoEntry: false })?.size;
    if (actual === undefined) throw invalid(`${file} is missing`);
    if (actual !== bytes) throw invalid(`${file} has ${actual} bytes, ${bytes} were written`);
    if (bytes <= HASHED_AT_LOAD_BYTES && hashFile(join(dir, file)) !== sha256)
      throw invalid(`${file} was altered`);
  }
  return parsed.data;
}

/**
 * The graphs in an engine's folder, those of a lower target too: without TensorRT's engines its folder runs on CUDA. What
 * runs on the CPU is an engine of its own in the folder `cpu` (see cpuEngine).
 */
const CUDA_GRAPHS = ['frame', 'decode'] as const;
export const TARGET_GRAPHS = {
  cpu: ['vision', 'language', 'expert'],
  cuda: CUDA_GRAPHS,
  tensorrt: [...CUDA_GRAPHS, 'prefill', 'denoise'],
} as const satisfies Record<Target, readonly string[]>;

/** The engine that runs on the CPU: this folder, or the one inside it; null when it was left out. */
export function cpuEngine(dir: string, { target }: Pick<Manifest, 'target'>): string | null {
  if (target === 'cpu') return dir;
  const inside = join(dir, CPU_FOLDER);
  return existsSync(join(inside, 'engine.json')) ? inside : null;
}

export const CPU_FOLDER = 'cpu';

/** What is read of the folder when the engine loads, external weights of the graphs apart. */
const loadedFiles = (dir: string, { target, hostTensors }: Manifest): readonly string[] => [
  ...TARGET_GRAPHS[target].map(graph => `${graph}.onnx`),
  ...Object.values(hostTensors).map(({ file }) => file),
  ...['tokenizer.json', 'norm_stats.json'].filter(file => existsSync(join(dir, file))),
];

export function hashFile(path: string): string {
  const hash = createHash('sha256');
  const chunk = new Uint8Array(4 * 1024 * 1024);
  const fd = openSync(path, 'r');
  try {
    for (let n = readSync(fd, chunk); n > 0; n = readSync(fd, chunk)) hash.update(chunk.subarray(0, n));
  } finally {
    closeSync(fd);
  }
  return hash.digest('hex');
}
