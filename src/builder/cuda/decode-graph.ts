/**
 * decode.onnx: k steps over a ragged batch in one Loop. Per row: tokens [B] (fed first), lengths [B] (positions in its keys
 * and values, and position of that token), temperature, top_p, top_k [B]; per step and row: forced [k,B] (fed in place of
 * the chosen token, in step 0 of the given one; -1: none), uniforms [k,B] in [0, 1); steps [1] = k; past K/V [B,S,hd] per
 * layer, valid up to each row's length → chosen [k,B], the best tokens [k,B,topK] with their log-sum-exp [k,B], keys and
 * values of the fed tokens [B,k,hd] per layer. Rows do not influence each other.
 */
import type { ModelConfig } from '../../model/config';
import { LANGUAGE } from '../../model/tensors';
import type { Carried, Graph, Typed, Value } from '../graph';
import { TOP_K } from '../language-graph';
import {
  addTo,
  candidates,
  embed,
  gatedMlp,
  half,
  headRows,
  hiding,
  joinHeads,
  project,
  projections,
  rmsNorm,
  rotary,
  scores,
  single,
  softmax,
  type Kit,
} from './half-blocks';
import type { HalfWeights } from './half-weights';
import { chooseTokens } from './sampling';

/** Keys and values of a layer in float16. */
interface KeysValues {
  readonly k: Value;
  readonly v: Value;
}

export function buildDecode(g: Graph, w: HalfWeights, c: ModelConfig, maxPositions: number): void {
  const kit: Kit = { g, w, c };
  const { layers, headDim, vocab } = c.language;
  const tokens = g.input('tokens', 'int64', ['B']);
  const lengths = g.input('lengths', 'int64', ['B']);
  const steps = g.input('steps', 'int64', [1]);
  const forced = g.input('forced', 'int64', ['k', 'B']);
  const settings = {
    temperature: g.input('temperature', 'float', ['B']),
    topP: g.input('top_p', 'float', ['B']),
    topK: g.input('top_k', 'int64', ['B']),
  };
  const uniforms = g.input('uniforms', 'float', ['k', 'B']);
  const past: KeysValues[] = Array.from({ length: layers }, (_, i) => ({
    k: half(kit, g.input(`past_k_${i}`, 'float', ['B', 'S', headDim])),
    v: half(kit, g.input(`past_v_${i}`, 'float', ['B', 'S', headDim])),
  }));

  const mask = pastMask(kit, (past[0] as KeysValues).k, lengths);
  const topK = Math.min(TOP_K, vocab);
  const carried: Carried[] = [
    { from: tokens, elem: 'int64', dims: ['B'] },
    ...past.flatMap(({ k, v }) => [k, v]).map(value => noneOf(kit, value)),
  ];
  const collected: Typed[] = [
    { elem: 'int64', dims: ['B'] },
    { elem: 'float', dims: ['B', topK] },
    { elem: 'int64', dims: ['B', topK] },
    { elem: 'float', dims: ['B'] },
  ];
  const results = g.loop(steps, carried, collected, (step, [chosen = '', ...tails]) => {
    const given = g.op('Gather', [forced, step], { axis: 0n });
    const fed = g.op('Where', [g.op('Less', [given, g.int(0)]), chosen, given]);
    const rotate = rotary(kit, maxPositions, g.op('Add', [lengths, step]), g.ints(-1, 1));
    const grown: Value[] = [];
    let x = embed(kit, g.op('Unsqueeze', [fed, g.ints(-1)]));
    past.forEach((old, i) => {
      const { heads, width, mlp } = c.language;
      const name = `${LANGUAGE}layers.${i}.`;
      const qkv = projections(kit, half(kit, rmsNorm(kit, x, `${name}input_layernorm`)), name, width);
      const k = g.op('Concat', [tails[2 * i] as Value, rotate(qkv.k, 1)], { axis: 1n });
      const v = g.op('Concat', [tails[2 * i + 1] as Value, qkv.v], { axis: 1n });
      grown.push(k, v);
      const q = headRows(kit, rotate(qkv.q, heads));
      const attended = raggedAttention(kit, q, old, { k, v }, mask);
      x = addTo(kit, x, project(kit, attended, `${name}self_attn.o_proj`, heads * headDim, width));
      const hidden = half(kit, rmsNorm(kit, x, `${name}post_attention_layernorm`));
      x = addTo(kit, x, gatedMlp(kit, hidden, `${name}mlp.`, width, mlp));
    });
    const normed = g.op('Squeeze', [rmsNorm(kit, x, `${LANGUAGE}norm`), g.ints(1)]);
    const found = candidates(kit, normed);
    const uniform = g.op('Gather', [uniforms, step], { axis: 0n });
    const next = chooseTokens(g, found, topK, settings, uniform);
    const logSumExp = g.op('Squeeze', [found.logSumExp, g.ints(-1)]);
    return { carried: [next, ...grown], collected: [next, found.top, found.ids, logSumExp] };
  });
  outputAll(kit, results, topK);
}

/** All carried values after the last step, then what the steps collected. */
function outputAll(kit: Kit, results: readonly Value[], topK: number): void {
  const { g, c } = kit;
  const { layers, headDim } = c.language;
  const tails = results.slice(1, 1 + 2 * layers);
  const [chosen, top, ids, logSumExp] = results.slice(1 + 2 * layers) as [Value, Value, Value, Value];
  g.output('chosen', chosen, 'int64', ['k', 'B']);
  g.output('top_logits', top, 'float', ['k', 'B', topK]);
  g.output('top_ids', ids, 'int64', ['k', 'B', topK]);
  g.output('log_sum_exp', logSumExp, 'float', ['k', 'B']);
  for (let i = 0; i < layers; i++) {
    const [k, v] = tails.slice(2 * i, 2 * i + 2) as [Value, Value];
    g.output(`new_k_${i}`, single(kit, k), 'float', ['B', 'k', headDim]);
    g.output(`new_v_${i}`, single(kit, v), 'float', ['B', 'k', headDim]);
  }
}

/** [B,0,hd], to be grown by a position at every step. */
function noneOf({ g, c }: Kit, past: Value): Carried {
  const from = g.op('Slice', [past, g.ints(0), g.ints(0), g.ints(1)]);
  return { from, elem: 'float16', dims: ['B', 'made', c.language.headDim] };
}

/** [B,1,S]: hides past positions beyond each row's length. */
function pastMask(kit: Kit, pastK: Value, lengths: Value): Value {
  const { g } = kit;
  const size = g.op('Squeeze', [g.op('Shape', [pastK], { start: 1n, end: 2n }), g.ints(0)]);
  const places = g.op('Range', [g.int(0), size, g.int(1)]);
  const visible = g.op('Less', [places, g.op('Unsqueeze', [lengths, g.ints(-1)])]);
  return g.op('Unsqueeze', [hiding(kit, visible), g.ints(1)]);
}

/** Past and new keys are scored apart, so that the past is read and never copied. q [B,heads,hd] → [B,1,heads·hd]. */
function raggedAttention(kit: Kit, q: Value, past: KeysValues, fresh: KeysValues, mask: Value): Value {
  const { g, c } = kit;
  const score = (k: Value) => scores(kit, q, k, c.language.headDim);
  const parts = [g.op('Add', [score(past.k), mask]), score(fresh.k)];
  const weights = softmax(kit, g.op('Concat', parts, { axis: -1n }));
  const size = (k: Value) => g.op('Shape', [k], { start: 1n, end: 2n });
  const sizes = g.op('Concat', [size(past.k), size(fresh.k)], { axis: 0n });
  const [old, made] = g.ops('Split', [weights, sizes], 2, { axis: -1n }) as [Value, Value];
  const values = g.op('Add', [g.op('MatMul', [old, past.v]), g.op('MatMul', [made, fresh.v])]);
  return joinHeads(kit, values);
}
