/**
 * prefill.onnx for TensorRT: images u8 [n,H,W,3] of the present cameras, prompt_ids int32 [1,P], causal_from int32 [1] →
 * new K/V [1,T,hd] per layer (T = n·tokens + P), top_logits [1,1,k], top_ids int32 [1,1,k] and log_sum_exp [1,1] of the
 * last position. Attention is causal from the position `causal_from` on; with T it is bidirectional.
 */
import { imageTokens, longestPrefix, type ModelConfig } from '../../model/config';
import { EMBEDDING_NAMES, LANGUAGE, PROJECTOR, VISION } from '../../model/tensors';
import type { Graph, Value } from '../graph';
import { TOP_K } from '../language-graph';
import { logSumExp } from '../pi05-blocks';
import { flatPatches } from '../vision-graph';
import {
  attention,
  byHead,
  gatedMlp,
  gelu,
  layerNorm,
  prefixMask,
  projections,
  rmsNorm,
  rotaryRows,
  rotate,
  scaledAttention,
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
  const lastAngle = { cos: lastRow(g, rotary.cos, 0), sin: lastRow(g, rotary.sin, 0) };
  const mask = prefixMask(g, l, length, most, g.op('Cast', [causalFrom], { to: FLOAT }));

  for (let i = 0; i < layers; i++) {
    const prefix = `${LANGUAGE}layers.${i}.`;
    const normed = rmsNorm(g, l, c, x, `${prefix}input_layernorm`);
    const qkv = projections(g, l, c, normed, prefix, width, rotary);
    const k = g.output(`new_k_${i}`, qkv.k, 'float', [1, 'T', headDim]);
    const v = g.output(`new_v_${i}`, qkv.v, 'float', [1, 'T', headDim]);
    // of the last layer's queries only that of the last position is used, and it sees all others
    const last = i === layers - 1;
    if (last) x = lastRow(g, x, 1);
    const q = last
      ? rotate(g, c, lastRow(g, qkv.q, 1), heads, lastAngle)
      : rotate(g, c, qkv.q, heads, rotary);
    const attended = attention(g, l, c, q, k, v, last ? undefined : mask);
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
  const { patch } = c.vision;
  const name = `${VISION}embeddings`;
  const places = l.exact(`${name}.places`, [tokens, width], read =>
    read(`${name}.position_embedding.weight`),
  );
  const patches = flatPatches(g, c, images);
  let x = g.op('Add', [l.linear(patches, `${name}.patch_embedding`, 3 * patch * patch, width), places]);
  const perHead = (value: Value) =>
    byHead(g, g.op('Reshape', [value, g.ints(0, tokens, heads, width / heads)]));
  for (let i = 0; i < layers; i++) {
    const layer = `${VISION}encoder.layers.${i}.`;
    const normed = layerNorm(g, l, c, x, `${layer}layer_norm1`);
    const parts = ['q_proj', 'k_proj', 'v_proj'].map(part => `${layer}self_attn.${part}`);
    const outs = parts.map(() => width);
    const stack = { names: parts.map(part => `${part}.weight`), into: width, outs };
    const product = l.product(normed, `${layer}self_attn.qkv`, stack);
    const qkv = g.op('Add', [product, l.bias(parts, 3 * width)]);
    const [q, k, v] = g.ops('Split', [qkv, g.ints(...outs)], 3, { axis: -1n }).map(perHead) as [
      Value,
      Value,
      Value,
    ];
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

/** The last of an axis, which stays as one of size 1. */
const lastRow = (g: Graph, x: Value, axis: number): Value =>
  g.op('Slice', [x, g.ints(-1), g.ints(2 ** 31 - 1), g.ints(axis)]);

/**
 * The best tokens after x [1,1,width]. A float16 logit of 20 has steps of 0.016, in which near ties would be lost, so the
 * best ones are computed again in float32: few rows of the table.
 */
function candidates(g: Graph, l: Layers, c: ModelConfig, x: Value, table: Value): void {
  const { width, vocab } = c.language;
  const row = l.logits(g.op('Reshape', [x, g.ints(1, width)]), table);
  const logits = g.output('logits', g.op('Reshape', [row, g.ints(1, 1, vocab)]), 'float', [1, 1, vocab]);
  const topK = Math.min(TOP_K, vocab);
  const best = (values: Value) => g.ops('TopK', [values, g.ints(topK)], 2, { axis: -1n }) as [Value, Value];
  const [, rough] = best(logits);
  const terms = g.op('Mul', [l.rows(table, rough), g.op('Unsqueeze', [x, g.ints(2)])]);
  const [sorted, order] = best(g.op('ReduceSum', [terms, g.ints(-1)], { keepdims: 0n }));
  const top = g.output('top_logits', sorted, 'float', [1, 1, topK]);
  const ids = g.op('GatherElements', [rough, order], { axis: -1n });
  g.output('top_ids', g.op('Cast', [ids], { to: INT32 }), 'int32', [1, 1, topK]);
  const total = g.op('Squeeze', [logSumExp(g, logits, top), g.ints(-1)]);
  g.output('log_sum_exp', total, 'float', [1, 1]);
}
