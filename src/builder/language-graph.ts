/**
 * language.onnx: one graph for prefill (B=1, S=0), seed (B=1, T=seed) and ragged decode (B rows, T=1).
 * x [B,T,W], positions [B,T], past K/V per layer [B,S,hd], additive masks, want [B,R] → new K/V [B,T,hd] per layer,
 * logits and their top candidates for the wanted positions.
 */
import type { ModelConfig } from '../model/config';
import { EMBEDDING_NAMES, LANGUAGE } from '../model/tensors';
import type { Graph, Value } from './graph';
import {
  gatedMlp,
  project,
  projections,
  rotary,
  twoPartAttention,
  type Qkv,
  type Rotate,
} from './pi05-blocks';
import type { Products } from './products';
import type { WeightRange } from './weights-file';

/** How many of the best tokens leave the graph; sampling is exact while its mass lies in them. */
export const TOP_K = 64;

/** `table`: where the embedding table lies in the weight file. */
export function buildLanguage(
  g: Graph,
  p: Products,
  c: ModelConfig,
  table: WeightRange,
  maxPositions: number,
): void {
  const { width, layers, headDim, vocab } = c.language;
  const x0 = g.input('x', 'float', ['B', 'T', width]);
  const positions = g.input('positions', 'int64', ['B', 'T']);
  const pastMask = g.input('past_mask', 'float', ['B', 1, 'S']);
  const newMask = g.input('new_mask', 'float', ['B', 'T', 'T']);
  const want = g.input('want', 'int64', ['B', 'R']);
  const past = Array.from({ length: layers }, (_, i) => ({
    k: g.input(`past_k_${i}`, 'float', ['B', 'S', headDim]),
    v: g.input(`past_v_${i}`, 'float', ['B', 'S', headDim]),
  }));

  const shape = queryShapes(g, c, x0, pastMask, want);
  const rotate = rotary(g, c, maxPositions);
  const wantRows = g.op('Unsqueeze', [want, g.ints(-1)]);
  const pick = (value: Value) => g.op('GatherND', [value, wantRows], { batch_dims: 1n });
  const addNewMask = (mask: Value, rows: RowShapes) => (scores: Value) => {
    const perHead = g.op('Reshape', [scores, rows.perHead]);
    const masked = g.op('Add', [perHead, g.op('Unsqueeze', [mask, g.ints(2)])]);
    return g.op('Reshape', [masked, rows.flat]);
  };
  const maskPast = (scores: Value) => g.op('Add', [scores, pastMask]);

  let x = x0;
  past.forEach(({ k: pastK, v: pastV }, i) => {
    const last = i === layers - 1;
    if (last) g.output('last_layer_in', x, 'float', ['B', 'T', width]);
    const prefix = `${LANGUAGE}layers.${i}.`;
    const normed = rmsNorm(g, p, c, x, `${prefix}input_layernorm`);
    // The last layer's keys and values are needed everywhere, its queries only where logits are wanted.
    const { q, k, v } = last
      ? lastProjections(g, p, c, normed, pick(normed), prefix, rotate, {
          all: positions,
          wanted: g.op('GatherElements', [positions, want], { axis: 1n }),
        })
      : projections(g, p, c, normed, prefix, width, rotate, positions);
    g.output(`new_k_${i}`, k, 'float', ['B', 'T', headDim]);
    g.output(`new_v_${i}`, v, 'float', ['B', 'T', headDim]);
    const rows = last ? shape.wanted : shape.all;
    const maskNew = addNewMask(last ? pick(newMask) : newMask, rows);
    const attended = twoPartAttention(g, c, {
      q,
      newK: k,
      newV: v,
      pastK,
      pastV,
      maskPast,
      maskNew,
      sizes: shape.sizes,
    });
    x = g.op('Add', [
      last ? pick(x) : x,
      project(g, p, attended, `${prefix}self_attn.o_proj`, c.language.heads * headDim, width),
    ]);
    const hidden = rmsNorm(g, p, c, x, `${prefix}post_attention_layernorm`);
    x = g.op('Add', [x, gatedMlp(g, p, hidden, `${prefix}mlp.`, width, c.language.mlp)]);
    if (i === 0) g.output('first_layer', x, 'float', ['B', last ? 'R' : 'T', width]);
    if (last) g.output('last_layer', x, 'float', ['B', 'R', width]);
  });

  const stack = { names: [EMBEDDING_NAMES[0]], into: width, outs: [vocab] };
  const logits = p.logits(g, rmsNorm(g, p, c, x, `${LANGUAGE}norm`), stack, table);
  const topK = Math.min(TOP_K, vocab);
  const [values, ids] = g.ops('TopK', [logits, g.ints(topK)], 2, { axis: -1n }) as [Value, Value];
  g.output('top_logits', values, 'float', ['B', 'R', topK]);
  g.output('top_ids', ids, 'int64', ['B', 'R', topK]);
  g.output('log_sum_exp', g.op('ReduceLogSumExp', [logits, g.ints(-1)], { keepdims: 0n }), 'float', [
    'B',
    'R',
  ]);
  g.output('logits', logits, 'float', ['B', 'R', vocab]);
}

/** Shapes of the scores of the new keys: per head [B,T,heads,T] and as rows [B,T·heads,T]. */
interface RowShapes {
  readonly perHead: Value;
  readonly flat: Value;
}

function queryShapes(
  g: Graph,
  c: ModelConfig,
  x: Value,
  pastMask: Value,
  want: Value,
): { all: RowShapes; wanted: RowShapes; sizes: Value } {
  const dim = (value: Value, axis: number) =>
    g.op('Shape', [value], { start: BigInt(axis), end: BigInt(axis + 1) });
  const [batch, tokens] = [dim(x, 0), dim(x, 1)];
  const rows = (count: Value): RowShapes => ({
    perHead: g.op('Concat', [batch, count, g.ints(c.language.heads), tokens], { axis: 0n }),
    flat: g.op('Concat', [batch, g.ints(-1), tokens], { axis: 0n }),
  });
  const sizes = g.op('Concat', [dim(pastMask, 2), tokens], { axis: 0n });
  return { all: rows(tokens), wanted: rows(dim(want, 1)), sizes };
}

function lastProjections(
  g: Graph,
  p: Products,
  c: ModelConfig,
  x: Value,
  wanted: Value,
  prefix: string,
  rotate: Rotate,
  positions: { readonly all: Value; readonly wanted: Value },
): Qkv {
  const { width, heads, headDim } = c.language;
  const names = ['k_proj', 'v_proj'].map(n => `${prefix}self_attn.${n}.weight`);
  const both = p.product(g, x, `${prefix}kv`, { names, into: width, outs: [headDim, headDim] });
  const [k, v] = g.ops('Split', [both], 2, { axis: -1n, num_outputs: 2n }) as [Value, Value];
  const q = project(g, p, wanted, `${prefix}self_attn.q_proj`, width, heads * headDim);
  return { q: rotate(g, q, heads, positions.wanted), k: rotate(g, k, 1, positions.all), v };
}

/** Gemma's RMS norm: the stored weight is zero-centred, the factor is 1 + w. */
function rmsNorm(g: Graph, p: Products, c: ModelConfig, x: Value, name: string): Value {
  const scale = p.read(`${name}.weight`).map(w => 1 + w);
  return g.op('RMSNormalization', [x, g.weight(name, [c.language.width], scale)], {
    axis: -1n,
    epsilon: c.rmsEps,
  });
}
