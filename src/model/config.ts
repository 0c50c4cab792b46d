/** Dimensions of a pi0.5 model, read from a checkpoint's config.json as openpi, Hugging Face or lerobot writes it. */
import { statSync } from 'node:fs';
import type { z } from 'zod';
import { OxygenError } from '../core/errors';
import {
  configFileSchema,
  GEMMA_VARIANTS,
  SIGLIP_SO400M,
  type ConfigFile,
  type GemmaSizes,
} from './config-file';
import { readSmallFile } from './small-file';

/** What hides a score: it becomes exactly zero after the softmax. */
export const MASKED = -1e30;

export interface ModelConfig {
  readonly name: string;
  readonly vision: {
    readonly width: number;
    readonly layers: number;
    readonly heads: number;
    readonly mlp: number;
    readonly patch: number;
    readonly imageHeight: number;
    readonly imageWidth: number;
    readonly layerNormEps: number;
  };
  readonly language: {
    readonly width: number;
    readonly layers: number;
    readonly heads: number;
    readonly headDim: number;
    readonly mlp: number;
    readonly vocab: number;
  };
  /** Same layers, heads and head dimension as the language model: layer l reads the language KV of layer l. */
  readonly expert: { readonly width: number; readonly mlp: number };
  readonly rmsEps: number;
  readonly ropeTheta: number;
  readonly actionDim: number;
  readonly horizon: number;
  readonly denoiseSteps: number;
  readonly minPeriod: number;
  readonly maxPeriod: number;
  readonly maxPromptTokens: number;
  readonly discreteState: boolean;
  readonly cameraSlots: readonly string[];
}

/** Image tokens of one camera. */
export const imageTokens = (c: ModelConfig): number =>
  (c.vision.imageHeight / c.vision.patch) * (c.vision.imageWidth / c.vision.patch);

/** Positions of the longest root prefix with this many cameras. */
export const longestPrefix = (c: ModelConfig, cameras = c.cameraSlots.length): number =>
  cameras * imageTokens(c) + c.maxPromptTokens;

/** Whose file it is: decides resize, normalisation formula and where statistics are looked for. */
export type Family = 'openpi' | 'lerobot';

/** config.json, understood. */
export interface ModelDescription {
  readonly config: ModelConfig;
  readonly family: Family;
  /** What it leaves open or says beyond the model, in sentences for the person who builds. */
  readonly notes: readonly string[];
}

/** The largest real one has 10 kB. */
const MAX_CONFIG_BYTES = 256 * 1024;
const OPENPI_SLOTS = ['base_0_rgb', 'left_wrist_0_rgb', 'right_wrist_0_rgb'];

/** Reads and checks `config.json`. Throws CHECKPOINT_NOT_FOUND, CHECKPOINT_INVALID or MODEL_UNSUPPORTED. */
export function readModelDescription(path: string): ModelDescription {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isFile()) {
    throw new OxygenError(
      'CHECKPOINT_NOT_FOUND',
      `no model config at ${path}; openpi's PyTorch trainer writes none: put there ` +
        '{"pi05": true, "action_dim": 32, "action_horizon": 50, "discrete_state_input": true} ' +
        'with the values of the training config',
    );
  }
  let json: unknown;
  try {
    json = JSON.parse(readSmallFile(path, MAX_CONFIG_BYTES).toString('utf8'));
  } catch (cause) {
    throw new OxygenError('CHECKPOINT_INVALID', `${path} is no model config: ${String(cause)}`, { cause });
  }
  return describeModel(json, path);
}

export const readModelConfig = (path: string): ModelConfig => readModelDescription(path).config;

/** `json`: the content of config.json; `where`: its path, for errors. */
export function describeModel(json: unknown, where: string): ModelDescription {
  const parsed = configFileSchema.safeParse(json);
  if (!parsed.success) {
    throw new OxygenError('CHECKPOINT_INVALID', `${where}: ${issuesText(parsed.error)}`);
  }
  const file = parsed.data;
  if (file.pi05 === false || (file.type !== undefined && file.type !== 'pi05')) {
    throw new OxygenError(
      'MODEL_UNSUPPORTED',
      `${where} describes a model of type ${file.type ?? 'pi0'}, not pi05`,
    );
  }
  const language =
    file.paligemma_config ?? file.text_config ?? variant(file.paligemma_variant, 'gemma_2b', where);
  const expert =
    file.action_expert_config ??
    file.expert_config ??
    variant(file.action_expert_variant, 'gemma_300m', where);
  const config = modelConfig(file, language, expert);
  const faults = [...unsupported(config, language, expert), ...unsupportedOptions(file)];
  if (faults.length > 0) throw new OxygenError('MODEL_UNSUPPORTED', `${where}: ${faults.join('; ')}`);
  return { config, family: file.type === 'pi05' ? 'lerobot' : 'openpi', notes: notesOf(file) };
}

function modelConfig(file: ConfigFile, language: GemmaSizes, expert: GemmaSizes): ModelConfig {
  const vision = file.siglip_config ?? file.vision_config ?? SIGLIP_SO400M;
  const l = lerobotPart(file);
  const square = file.vision_config?.image_size ?? 224;
  const [imageHeight, imageWidth] = file.image_resolution ?? [square, square];
  return {
    name: file.name ?? 'pi05',
    vision: {
      width: vision.width,
      layers: vision.depth,
      heads: vision.num_heads,
      mlp: vision.mlp_dim,
      patch: vision.patch_size[0],
      imageHeight,
      imageWidth,
      layerNormEps: file.vision_config?.layer_norm_eps ?? 1e-6,
    },
    language: {
      width: language.width,
      layers: language.depth,
      heads: language.num_heads,
      headDim: language.head_dim,
      mlp: language.mlp_dim,
      vocab: file.vocab_size ?? file.text_config?.vocab_size ?? 257152,
    },
    expert: { width: expert.width, mlp: expert.mlp_dim },
    rmsEps: (file.text_config ?? file.expert_config)?.rms_norm_eps ?? 1e-6,
    ropeTheta: (file.text_config ?? file.expert_config)?.rope_theta ?? 10000,
    actionDim: file.action_dim ?? l.max_action_dim ?? 32,
    horizon: file.action_horizon ?? l.chunk_size ?? 50,
    denoiseSteps: file.num_steps ?? l.num_inference_steps ?? 10,
    minPeriod: file.min_period ?? 0.004,
    maxPeriod: file.max_period ?? 4,
    maxPromptTokens: file.max_token_len ?? l.tokenizer_max_length ?? 200,
    discreteState: file.discrete_state_input ?? true,
    cameraSlots: file.image_keys ?? lerobotSlots(l) ?? OPENPI_SLOTS,
  };
}

/** lerobot's values: at the top in its own files, in a part of their own in files that hold the names of several projects. */
const lerobotPart = (file: ConfigFile) => ({ ...file, ...file.lerobot });

/** lerobot's images in its order; the empty ones it appends are slots like others, for a robot may fill them. */
function lerobotSlots(l: ReturnType<typeof lerobotPart>): readonly string[] | null {
  const images = Object.entries(l.input_features ?? {})
    .filter(([, feature]) => feature.type === 'VISUAL')
    .map(([key]) => key.replace(/^observation\.(images\.)?/, ''));
  if (images.length === 0) return null;
  const empty = Array.from({ length: l.empty_cameras ?? 0 }, (_, i) => `empty_camera_${i}`);
  return [...new Set([...images, ...empty])];
}

function unsupported(c: ModelConfig, language: GemmaSizes, expert: GemmaSizes): string[] {
  const { vision: v } = c;
  const faults = [
    language.num_kv_heads !== 1 &&
      `the language model has ${language.num_kv_heads} KV heads, only 1 is supported`,
    expert.num_kv_heads !== 1 && `the action expert has ${expert.num_kv_heads} KV heads, only 1 is supported`,
    (expert.depth !== language.depth ||
      expert.num_heads !== language.num_heads ||
      expert.head_dim !== language.head_dim) &&
      'action expert and language model must agree in layers, heads and head dimension',
    language.head_dim % 2 !== 0 &&
      `head dimension ${language.head_dim} is odd, rotary embedding needs an even one`,
    expert.width % 2 !== 0 && `expert width ${expert.width} is odd, the time embedding needs an even one`,
    (v.imageHeight % v.patch !== 0 || v.imageWidth % v.patch !== 0) &&
      `image ${v.imageHeight}x${v.imageWidth} is no multiple of the patch size ${v.patch}`,
    v.width % v.heads !== 0 && `vision width ${v.width} does not divide by ${v.heads} heads`,
    c.minPeriod >= c.maxPeriod && `min_period ${c.minPeriod} is not below max_period ${c.maxPeriod}`,
    !c.cameraSlots.every(s => /^[\w.-]{1,64}$/.test(s)) &&
      'camera names must be of letters, digits, dots, dashes and underscores',
    (new Set(c.cameraSlots).size !== c.cameraSlots.length || c.cameraSlots.length > 64) &&
      'camera names must differ, and be 64 at most',
  ];
  return faults.filter(f => f !== false);
}

function unsupportedOptions(file: ConfigFile): string[] {
  const l = lerobotPart(file);
  const [patch, patchWidth] = file.siglip_config?.patch_size ?? [];
  const { rms_norm_eps: eps, rope_theta: theta } = file.text_config ?? {};
  const { rms_norm_eps: expertEps, rope_theta: expertTheta } = file.expert_config ?? {};
  const faults = [
    patch !== patchWidth && `patches must be square, got ${patch}x${patchWidth}`,
    (l.use_visual_memory === true || l.use_proprioceptive_memory === true) &&
      'use_visual_memory and use_proprioceptive_memory (observation memory of lerobot) are not supported',
    file.text_config !== undefined &&
      file.expert_config !== undefined &&
      (eps !== expertEps || theta !== expertTheta) &&
      'text_config and expert_config must agree in rms_norm_eps and rope_theta',
  ];
  return faults.filter(f => f !== false);
}

function notesOf(file: ConfigFile): string[] {
  const notes: string[] = [];
  const l = lerobotPart(file);
  if (file.type === undefined && file.discrete_state_input === undefined) {
    notes.push(
      'config.json does not say discrete_state_input: true is taken, the prompt holds the state (openpi: pi05_libero has false)',
    );
  }
  if (l.use_relative_actions === true) {
    const kept = l.relative_exclude_joints ?? [];
    notes.push(
      `the policy was trained on actions relative to the state${kept.length > 0 ? `, but for ${kept.join(', ')}` : ''}: the robot file must say so`,
    );
  }
  return notes;
}

function variant(name: string | undefined, fallback: string, where: string): GemmaSizes {
  const found = GEMMA_VARIANTS.get(name ?? fallback);
  if (found) return found;
  const lora = name?.endsWith('_lora') === true;
  throw new OxygenError(
    'MODEL_UNSUPPORTED',
    lora
      ? `${where}: ${name} has LoRA weights, which openpi's converter leaves out; merge them into the base weights and name the plain variant`
      : `${where}: unknown Gemma variant ${name}; known: ${[...GEMMA_VARIANTS.keys()].join(', ')}`,
  );
}

/** The first complaints of zod, one line. */
function issuesText({ issues }: z.ZodError): string {
  const shown = issues.slice(0, 5).map(i => `${i.path.join('.') || 'the file'}: ${i.message}`);
  return shown.join('; ') + (issues.length > 5 ? `; and ${issues.length - 5} more` : '');
}
