/** Names and shapes of the tensors of a pi0.5 checkpoint (openpi PyTorch names; Linear weights are [out, in]). */
import { imageTokens, type ModelConfig } from './config';

const PE = 'paligemma_with_expert.';
export const VISION = `${PE}paligemma.model.vision_tower.vision_model.`;
export const PROJECTOR = `${PE}paligemma.model.multi_modal_projector.linear.`;
export const LANGUAGE = `${PE}paligemma.model.language_model.`;
export const EXPERT = `${PE}gemma_expert.model.`;
/** The embedding table is tied to the output head; a file holds it under one or both of these names. */
export const EMBEDDING_NAMES = [`${PE}paligemma.lm_head.weight`, `${LANGUAGE}embed_tokens.weight`] as const;
/**
 * Known to be in files and to be used by no task: the expert's head (in every file), an embedding table of the expert
 * (older converters), and pi0's state projection, which lerobot's loader drops from pi0.5 files too.
 */
export const UNUSED_TENSORS = [
  `${PE}gemma_expert.lm_head.weight`,
  `${EXPERT}embed_tokens.weight`,
  'state_proj.weight',
  'state_proj.bias',
] as const;

/** Values that a tensor of this shape holds. */
export const elements = (shape: readonly number[]): number => shape.reduce((n, d) => n * d, 1);

export type TensorShapes = ReadonlyMap<string, readonly number[]>;

/** Every tensor that the builder reads, the tied table under its `lm_head` name. */
export function tensorShapes(c: ModelConfig): TensorShapes {
  const shapes = new Map<string, readonly number[]>();
  const linear = (name: string, out: number, into: number, bias: boolean) => {
    shapes.set(`${name}.weight`, [out, into]);
    if (bias) shapes.set(`${name}.bias`, [out]);
  };
  const layerNorm = (name: string) => {
    shapes.set(`${name}.weight`, [v.width]);
    shapes.set(`${name}.bias`, [v.width]);
  };
  const { vision: v, language: g, expert: e } = c;

  shapes.set(`${VISION}embeddings.patch_embedding.weight`, [v.width, 3, v.patch, v.patch]);
  shapes.set(`${VISION}embeddings.patch_embedding.bias`, [v.width]);
  shapes.set(`${VISION}embeddings.position_embedding.weight`, [imageTokens(c), v.width]);
  for (let i = 0; i < v.layers; i++) {
    const layer = `${VISION}encoder.layers.${i}.`;
    layerNorm(`${layer}layer_norm1`);
    layerNorm(`${layer}layer_norm2`);
    for (const p of ['q_proj', 'k_proj', 'v_proj', 'out_proj'])
      linear(`${layer}self_attn.${p}`, v.width, v.width, true);
    linear(`${layer}mlp.fc1`, v.mlp, v.width, true);
    linear(`${layer}mlp.fc2`, v.width, v.mlp, true);
  }
  layerNorm(`${VISION}post_layernorm`);
  linear(PROJECTOR.slice(0, -1), g.width, v.width, true);

  shapes.set(EMBEDDING_NAMES[0], [g.vocab, g.width]);
  const heads = g.heads * g.headDim;
  const gemmaLayers = (prefix: string, width: number, mlp: number, adaptive: boolean) => {
    const norm = (name: string) =>
      adaptive ? linear(`${name}.dense`, 3 * width, width, true) : shapes.set(`${name}.weight`, [width]);
    for (let i = 0; i < g.layers; i++) {
      const layer = `${prefix}layers.${i}.`;
      linear(`${layer}self_attn.q_proj`, heads, width, false);
      linear(`${layer}self_attn.k_proj`, g.headDim, width, false);
      linear(`${layer}self_attn.v_proj`, g.headDim, width, false);
      linear(`${layer}self_attn.o_proj`, width, heads, false);
      linear(`${layer}mlp.gate_proj`, mlp, width, false);
      linear(`${layer}mlp.up_proj`, mlp, width, false);
      linear(`${layer}mlp.down_proj`, width, mlp, false);
      norm(`${layer}input_layernorm`);
      norm(`${layer}post_attention_layernorm`);
    }
    norm(`${prefix}norm`);
  };
  gemmaLayers(LANGUAGE, g.width, g.mlp, false);
  gemmaLayers(EXPERT, e.width, e.mlp, true);

  linear('action_in_proj', e.width, c.actionDim, true);
  linear('action_out_proj', c.actionDim, e.width, true);
  linear('time_mlp_in', e.width, e.width, true);
  linear('time_mlp_out', e.width, e.width, true);
  return shapes;
}
