/**
 * prefill.onnx for TensorRT: images u8 [n,H,W,3] of the present cameras, prompt_ids int32 [1,P], causal_from int32 [1] →
 * new K/V [1,T,hd] per layer (T = n·tokens + P), top_logits [1,1,k], top_ids int32 [1,1,k] and log_sum_exp [1,1] of the
 * last position. Attention is causal from the position `causal_from` on; with T it is bidirectional.
 */
import { imageTokens, longestPrefix, type ModelConfig } from '../../model/config';
import { EMBEDDING_NAMES, LANGUAGE, PROJECTOR, VISION } from '../../model/tensors';
import type { Graph, Value } from '../graph';
import { TOP_K } from '../language-graph';
import {
  attention,
  byHead,
  gatedMlp,
  gelu,
  layerNorm,
  oneHead,
  prefixMask,
  projections,
  rmsNorm,
  rotaryRows,
  rotate,
  scaledAttention,
  type Rotary,
} from './blocks';
import type { Layers } from './layers';

const FLOAT = 1n;
const INT32 = 6n;

export function buildTensorRtPrefill(g: Graph, l: Layers, c: ModelConfig): void {
  const { width, layers, heads, headDim, mlp, vocab } = c.language;
  const { imageHeight, imageWidth } = c.vision;
  const images = g.input('images', 'uint8', ['n', imageHeight, imageWidth, 3]);
  const promptIds = g.input('prompt_ids', 'int32', [1, 'P']);
  const causalFrom = g.input('causal_from', 'int32', [1]);

  const table = l.table(EMBEDDING_NAMES[0], vocab, width);
  const scale = g.scalar(Math.fround(Math.sqrt(width)));
  const prompt = g.op('Mul', [l.rows(table, promptIds), scale]);
  let x = g.op('Concat', [vision(g, l, c, images), prompt], { axis: 1n });
  const length = g.op('Shape', [x], { start: 1n, end: 2n });
  const most = longestPrefix(c);
  const rotary = rotaryRows(g, l, c, most, g.ints(0), length);
  const mask = prefixMask(g, l, length, most, causalFrom);

  for (let i = 0; i < layers; i++) {
    const prefix = `${LANGUAGE}layers.${i}.`;
    const normed = rmsNorm(g, l, c, x, `${prefix}input_layernorm`);
    const last = i === layers - 1;
    const qkv = last
      ? lastProjections(g, l, c, normed, prefix, rotary)
      : projections(g, l, c, normed, prefix, width, rotary);
    const k = g.output(`new_k_${i}`, qkv.k, 'float', [1, 'T', headDim]);
    const v = g.output(`new_v_${i}`, qkv.v, 'float', [1, 'T', headDim]);
    // the last position sees all others, whatever the mask
    const attended = attention(g, l, c, qkv.q, k, v, last ? undefined : mask);
    if (last) x = lastRow(g, x, 1);
    x = g.op('Add', [x, l.project(attended, `${prefix}self_attn.o_proj`, heads * headDim, width)]);
    const hidden = rmsNorm(g, l, c, x, `${prefix}post_attention_layernorm`);
    x = g.op('Add', [x, gatedMlp(g, l, hidden, `${prefix}mlp.`, width, mlp)]);
  }
  candidates(g, l, c, rmsNorm(g, l, c, x, `${LANGUAGE}norm`), table);
}

/** [n,H,W,3] u8 → [1, n·tokens, width of the language model]. */
function vision(g: Graph, l: Layers, c: ModelConfig, images: Value): Value {
  const { width, layers, heads, mlp } = c.vision;
  const tokens = imageTokens(c);
  const name = `${VISION}embeddings.position_embedding.weight`;
  const positions = l.floats('position_embedding', [tokens, width], () => l.source.read(name));
  let x = g.op('Add', [patches(g, l, c, images), positions]);
  const perHead = (value: Value) =>
    byHead(g, g.op('Reshape', [value, g.ints(0, tokens, heads, width / heads)]));
  for (let i = 0; i < layers; i++) {
    const layer = `${VISION}encoder.layers.${i}.`;
    const normed = layerNorm(g, l, c, x, `${layer}layer_norm1`);
    const [q, k, v] = ['q_proj', 'k_proj', 'v_proj'].map(part =>
      perHead(l.linear(normed, `${layer}self_attn.${part}`, width, width)),
    ) as [Value, Value, Value];
    const values = byHead(g, scaledAttention(g, l, width / heads, q, k, v));
    const attended = g.op('Reshape', [values, g.ints(0, tokens, width)]);
    x = g.op('Add', [x, l.linear(attended, `${layer}self_attn.out_proj`, width, width)]);
    const hidden = layerNorm(g, l, c, x, `${layer}layer_norm2`);
    const active = gelu(g, l.linear(hidden, `${layer}mlp.fc1`, width, mlp));
    x = g.op('Add', [x, l.linear(active, `${layer}mlp.fc2`, mlp, width)]);
  }
  x = layerNorm(g, l, c, x, `${VISION}post_layernorm`);
  x = l.linear(x, PROJECTOR.slice(0, -1), width, c.language.width);
  return g.op('Reshape', [x, g.ints(1, -1, c.language.width)]);
}

/** The patch convolution as one product: its stride equals its size, so patches do not overlap. → [n, tokens, width] */
function patches(g: Graph, l: Layers, c: ModelConfig, images: Value): Value {
  const { patch: p, width, imageHeight, imageWidth } = c.vision;
  const [rows, columns] = [imageHeight / p, imageWidth / p];
  const unit = g.op('Div', [g.op('Cast', [images], { to: FLOAT }), g.scalar(255)]);
  const scaled = g.op('Sub', [g.op('Mul', [unit, g.scalar(2)]), g.scalar(1)]);
  const split = g.op('Reshape', [scaled, g.ints(-1, rows, p, columns, p, 3)]);
  // [n, row, column, channel, y, x], the order of the convolution's weights [width, 3, p, p]
  const ordered = g.op('Transpose', [split], { perm: [0n, 1n, 3n, 5n, 2n, 4n] });
  const flat = g.op('Reshape', [ordered, g.ints(-1, rows * columns, 3 * p * p)]);
  return l.exactLinear(flat, `${VISION}embeddings.patch_embedding`, 3 * p * p, width);
}

/** Keys and values of all positions, the query of the last one: nothing else of the last layer is used. */
function lastProjections(
  g: Graph,
  l: Layers,
  c: ModelConfig,
  x: Value,
  prefix: string,
  rotary: Rotary,
): { q: Value; k: Value; v: Value } {
  const { width, heads, headDim } = c.language;
  const names = ['k_proj', 'v_proj'].map(n => `${prefix}self_attn.${n}.weight`);
  const outs = [headDim, headDim];
  const both = l.product(x, `${prefix}kv`, { names, into: width, outs });
  const [k, v] = g.ops('Split', [both, g.ints(...outs)], 2, { axis: -1n }) as [Value, Value];
  const q = l.project(lastRow(g, x, 1), `${prefix}self_attn.q_proj`, width, heads * headDim);
  const here = { cos: lastRow(g, rotary.cos, 0), sin: lastRow(g, rotary.sin, 0) };
  return { q: rotate(g, c, q, heads, here), k: oneHead(g, c, rotate(g, c, k, 1, rotary)), v };
}

/** The last of an axis, which stays as one of size 1. */
const lastRow = (g: Graph, x: Value, axis: number): Value =>
  g.op('Slice', [x, g.ints(-1), g.ints(2 ** 31 - 1), g.ints(axis)]);

/** Logits of x [1,1,width], the best of them, and what makes probabilities of them. */
function candidates(g: Graph, l: Layers, c: ModelConfig, x: Value, table: Value): void {
  const { width, vocab } = c.language;
  const row = l.logits(g.op('Reshape', [x, g.ints(1, width)]), table);
  const logits = g.output('logits', g.op('Reshape', [row, g.ints(1, 1, vocab)]), 'float', [1, 1, vocab]);
  const topK = Math.min(TOP_K, vocab);
  const [values, ids] = g.ops('TopK', [logits, g.ints(topK)], 2, { axis: -1n }) as [Value, Value];
  const best = g.output('top_logits', values, 'float', [1, 1, topK]);
  const top = g.op('Slice', [best, g.ints(0), g.ints(1), g.ints(-1)]);
  const powers = g.op('Exp', [g.op('Sub', [logits, top])]);
  const sum = g.op('Log', [g.op('ReduceSum', [powers, g.ints(-1)], { keepdims: 1n })]);
  const logSumExp = g.op('Squeeze', [g.op('Add', [sum, top]), g.ints(-1)]);
  g.output('log_sum_exp', logSumExp, 'float', [1, 1]);
  g.output('top_ids', g.op('Cast', [ids], { to: INT32 }), 'int32', [1, 1, topK]);
}
