/** vision.onnx: images u8 [n,H,W,3] of the present cameras → image tokens [n·tokens, width]. */
import { imageTokens, type ModelConfig } from '../model/config';
import { PROJECTOR, VISION } from '../model/tensors';
import type { Graph, Value } from './graph';
import { fuseTransposed, linear, type ReadTensor } from './pi05-blocks';

export function buildVision(g: Graph, c: ModelConfig, read: ReadTensor): void {
  const { vision: v, language } = c;
  const tokens = imageTokens(c);
  const images = g.input('images', 'uint8', ['n', v.imageHeight, v.imageWidth, 3]);

  let x = g.op('Add', [
    patches(g, c, images, read),
    g.weight('position_embedding', [tokens, v.width], read(`${VISION}embeddings.position_embedding.weight`)),
  ]);
  for (let i = 0; i < v.layers; i++) {
    const layer = `${VISION}encoder.layers.${i}.`;
    x = g.op('Add', [
      x,
      attention(g, c, layerNorm(g, c, x, `${layer}layer_norm1`, read), `${layer}self_attn.`, read),
    ]);
    const hidden = linear(
      g,
      layerNorm(g, c, x, `${layer}layer_norm2`, read),
      `${layer}mlp.fc1`,
      read,
      v.width,
      v.mlp,
    );
    const active = g.op('Gelu', [hidden], { approximate: 'tanh' });
    x = g.op('Add', [x, linear(g, active, `${layer}mlp.fc2`, read, v.mlp, v.width)]);
  }
  x = layerNorm(g, c, x, `${VISION}post_layernorm`, read);
  x = linear(g, x, PROJECTOR.slice(0, -1), read, v.width, language.width);
  const flat = g.op('Reshape', [x, g.ints(-1, language.width)]);
  g.output('image_tokens', flat, 'float', ['n_tokens', language.width]);
}

/** The patch convolution as one product: its stride equals its size, so patches do not overlap. → [n, tokens, width] */
function patches(g: Graph, c: ModelConfig, images: Value, read: ReadTensor): Value {
  const { patch: p, width, imageHeight, imageWidth } = c.vision;
  const [rows, columns] = [imageHeight / p, imageWidth / p];
  const unit = g.op('Div', [g.op('Cast', [images], { to: 1n }), g.scalar(255)]);
  const scaled = g.op('Sub', [g.op('Mul', [unit, g.scalar(2)]), g.scalar(1)]);
  const split = g.op('Reshape', [scaled, g.ints(-1, rows, p, columns, p, 3)]);
  // [n, row, column, channel, y, x], the order of the convolution's weights [width, 3, p, p]
  const ordered = g.op('Transpose', [split], { perm: [0n, 1n, 3n, 5n, 2n, 4n] });
  const flat = g.op('Reshape', [ordered, g.ints(-1, rows * columns, 3 * p * p)]);
  const name = `${VISION}embeddings.patch_embedding`;
  const weight = fuseTransposed([read(`${name}.weight`)], 3 * p * p);
  const product = g.op('MatMul', [flat, g.weight(name, [3 * p * p, width], weight)]);
  return g.op('Add', [product, g.weight(`${name}.bias`, [width], read(`${name}.bias`))]);
}

function attention(g: Graph, c: ModelConfig, x: Value, prefix: string, read: ReadTensor): Value {
  const { width, heads } = c.vision;
  const names = ['q_proj', 'k_proj', 'v_proj'].map(p => prefix + p);
  const weight = fuseTransposed(
    names.map(n => read(`${n}.weight`)),
    width,
  );
  const bias = new Float32Array(3 * width);
  names.forEach((n, i) => bias.set(read(`${n}.bias`), i * width));
  const qkv = g.op('Add', [
    g.op('MatMul', [x, g.weight(`${prefix}qkv`, [width, 3 * width], weight)]),
    g.weight(`${prefix}qkv.bias`, [3 * width], bias),
  ]);
  const [q, k, v] = g.ops('Split', [qkv], 3, { axis: -1n, num_outputs: 3n }) as [Value, Value, Value];
  const attended = g.op('Attention', [q, k, v], { q_num_heads: BigInt(heads), kv_num_heads: BigInt(heads) });
  return linear(g, attended, `${prefix}out_proj`, read, width, width);
}

function layerNorm(g: Graph, c: ModelConfig, x: Value, name: string, read: ReadTensor): Value {
  const { width, layerNormEps } = c.vision;
  const scale = g.weight(`${name}.weight`, [width], read(`${name}.weight`));
  const bias = g.weight(`${name}.bias`, [width], read(`${name}.bias`));
  return g.op('LayerNormalization', [x, scale, bias], { axis: -1n, epsilon: layerNormEps });
}
