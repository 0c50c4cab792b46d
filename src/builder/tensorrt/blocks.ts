/** Blocks of pi0.5 from operators that TensorRT's parser takes at opset 17; norms, softmax and angles in float32. */
import { MASKED, type ModelConfig } from '../../model/config';
import type { Graph, Value } from '../graph';
import { rotaryTables } from '../pi05-blocks';
import type { Layers } from './layers';

/** x/√(mean x² + ε), without a factor. */
export function rms(g: Graph, c: ModelConfig, x: Value): Value {
  const mean = g.op('ReduceMean', [g.op('Mul', [x, x])], { axes: [-1n], keepdims: 1n });
  return g.op('Div', [x, g.op('Sqrt', [g.op('Add', [mean, g.scalar(c.rmsEps)])])]);
}

/** Gemma's RMS norm: the stored weight is zero-centred, the factor is 1 + w. */
export function rmsNorm(g: Graph, l: Layers, c: ModelConfig, x: Value, name: string): Value {
  const scale = l.exact(name, [c.language.width], read => read(`${name}.weight`).map(w => 1 + w));
  return g.op('Mul', [rms(g, c, x), scale]);
}

export function layerNorm(g: Graph, l: Layers, c: ModelConfig, x: Value, name: string): Value {
  const { width, layerNormEps } = c.vision;
  const weights = ['weight', 'bias'].map(part =>
    l.exact(`${name}.${part}`, [width], read => read(`${name}.${part}`)),
  );
  return g.op('LayerNormalization', [x, ...weights], { axis: -1n, epsilon: layerNormEps });
}

/** x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))) */
export function gelu(g: Graph, x: Value): Value {
  const square = g.op('Mul', [x, x]);
  const slope = g.op('Add', [g.op('Mul', [square, g.scalar(0.044715)]), g.scalar(1)]);
  const inner = g.op('Mul', [g.op('Mul', [x, slope]), g.scalar(Math.sqrt(2 / Math.PI))]);
  const gate = g.op('Add', [g.op('Tanh', [inner]), g.scalar(1)]);
  return g.op('Mul', [g.op('Mul', [x, g.scalar(0.5)]), gate]);
}

/** gelu(x·gate)·(x·up)·down. */
export function gatedMlp(g: Graph, l: Layers, x: Value, prefix: string, width: number, mlp: number): Value {
  const gate = gelu(g, l.project(x, `${prefix}gate_proj`, width, mlp));
  const up = l.project(x, `${prefix}up_proj`, width, mlp);
  return l.project(g.op('Mul', [gate, up]), `${prefix}down_proj`, mlp, width);
}

/** Rows `from` .. `to` (int64 [1] each) of cos and sin of all positions, [N, 1, headDim/2]. */
export function rotaryRows(
  g: Graph,
  l: Layers,
  c: ModelConfig,
  positions: number,
  from: Value,
  to: Value,
): Rotary {
  const half = c.language.headDim / 2;
  const rows = (name: 'cos' | 'sin') => {
    const values = () => rotaryTables(positions, c.language.headDim, c.ropeTheta)[name];
    const table = l.exact(`rotary.${name}/${positions}`, [positions, half], values);
    return g.op('Unsqueeze', [g.op('Slice', [table, from, to, g.ints(0)]), g.ints(1)]);
  };
  return { cos: rows('cos'), sin: rows('sin') };
}

export interface Rotary {
  readonly cos: Value;
  readonly sin: Value;
}

/** Rotary embedding of [1,N,heads·headDim] → [1,N,heads,headDim]. */
export function rotate(g: Graph, c: ModelConfig, x: Value, heads: number, { cos, sin }: Rotary): Value {
  const { headDim } = c.language;
  const split = g.op('Reshape', [x, g.ints(0, -1, heads, headDim)]);
  const halves = g.ints(headDim / 2, headDim / 2);
  const [a, b] = g.ops('Split', [split, halves], 2, { axis: -1n }) as [Value, Value];
  const turned = [
    g.op('Sub', [g.op('Mul', [a, cos]), g.op('Mul', [b, sin])]),
    g.op('Add', [g.op('Mul', [b, cos]), g.op('Mul', [a, sin])]),
  ];
  return g.op('Concat', turned, { axis: -1n });
}

/** Queries, not yet rotated [1,N,heads·headDim], rotated keys and values [1,N,headDim] of one layer, x [1,N,width]. */
export function projections(
  g: Graph,
  l: Layers,
  c: ModelConfig,
  x: Value,
  prefix: string,
  width: number,
  rotary: Rotary,
): { q: Value; k: Value; v: Value } {
  const { heads, headDim } = c.language;
  const outs = [heads * headDim, headDim, headDim];
  const names = ['q_proj', 'k_proj', 'v_proj'].map(n => `${prefix}self_attn.${n}.weight`);
  const all = l.product(x, `${prefix}self_attn.qkv`, { names, into: width, outs });
  const [q, k, v] = g.ops('Split', [all, g.ints(...outs)], 3, { axis: -1n }) as [Value, Value, Value];
  return { q, k: oneHead(g, c, rotate(g, c, k, 1, rotary)), v };
}

/** [1,N,1,headDim] → [1,N,headDim] */
const oneHead = (g: Graph, c: ModelConfig, x: Value): Value =>
  g.op('Reshape', [x, g.ints(0, -1, c.language.headDim)]);

/**
 * q [1,N,heads,headDim] over k and v [1,M,headDim] → [1,N,heads·headDim]. In the shape [batch, heads, rows, headDim] and
 * with the scale on the queries, as TensorRT wants attention that it may fuse; one KV head serves all query heads.
 */
export function attention(
  g: Graph,
  l: Layers,
  c: ModelConfig,
  q: Value,
  k: Value,
  v: Value,
  mask?: Value,
): Value {
  const { heads, headDim } = c.language;
  const apart = (x: Value) => l.moved('Unsqueeze', [x], [g.ints(1)]);
  const values = scaledAttention(g, l, headDim, byHead(g, q), apart(k), apart(v), mask);
  return g.op('Reshape', [byHead(g, values), g.ints(0, -1, heads * headDim)]);
}

/** Exchanges rows and heads. */
export const byHead = (g: Graph, x: Value): Value => g.op('Transpose', [x], { perm: [0n, 2n, 1n, 3n] });

/** q [B,heads,N,headDim], k and v [B,heads or 1,M,headDim], mask [.., N, M] added to the scores → [B,heads,N,headDim]. */
export function scaledAttention(
  g: Graph,
  l: Layers,
  headDim: number,
  q: Value,
  k: Value,
  v: Value,
  mask?: Value,
): Value {
  const scaled = g.op('Mul', [q, g.scalar(1 / Math.sqrt(headDim))]);
  const scores = l.matmul(scaled, l.moved('Transpose', [k], [], { perm: [0n, 1n, 3n, 2n] }));
  const weights = g.op('Softmax', [mask === undefined ? scores : g.op('Add', [scores, mask])], { axis: -1n });
  return l.matmul(weights, v);
}

/**
 * Mask [1,1,N,N] of a prefix of N positions (`length` int64 [1], at most `most`): a position sees all before
 * `causalFrom` (float [1]), and itself and all before it.
 */
export function prefixMask(g: Graph, l: Layers, length: Value, most: number, causalFrom: Value): Value {
  const counted = (name: string, first: number) => {
    const all = l.exact(name, [most], () => Float32Array.from({ length: most }, (_, i) => first + i));
    return g.op('Slice', [all, g.ints(0), length, g.ints(0)]);
  };
  const column = counted('counted/0', 0);
  const visible = g.op('Max', [g.op('Unsqueeze', [counted('counted/1', 1), g.ints(1)]), causalFrom]);
  const mask = g.op('Where', [g.op('Less', [column, visible]), g.scalar(0), g.scalar(MASKED)]);
  return g.op('Unsqueeze', [mask, g.ints(0, 1)]);
}
