/** The vision tower in float16: pictures to image tokens. */
import { imageTokens } from '../../model/config';
import { PROJECTOR, VISION } from '../../model/tensors';
import type { Value } from '../graph';
import { flatPatches } from '../vision-graph';
import { addTo, half, linear, product, scores, single, softmax, type Kit } from './half-blocks';

/** images u8 [n,H,W,3] → float32 [n, tokens, language width]. */
export function imageTokensOf(kit: Kit, images: Value): Value {
  const { g, w, c } = kit;
  const { vision: v, language } = c;
  const name = `${VISION}embeddings`;
  const patches = half(kit, flatPatches(g, c, images));
  const embedded = linear(kit, patches, `${name}.patch_embedding`, 3 * v.patch * v.patch, v.width);
  const places = w.table(g, `${name}.position_embedding.weight`, imageTokens(c), v.width);
  let x = g.op('Add', [single(kit, embedded), single(kit, places)]);
  for (let i = 0; i < v.layers; i++) {
    const layer = `${VISION}encoder.layers.${i}.`;
    x = addTo(kit, x, attention(kit, layerNorm(kit, x, `${layer}layer_norm1`), `${layer}self_attn.`));
    const hidden = linear(kit, layerNorm(kit, x, `${layer}layer_norm2`), `${layer}mlp.fc1`, v.width, v.mlp);
    const active = g.op('Gelu', [hidden], { approximate: 'tanh' });
    x = addTo(kit, x, linear(kit, active, `${layer}mlp.fc2`, v.mlp, v.width));
  }
  const normed = layerNorm(kit, x, `${VISION}post_layernorm`);
  return single(kit, linear(kit, normed, PROJECTOR.slice(0, -1), v.width, language.width));
}

/** x float16 [n, tokens, width], every token sees all of its picture. */
function attention(kit: Kit, x: Value, prefix: string): Value {
  const { g, w, c } = kit;
  const { width, heads } = c.vision;
  const names = ['q_proj', 'k_proj', 'v_proj'].map(n => prefix + n);
  const bias = w.vector(
    g,
    `${prefix}qkv.bias`,
    names.map(n => `${n}.bias`),
    3 * width,
  );
  const outs = names.map(() => width);
  const qkv = g.op('Add', [product(kit, x, `${prefix}qkv`, names, width, outs), bias]);
  const perHead = (value: Value) => {
    const split = g.op('Reshape', [value, g.ints(0, 0, heads, width / heads)]);
    return g.op('Transpose', [split], { perm: [0n, 2n, 1n, 3n] });
  };
  const [q, k, v] = g.ops('Split', [qkv], 3, { axis: -1n, num_outputs: 3n }).map(perHead) as [
    Value,
    Value,
    Value,
  ];
  const values = g.op('MatMul', [softmax(kit, scores(kit, q, k, width / heads)), v]);
  const rows = g.op('Transpose', [values], { perm: [0n, 2n, 1n, 3n] });
  return linear(kit, g.op('Reshape', [rows, g.ints(0, 0, width)]), `${prefix}out_proj`, width, width);
}

/** Float32 → float16. */
function layerNorm(kit: Kit, x: Value, name: string): Value {
  const { g, w, c } = kit;
  const dims = [c.vision.width];
  const scale = w.exact(g, `${name}.weight`, dims, read => read(`${name}.weight`));
  const bias = w.exact(g, `${name}.bias`, dims, read => read(`${name}.bias`));
  const attributes = { axis: -1n, epsilon: c.vision.layerNormEps };
  return half(kit, g.op('LayerNormalization', [x, scale, bias], attributes));
}
