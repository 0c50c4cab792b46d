/** What may stand in a checkpoint's config.json: openpi, Hugging Face and lerobot names side by side. */
import { z } from 'zod';

/** Bounds that no real model reaches, so that a damaged file cannot make anyone count to 2^53. */
const size = z
  .number()
  .int()
  .positive()
  .max(1 << 20);
const layers = size.max(1024);
const vocabulary = size.max(1 << 24);

const gemma = z.object({
  width: size,
  depth: layers,
  mlp_dim: size,
  num_heads: size,
  num_kv_heads: size,
  head_dim: size,
});
export type GemmaSizes = z.infer<typeof gemma>;

const hfGemma = z
  .object({
    hidden_size: size,
    num_hidden_layers: layers,
    intermediate_size: size,
    num_attention_heads: size,
    num_key_value_heads: size,
    head_dim: size,
    vocab_size: vocabulary.optional(),
    rms_norm_eps: z.number().positive().optional(),
    rope_theta: z.number().positive().optional(),
  })
  .transform(t => ({
    width: t.hidden_size,
    depth: t.num_hidden_layers,
    mlp_dim: t.intermediate_size,
    num_heads: t.num_attention_heads,
    num_kv_heads: t.num_key_value_heads,
    head_dim: t.head_dim,
    vocab_size: t.vocab_size,
    rms_norm_eps: t.rms_norm_eps,
    rope_theta: t.rope_theta,
  }));
const siglip = z.object({
  width: size,
  depth: layers,
  mlp_dim: size,
  num_heads: size,
  patch_size: z.tuple([size, size]),
});
const hfSiglip = z
  .object({
    hidden_size: size,
    num_hidden_layers: layers,
    intermediate_size: size,
    num_attention_heads: size,
    patch_size: size,
    image_size: size.optional(),
    layer_norm_eps: z.number().positive().optional(),
  })
  .transform(v => ({
    width: v.hidden_size,
    depth: v.num_hidden_layers,
    mlp_dim: v.intermediate_size,
    num_heads: v.num_attention_heads,
    patch_size: [v.patch_size, v.patch_size] as [number, number],
    image_size: v.image_size,
    layer_norm_eps: v.layer_norm_eps,
  }));

/** lerobot's PI05Config, as far as it decides what the model computes. */
const lerobot = {
  chunk_size: size.optional(),
  max_action_dim: size.optional(),
  tokenizer_max_length: size.optional(),
  num_inference_steps: size.optional(),
  /** Name → what it is; the images are the model's cameras, in this order. */
  input_features: z.record(z.string(), z.object({ type: z.string() })).nullish(),
  empty_cameras: z.number().int().nonnegative().max(64).optional(),
  use_visual_memory: z.boolean().optional(),
  use_proprioceptive_memory: z.boolean().optional(),
  use_relative_actions: z.boolean().optional(),
  relative_exclude_joints: z.array(z.string()).nullish(),
};

export const configFileSchema = z.object({
  name: z.string().optional(),
  /** Only lerobot writes it. */
  type: z.string().optional(),
  pi05: z.boolean().optional(),
  paligemma_variant: z.string().optional(),
  action_expert_variant: z.string().optional(),
  paligemma_config: gemma.optional(),
  action_expert_config: gemma.optional(),
  siglip_config: siglip.optional(),
  text_config: hfGemma.optional(),
  expert_config: hfGemma.optional(),
  vision_config: hfSiglip.optional(),
  vocab_size: vocabulary.optional(),
  image_keys: z.array(z.string()).min(1).optional(),
  image_resolution: z.tuple([size, size]).optional(),
  action_dim: size.optional(),
  action_horizon: size.optional(),
  max_token_len: size.optional(),
  discrete_state_input: z.boolean().optional(),
  num_steps: size.optional(),
  min_period: z.number().positive().optional(),
  max_period: z.number().positive().optional(),
  ...lerobot,
  lerobot: z.object(lerobot).optional(),
});
export type ConfigFile = z.infer<typeof configFileSchema>;

/** Named sizes of openpi's and lerobot's Gemma variants. */
export const GEMMA_VARIANTS: ReadonlyMap<string, GemmaSizes> = new Map([
  ['gemma_2b', { width: 2048, depth: 18, mlp_dim: 16384, num_heads: 8, num_kv_heads: 1, head_dim: 256 }],
  ['gemma_300m', { width: 1024, depth: 18, mlp_dim: 4096, num_heads: 8, num_kv_heads: 1, head_dim: 256 }],
]);
/** Both projects know no other vision tower. */
export const SIGLIP_SO400M: NonNullable<ConfigFile['siglip_config']> = {
  width: 1152,
  depth: 27,
  mlp_dim: 4304,
  num_heads: 16,
  patch_size: [14, 14],
};
