/** Building blocks that the language model and the action expert share: projections, rotary tables, two-part attention. */
import type { ModelConfig } from '../model/config';
import type { Graph, Value } from './graph';
import type { Products } from './products';

/** cos and sin of position·θ^(−2i/d), [positions, headDim/2], for positions 0, step, 2·step, …; angles in float64. */
export function rotaryTables(
  positions: number,
  headDim: number,
  theta: number,
  step = 1,
): { cos: Float32Array; sin: Float32Array } {
  const half = headDim / 2;
  const cos = new Float32Array(positions * half);
  const sin = new Float32Array(positions * half);
  for (let p = 0; p < positions; p++) {
    for (let i = 0; i < half; i++) {
      const angle = p * step * theta ** (-i / half);
      cos[p * half + i] = Math.cos(angle);
      sin[p * half + i] = Math.sin(angle);
    }
  }
  return { cos, sin };
}

/** Rotary embedding of [B,T,heads·headDim] (or [B,T,headDim] with one head) at `positions` [B,T]. */
export type Rotate = (g: Graph, x: Value, heads: number, positions: Value) => Value;

export function rotary(g: Graph, c: ModelConfig, positions: number): Rotate {
  const { headDim } = c.language;
  const { cos, sin } = rotaryTables(positions, headDim, c.ropeTheta);
  const cosTable = g.weight('rotary.cos', [positions, headDim / 2], cos);
  const sinTable = g.weight('rotary.sin', [positions, headDim / 2], sin);
  return (graph, x, heads, at) =>
    graph.op('RotaryEmbedding', [x, cosTable, sinTable, at], { num_heads: BigInt(heads), interleaved: 0n });
}

export interface AttentionInputs {
  /** [B,T,heads·headDim], rotated. */
  readonly q: Value;
  /** [B,N,headDim], rotated. */
  readonly newK: Value;
  readonly newV: Value;
  /** [B,S,headDim]; S may be 0. */
  readonly pastK: Value;
  readonly pastV: Value;
  /** Adds the mask to scores [B,T·heads,S+N], or nothing when all is visible. */
  readonly mask?: (scores: Value) => Value;
  /** int64 [S, N]. */
  readonly sizes: Value;
  /** bool: there is no past and every new token sees all others. Then nothing is spent on past and mask. */
  readonly allNew?: Value;
}

/**
 * Attention with one KV head: all query heads are rows of one product. Returns [B,T,heads·headDim].
 */
export function attention(g: Graph, c: ModelConfig, a: AttentionInputs): Value {
  const { headDim, heads } = c.language;
  const q = g.op('Reshape', [a.q, g.ints(0, -1, headDim)]);
  const twoParts = () => twoPartAttention(g, c, q, a);
  const values = a.allNew
    ? g.either(a.allNew, 'float', ['B', 'rows', headDim], () => freshAttention(g, c, q, a), twoParts)
    : twoParts();
  return g.op('Reshape', [values, g.ints(0, -1, heads * headDim)]);
}

const scoring = (c: ModelConfig) => ({ alpha: 1 / Math.sqrt(c.language.headDim), transB: 1n });

function freshAttention(g: Graph, c: ModelConfig, q: Value, a: AttentionInputs): Value {
  const scores = g.contrib('FusedMatMul', [q, a.newK], scoring(c));
  return g.op('MatMul', [g.op('Softmax', [scores], { axis: -1n }), a.newV]);
}

/** Past and new keys are scored apart, so the past is only read and never copied. */
function twoPartAttention(g: Graph, c: ModelConfig, q: Value, a: AttentionInputs): Value {
  const parts = [a.pastK, a.newK].map(k => g.contrib('FusedMatMul', [q, k], scoring(c)));
  const scores = g.op('Concat', parts, { axis: -1n });
  const weights = g.op('Softmax', [a.mask?.(scores) ?? scores], { axis: -1n });
  const [past, fresh] = g.ops('Split', [weights, a.sizes], 2, { axis: -1n }) as [Value, Value];
  return g.op('Add', [g.op('MatMul', [past, a.pastV]), g.op('MatMul', [fresh, a.newV])]);
}

/**
 * Of logits [.., n] whose largest ones, sorted, are `best` → [.., 1]. ReduceLogSumExp does the same on one thread and with a
 * slow exponential.
 */
export function logSumExp(g: Graph, logits: Value, best: Value): Value {
  const top = g.op('Slice', [best, g.ints(0), g.ints(1), g.ints(-1)]);
  const powers = g.op('Exp', [g.op('Sub', [logits, top])]);
  const sum = g.op('Log', [g.op('ReduceSum', [powers, g.ints(-1)], { keepdims: 1n })]);
  return g.op('Add', [sum, top]);
}

export interface Qkv {
  readonly q: Value;
  readonly k: Value;
  readonly v: Value;
}

/** Queries, keys and values of one layer as one product; queries and keys rotated. */
export function projections(
  g: Graph,
  p: Products,
  c: ModelConfig,
  x: Value,
  prefix: string,
  width: number,
  rotate: Rotate,
  positions: Value,
): Qkv {
  const { heads, headDim } = c.language;
  const outs = [heads * headDim, headDim, headDim];
  const names = ['q_proj', 'k_proj', 'v_proj'].map(n => `${prefix}self_attn.${n}.weight`);
  const all = p.product(g, x, `${prefix}qkv`, { names, into: width, outs });
  const [q, k, v] = g.ops('Split', [all, g.ints(...outs)], 3, { axis: -1n }) as [Value, Value, Value];
  return { q: rotate(g, q, heads, positions), k: rotate(g, k, 1, positions), v };
}

/** gelu(gate)·up → down. */
export function gatedMlp(
  g: Graph,
  p: Products,
  [gate, up]: GateUp,
  prefix: string,
  width: number,
  mlp: number,
): Value {
  const hidden = g.op('Mul', [g.op('Gelu', [gate], { approximate: 'tanh' }), up]);
  return project(g, p, hidden, `${prefix}down_proj`, mlp, width);
}

type GateUp = readonly [gate: Value, up: Value];

/** Gate and up of many rows: as one product they would have to be taken apart again, a copy of [T, 2·mlp]. */
export const gateUpApart = (
  g: Graph,
  p: Products,
  x: Value,
  prefix: string,
  width: number,
  mlp: number,
): GateUp => [
  project(g, p, x, `${prefix}gate_proj`, width, mlp),
  project(g, p, x, `${prefix}up_proj`, width, mlp),
];

/** Gate and up of few rows: one product, because there every operator costs. */
export function gateUpTogether(
  g: Graph,
  p: Products,
  x: Value,
  prefix: string,
  width: number,
  mlp: number,
): GateUp {
  const names = ['gate_proj', 'up_proj'].map(n => `${prefix}${n}.weight`);
  const both = p.product(g, x, `${prefix}gate_up`, { names, into: width, outs: [mlp, mlp] });
  return g.ops('Split', [both], 2, { axis: -1n, num_outputs: 2n }) as [Value, Value];
}

/** x·Wᵀ without bias. */
export function project(g: Graph, p: Products, x: Value, name: string, into: number, out: number): Value {
  return p.product(g, x, name, { names: [`${name}.weight`], into, outs: [out] });
}

/** x·Wᵀ + b. */
export function linear(g: Graph, p: Products, x: Value, name: string, into: number, out: number): Value {
  const bias = g.weight(`${name}.bias`, [out], p.read(`${name}.bias`));
  return g.op('Add', [project(g, p, x, name, into, out), bias]);
}
