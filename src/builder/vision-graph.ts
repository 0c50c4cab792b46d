/** vision.onnx: images u8 [n,H,W,3] of the present cameras → image tokens [n·tokens, width]. */
import { imageTokens, type ModelConfig } from '../model/config';
import { PROJECTOR, VISION } from '../model/tensors';
import type { Graph, Value } from './graph';
import { linear } from './pi05-blocks';
import type { Products } from './products';

/** `exact` makes the patch embedding in float32. */
export function buildVision(g: Graph, p: Products, exact: Products, c: ModelConfig): void {
  const { vision: v, language } = c;
  const tokens = imageTokens(c);
  const images = g.input('images', 'uint8', ['n', v.imageHeight, v.imageWidth, 3]);

  let x = g.op('Add', [
    patches(g, exact, c, images),
    g.weight(
      'position_embedding',
      [tokens, v.width],
      p.read(`${VISION}embeddings.position_embedding.weight`),
    ),
  ]);
  for (let i = 0; i < v.layers; i++) {
    const layer = `${VISION}encoder.layers.${i}.`;
    x = g.op('Add', [
      x,
      attention(g, p, c, layerNorm(g, p, c, x, `${layer}layer_norm1`), `${layer}self_attn.`),
    ]);
    const normed = layerNorm(g, p, c, x, `${layer}layer_norm2`);
    const hidden = linear(g, p, normed, `${layer}mlp.fc1`, v.width, v.mlp);
    const active = g.op('Gelu', [hidden], { approximate: 'tanh' });
    x = g.op('Add', [x, linear(g, p, active, `${layer}mlp.fc2`, v.mlp, v.width)]);
  }
  x = layerNorm(g, p, c, x, `${VISION}post_layernorm`);
  x = linear(g, p, x, PROJECTOR.slice(0, -1), v.width, language.width);
  const flat = g.op('Reshape', [x, g.ints(-1, language.width)]);
  g.output('image_tokens', flat, 'float', ['n_tokens', language.width]);
}

/** The patch convolution as one product: its stride equals its size, so patches do not overlap. → [n, tokens, width] */
function patches(g: Graph, exact: Products, c: ModelConfig, images: Value): Value {
  const { patch: p, width } = c.vision;
  const flat = flatPatches(g, c, images);
  return linear(g, exact, flat, `${VISION}embeddings.patch_embedding`, 3 * p * p, width);
}

/** images u8 [n,H,W,3] → [n, tokens, 3·patch·patch] in [-1, 1]. */
export function flatPatches(g: Graph, c: ModelConfig, images: Value): Value {
  const { patch: p, imageHeight, imageWidth } = c.vision;
  const [rows, columns] = [imageHeight / p, imageWidth / p];
  const unit = g.op('Div', [g.op('Cast', [images], { to: 1n }), g.scalar(255)]);
  const scaled = g.op('Sub', [g.op('Mul', [unit, g.scalar(2)]), g.scalar(1)]);
  const split = g.op('Reshape', [scaled, g.ints(-1, rows, p, columns, p, 3)]);
  // [n, row, column, channel, y, x], the order of the convolution's weights [width, 3, p, p]
  const ordered = g.op('Transpose', [split], { perm: [0n, 1n, 3n, 5n, 2n, 4n] });
  return g.op('Reshape', [ordered, g.ints(-1, rows * columns, 3 * p * p)]);
}

function attention(g: Graph, p: Products, c: ModelConfig, x: Value, prefix: string): Value {
  const { width, heads } = c.vision;
  const names = ['q_proj', 'k_proj', 'v_proj'].map(n => prefix + n);
  const outs = names.map(() => width);
  const bias = new Float32Array(3 * width);
  names.forEach((n, i) => bias.set(p.read(`${n}.bias`), i * width));
  const stack = { names: names.map(n => `${n}.weight`), into: width, outs };
  const qkv = g.op('Add', [
    p.product(g, x, `${prefix}qkv`, stack),
    g.weight(`${prefix}qkv.bias`, [3 * width], bias),
  ]);
  const [q, k, v] = g.ops('Split', [qkv], 3, { axis: -1n, num_outputs: 3n }) as [Value, Value, Value];
  const attended = g.op('Attention', [q, k, v], { q_num_heads: BigInt(heads), kv_num_heads: BigInt(heads) });
  return linear(g, p, attended, `${prefix}out_proj`, width, width);
}

function layerNorm(g: Graph, p: Products, c: ModelConfig, x: Value, name: string): Value {
  const { width, layerNormEps } = c.vision;
  const scale = g.weight(`${name}.weight`, [width], p.read(`${name}.weight`));
  const bias = g.weight(`${name}.bias`, [width], p.read(`${name}.bias`));
  return g.op('LayerNormalization', [x, scale, bias], { axis: -1n, epsilon: layerNormEps });
}
