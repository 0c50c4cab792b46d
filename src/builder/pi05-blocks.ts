/** Building blocks that the language model and the action expert share: projections, rotary tables, two-part attention. */
import type { ModelConfig } from '../model/config';
import type { Graph, Value } from './graph';

/** Reads a checkpoint tensor by name. */
export type ReadTensor = (name: string) => Float32Array;

/** Linear weights [out, in] of several projections, transposed and side by side: [in, Σ out], so that one product does all. */
export function fuseTransposed(weights: readonly Float32Array[], into: number): Float32Array {
  const outs = weights.map(w => w.length / into);
  const total = outs.reduce((a, b) => a + b, 0);
  const fused = new Float32Array(into * total);
  const tile = 32; // both sides of a tile stay in cache
  let column = 0;
  weights.forEach((w, n) => {
    const out = outs[n] as number;
    for (let o0 = 0; o0 < out; o0 += tile)
      for (let i0 = 0; i0 < into; i0 += tile)
        for (let o = o0; o < Math.min(out, o0 + tile); o++)
          for (let i = i0; i < Math.min(into, i0 + tile); i++)
            fused[i * total + column + o] = w[o * into + i] as number;
    column += out;
  });
  return fused;
}

/** cos and sin of position·θ^(−2i/d), [positions, headDim/2], angles in float64. */
export function rotaryTables(
  positions: number,
  headDim: number,
  theta: number,
): { cos: Float32Array; sin: Float32Array } {
  const half = headDim / 2;
  const cos = new Float32Array(positions * half);
  const sin = new Float32Array(positions * half);
  for (let p = 0; p < positions; p++) {
    for (let i = 0; i < half; i++) {
      const angle = p * theta ** (-i / half);
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
  /** Additive masks over the scores of past and new keys, or nothing when all is visible. */
  readonly maskPast?: (scores: Value) => Value;
  readonly maskNew?: (scores: Value) => Value;
  /** int64 [S, N]. */
  readonly sizes: Value;
}

/**
 * Two-part attention with one KV head: all query heads are rows of one product, past and new keys are scored apart,
 * so the past is only read and never copied. Returns [B,T,heads·headDim].
 */
export function twoPartAttention(g: Graph, c: ModelConfig, a: AttentionInputs): Value {
  const { headDim, heads } = c.language;
  const scale = { alpha: 1 / Math.sqrt(headDim), transB: 1n };
  const q = g.op('Reshape', [a.q, g.ints(0, -1, headDim)]);
  const pastScores = g.contrib('FusedMatMul', [q, a.pastK], scale);
  const newScores = g.contrib('FusedMatMul', [q, a.newK], scale);
  const scores = g.op(
    'Concat',
    [a.maskPast?.(pastScores) ?? pastScores, a.maskNew?.(newScores) ?? newScores],
    { axis: -1n },
  );
  const weights = g.op('Softmax', [scores], { axis: -1n });
  const [past, fresh] = g.ops('Split', [weights, a.sizes], 2, { axis: -1n }) as [Value, Value];
  const values = g.op('Add', [g.op('MatMul', [past, a.pastV]), g.op('MatMul', [fresh, a.newV])]);
  return g.op('Reshape', [values, g.ints(0, -1, heads * headDim)]);
}

/** gelu(gate)·up → down, with gate and up as one product. */
export function gatedMlp(
  g: Graph,
  x: Value,
  prefix: string,
  read: ReadTensor,
  width: number,
  mlp: number,
): Value {
  const gateUp = g.weight(
    `${prefix}gate_up`,
    [width, 2 * mlp],
    fuseTransposed([read(`${prefix}gate_proj.weight`), read(`${prefix}up_proj.weight`)], width),
  );
  const [gate, up] = g.ops('Split', [g.op('MatMul', [x, gateUp])], 2, { axis: -1n, num_outputs: 2n }) as [
    Value,
    Value,
  ];
  const hidden = g.op('Mul', [g.op('Gelu', [gate], { approximate: 'tanh' }), up]);
  return project(g, hidden, `${prefix}down_proj`, read, mlp, width);
}

/** x·Wᵀ without bias. */
export function project(
  g: Graph,
  x: Value,
  name: string,
  read: ReadTensor,
  into: number,
  out: number,
): Value {
  return g.op('MatMul', [x, g.weight(name, [into, out], fuseTransposed([read(`${name}.weight`)], into))]);
}

/** x·Wᵀ + b. */
export function linear(g: Graph, x: Value, name: string, read: ReadTensor, into: number, out: number): Value {
  return g.op('Add', [
    project(g, x, name, read, into, out),
    g.weight(`${name}.bias`, [out], read(`${name}.bias`)),
  ]);
}
