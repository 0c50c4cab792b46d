/** The sizes that the shapes of a checkpoint's tensors tell, against those of its config.json. */
import { imageTokens, type ModelConfig } from '../model/config';
import { EMBEDDING_NAMES, EXPERT, LANGUAGE, VISION } from '../model/tensors';

type ShapeOf = (name: string) => readonly number[] | undefined;

/** `vocabulary 257152, the weights 1024 (… [1024,64])` for each size that differs; nothing about absent tensors. */
export function sizeContradictions(config: ModelConfig, shapeOf: ShapeOf): string[] {
  const { vision: v, language: g, expert: e } = config;
  const table = EMBEDDING_NAMES.find(name => shapeOf(name)) ?? EMBEDDING_NAMES[0];
  const languageLayer = `${LANGUAGE}layers.0.`;
  const expertLayer = `${EXPERT}layers.0.`;
  const rows: [what: string, configured: number, tensor: string, axis: number][] = [
    ['vocabulary', g.vocab, table, 0],
    ['language width', g.width, table, 1],
    ['language heads x head dimension', g.heads * g.headDim, `${languageLayer}self_attn.q_proj.weight`, 0],
    ['head dimension', g.headDim, `${languageLayer}self_attn.k_proj.weight`, 0],
    ['language MLP', g.mlp, `${languageLayer}mlp.gate_proj.weight`, 0],
    ['expert width', e.width, `${expertLayer}self_attn.q_proj.weight`, 1],
    ['expert MLP', e.mlp, `${expertLayer}mlp.gate_proj.weight`, 0],
    ['vision width', v.width, `${VISION}embeddings.patch_embedding.weight`, 0],
    ['patch size', v.patch, `${VISION}embeddings.patch_embedding.weight`, 2],
    ['image tokens', imageTokens(config), `${VISION}embeddings.position_embedding.weight`, 0],
    ['vision MLP', v.mlp, `${VISION}encoder.layers.0.mlp.fc1.weight`, 0],
    ['action dimensions', config.actionDim, 'action_in_proj.weight', 1],
  ];
  const sizes = rows.flatMap(([what, configured, tensor, axis]) => {
    const shape = shapeOf(tensor);
    const stored = shape?.[axis];
    return stored === undefined || stored === configured
      ? []
      : [`${what} ${configured}, the weights ${stored} (${tensor} [${shape}])`];
  });
  const stacks: [what: string, configured: number, tensor: (layer: number) => string][] = [
    ['language layers', g.layers, i => `${LANGUAGE}layers.${i}.mlp.gate_proj.weight`],
    ['expert layers', g.layers, i => `${EXPERT}layers.${i}.mlp.gate_proj.weight`],
    ['vision layers', v.layers, i => `${VISION}encoder.layers.${i}.mlp.fc1.weight`],
  ];
  const depths = stacks.flatMap(([what, configured, tensor]) => {
    let stored = 0;
    while (shapeOf(tensor(stored))) stored++;
    return stored === 0 || stored === configured ? [] : [`${what} ${configured}, the weights ${stored}`];
  });
  return [...sizes, ...depths];
}
