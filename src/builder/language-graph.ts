/**
 * language.onnx: one graph for prefill (B=1, S=0), seed (B=1, T=seed) and ragged decode (B rows, T=1).
 * x [B,T,W], positions [B,T], past K/V per layer [B,S,hd], want [B,R], additive mask [B,M,S+T] over the keys, past ones
 * first → new K/V [B,T,hd] per layer, logits and their top candidates for the wanted positions.
 * M = 1: the same for all tokens, so it can only hide past keys; M = T·heads: a row for each token and head.
 */
import type { ModelConfig } from '../model/config';
import { EMBEDDING_NAMES, LANGUAGE } from '../model/tensors';
import type { Graph, Value } from './graph';
import {
  attention,
  gatedMlp,
  gateUpApart,
  logSumExp,
  project,
  projections,
  rotary,
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
  const { width, layers, heads, headDim, mlp } = c.language;
  const x0 = g.input('x', 'float', ['B', 'T', width]);
  const positions = g.input('positions', 'int64', ['B', 'T']);
  const mask = g.input('mask', 'float', ['B', 'M', 'S+T']);
  const want = g.input('want', 'int64', ['B', 'R']);
  const past = Array.from({ length: layers }, (_, i) => ({
    k: g.input(`past_k_${i}`, 'float', ['B', 'S', headDim]),
    v: g.input(`past_v_${i}`, 'float', ['B', 'S', headDim]),
  }));

  const { sizes, allNew } = keySizes(g, x0, (past[0] as { k: Value }).k, mask);
  const rotate = rotary(g, c, maxPositions);
  const wantRows = g.op('Unsqueeze', [want, g.ints(-1)]);
  const pick = (value: Value) => g.op('GatherND', [value, wantRows], { batch_dims: 1n });
  const maskAll = (scores: Value) => g.op('Add', [scores, mask]);
  const maskWanted = wantedMask(g, c, mask, want);

  let x = x0;
  past.forEach(({ k: pastK, v: pastV }, i) => {
    const last = i === layers - 1;
    if (last) x = g.output('last_layer_in', x, 'float', ['B', 'T', width]);
    const prefix = `${LANGUAGE}layers.${i}.`;
    const normed = rmsNorm(g, p, c, x, `${prefix}input_layernorm`);
    // The last layer's keys and values are needed everywhere, its queries only where logits are wanted.
    const { q, k, v } = last
      ? lastProjections(g, p, c, normed, pick(normed), prefix, rotate, {
          all: positions,
          wanted: g.op('GatherElements', [positions, want], { axis: 1n }),
        })
      : projections(g, p, c, normed, prefix, width, rotate, positions);
    const newK = g.output(`new_k_${i}`, k, 'float', ['B', 'T', headDim]);
    const newV = g.output(`new_v_${i}`, v, 'float', ['B', 'T', headDim]);
    const masked = last ? maskWanted : maskAll;
    const attended = attention(g, c, { q, newK, newV, pastK, pastV, mask: masked, sizes, allNew });
    x = g.op('Add', [
      last ? pick(x) : x,
      project(g, p, attended, `${prefix}self_attn.o_proj`, heads * headDim, width),
    ]);
    const hidden = rmsNorm(g, p, c, x, `${prefix}post_attention_layernorm`);
    const gateUp = gateUpApart(g, p, hidden, `${prefix}mlp.`, width, mlp);
    x = g.op('Add', [x, gatedMlp(g, p, gateUp, `${prefix}mlp.`, width, mlp)]);
    if (i === 0) x = g.output('first_layer', x, 'float', ['B', last ? 'R' : 'T', width]);
    if (last) x = g.output('last_layer', x, 'float', ['B', 'R', width]);
  });
  candidates(g, p, c, rmsNorm(g, p, c, x, `${LANGUAGE}norm`), table);
}

/** Logits of the wanted positions [B,R,width], the best of them, and what makes probabilities of them. */
function candidates(g: Graph, p: Products, c: ModelConfig, x: Value, table: WeightRange): void {
  const { width, vocab } = c.language;
  const stack = { names: [EMBEDDING_NAMES[0]], into: width, outs: [vocab] };
  const logits = g.output('logits', p.logits(g, x, stack, table), 'float', ['B', 'R', vocab]);
  const topK = Math.min(TOP_K, vocab);
  const [values, ids] = g.ops('TopK', [logits, g.ints(topK)], 2, { axis: -1n }) as [Value, Value];
  const best = g.output('top_logits', values, 'float', ['B', 'R', topK]);
  g.output('top_ids', ids, 'int64', ['B', 'R', topK]);
  const total = g.op('Squeeze', [logSumExp(g, logits, best), g.ints(-1)]);
  g.output('log_sum_exp', total, 'float', ['B', 'R']);
}

/** int64 [S, T], and whether S is 0 and the mask one row, which then hides nothing. */
function keySizes(g: Graph, x: Value, pastK: Value, mask: Value): { sizes: Value; allNew: Value } {
  const second = (value: Value) => g.op('Shape', [value], { start: 1n, end: 2n });
  const past = second(pastK);
  const noPast = g.op('Equal', [past, g.ints(0)]);
  const oneRow = g.op('Equal', [second(mask), g.ints(1)]);
  return {
    sizes: g.op('Concat', [past, second(x)], { axis: 0n }),
    allNew: g.op('Squeeze', [g.op('And', [noPast, oneRow])]),
  };
}

/** Adds the rows [B,R,1,S+T] of the mask that belong to the wanted positions to scores [B,R·heads,S+T]. */
function wantedMask(g: Graph, c: ModelConfig, mask: Value, want: Value): (scores: Value) => Value {
  const { heads } = c.language;
  const size = (axis: bigint) => g.op('Shape', [mask], { start: axis, end: axis + 1n });
  // one row for all, or `heads` rows for each token
  const lastRow = g.op('Sub', [size(1n), g.ints(1)]);
  const row = g.op('Min', [g.op('Mul', [want, g.ints(heads)]), lastRow]);
  const rows = g.op('GatherND', [mask, g.op('Unsqueeze', [row, g.ints(-1)])], { batch_dims: 1n });
  const perHead = g.op('Unsqueeze', [rows, g.ints(2)]);
  const columns = size(2n);
  const split = g.op('Concat', [g.ints(0), g.ints(-1, heads), columns], { axis: 0n });
  const flat = g.op('Concat', [g.ints(0, -1), columns], { axis: 0n });
  return scores => g.op('Reshape', [g.op('Add', [g.op('Reshape', [scores, split]), perHead]), flat]);
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
