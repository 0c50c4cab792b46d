/**
 * Dimensions of a pi0.5 model, read from a checkpoint's config.json under openpi, Hugging Face or lerobot names,
 * and the tensors that a checkpoint of these dimensions must hold (openpi PyTorch names).
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { OxygenError } from '../core/errors';

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

/** Named sizes of openpi's `gemma.get_config`. */
const GEMMA_VARIANTS: Readonly<Record<string, object>> = {
  gemma_2b: { width: 2048, depth: 18, mlp_dim: 16384, num_heads: 8, num_kv_heads: 1, head_dim: 256 },
  gemma_300m: { width: 1024, depth: 18, mlp_dim: 4096, num_heads: 8, num_kv_heads: 1, head_dim: 256 },
};
const SIGLIP_SO400M = { width: 1152, depth: 27, mlp_dim: 4304, num_heads: 16, patch_size: [14, 14] };
const DEFAULT_SLOTS = ['base_0_rgb', 'left_wrist_0_rgb', 'right_wrist_0_rgb'];

const size = z.number().int().positive();
const gemma = z.object({
  width: size,
  depth: size,
  mlp_dim: size,
  num_heads: size,
  num_kv_heads: size,
  head_dim: size,
});
const hfGemma = z
  .object({
    hidden_size: size,
    num_hidden_layers: size,
    intermediate_size: size,
    num_attention_heads: size,
    num_key_value_heads: size,
    head_dim: size,
  })
  .transform(t => ({
    width: t.hidden_size,
    depth: t.num_hidden_layers,
    mlp_dim: t.intermediate_size,
    num_heads: t.num_attention_heads,
    num_kv_heads: t.num_key_value_heads,
    head_dim: t.head_dim,
  }));
const siglip = z.object({
  width: size,
  depth: size,
  mlp_dim: size,
  num_heads: size,
  patch_size: z.array(size).length(2),
});
const lerobotPart = z.looseObject({
  chunk_size: size.optional(),
  max_action_dim: size.optional(),
  tokenizer_max_length: size.optional(),
  num_inference_steps: size.optional(),
});
const slotName = z.string().regex(/^[\w.-]+$/);
const configSchema = z.looseObject({
  name: z.string().optional(),
  type: z.string().optional(),
  pi05: z.boolean().optional(),
  paligemma_variant: z.string().optional(),
  action_expert_variant: z.string().optional(),
  paligemma_config: gemma.optional(),
  action_expert_config: gemma.optional(),
  siglip_config: siglip.optional(),
  text_config: hfGemma.optional(),
  expert_config: hfGemma.optional(),
  vocab_size: size.optional(),
  image_keys: z.array(slotName).min(1).optional(),
  image_resolution: z.array(size).length(2).optional(),
  action_dim: size.optional(),
  action_horizon: size.optional(),
  max_token_len: size.optional(),
  discrete_state_input: z.boolean().optional(),
  num_steps: size.optional(),
  min_period: z.number().positive().optional(),
  max_period: z.number().positive().optional(),
  lerobot: lerobotPart.optional(),
});

/** Reads and checks `config.json`. Throws CHECKPOINT_NOT_FOUND, CHECKPOINT_INVALID or MODEL_UNSUPPORTED. */
export function readModelConfig(path: string): ModelConfig {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new OxygenError(
      'CHECKPOINT_NOT_FOUND',
      `no model config at ${path}; give a folder with config.json`,
      {
        cause,
      },
    );
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new OxygenError('CHECKPOINT_INVALID', `${path} is not JSON: ${String(cause)}`, { cause });
  }
  return parseModelConfig(json, path);
}

export function parseModelConfig(json: unknown, where: string): ModelConfig {
  const parsed = configSchema.safeParse(json);
  if (!parsed.success) {
    throw new OxygenError('CHECKPOINT_INVALID', `${where}: ${z.prettifyError(parsed.error)}`);
  }
  const c = parsed.data;
  const looksLikePi0 = c.pi05 === false || (c.type !== undefined && c.type !== 'pi05');
  if (looksLikePi0) {
    throw new OxygenError(
      'MODEL_UNSUPPORTED',
      `${where} describes a model of type ${c.type ?? 'pi0'}, not pi05`,
    );
  }
  const language = c.paligemma_config ?? c.text_config ?? variant(c.paligemma_variant ?? 'gemma_2b', where);
  const expert =
    c.action_expert_config ?? c.expert_config ?? variant(c.action_expert_variant ?? 'gemma_300m', where);
  const vision = c.siglip_config ?? siglip.parse(SIGLIP_SO400M);
  const l = lerobotPart.parse({ ...c, ...c.lerobot });
  const [imageHeight = 224, imageWidth = 224] = c.image_resolution ?? [];
  const [patch = 14, patchWidth = 14] = vision.patch_size;
  const config: ModelConfig = {
    name: c.name ?? 'pi05',
    vision: {
      width: vision.width,
      layers: vision.depth,
      heads: vision.num_heads,
      mlp: vision.mlp_dim,
      patch,
      imageHeight,
      imageWidth,
      layerNormEps: 1e-6,
    },
    language: {
      width: language.width,
      layers: language.depth,
      heads: language.num_heads,
      headDim: language.head_dim,
      mlp: language.mlp_dim,
      vocab: c.vocab_size ?? 257152,
    },
    expert: { width: expert.width, mlp: expert.mlp_dim },
    rmsEps: 1e-6,
    ropeTheta: 10000,
    actionDim: c.action_dim ?? l.max_action_dim ?? 32,
    horizon: c.action_horizon ?? l.chunk_size ?? 50,
    denoiseSteps: c.num_steps ?? l.num_inference_steps ?? 10,
    minPeriod: c.min_period ?? 0.004,
    maxPeriod: c.max_period ?? 4,
    maxPromptTokens: c.max_token_len ?? l.tokenizer_max_length ?? 200,
    discreteState: c.discrete_state_input ?? true,
    cameraSlots: c.image_keys ?? DEFAULT_SLOTS,
  };
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
    patch !== patchWidth && `patches must be square, got ${patch}x${patchWidth}`,
    (imageHeight % patch !== 0 || imageWidth % patch !== 0) &&
      `image ${imageHeight}x${imageWidth} is no multiple of the patch size ${patch}`,
    vision.width % vision.num_heads !== 0 &&
      `vision width ${vision.width} does not divide by ${vision.num_heads} heads`,
  ].filter(f => f !== false);
  if (faults.length > 0) throw new OxygenError('MODEL_UNSUPPORTED', `${where}: ${faults.join('; ')}`);
  return config;
}

function variant(name: string, where: string): z.infer<typeof gemma> {
  const found = GEMMA_VARIANTS[name];
  if (found) return gemma.parse(found);
  const known = Object.keys(GEMMA_VARIANTS).join(', ');
  throw new OxygenError('MODEL_UNSUPPORTED', `${where}: unknown Gemma variant ${name}; known: ${known}`);
}
