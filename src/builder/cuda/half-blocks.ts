/**
 * Building blocks of the float16 graphs: weights, products, keys and values in float16; the residual stream, norms,
 * softmax, rotary embedding and logits in float32. Attention is written out, so that its precision does not depend on the
 * kernel that a GPU would choose.
 */
import { MASKED, type ModelConfig } from '../../model/config';
import { EMBEDDING_NAMES } from '../../model/tensors';
import type { Graph, Value } from '../graph';
import { TOP_K } from '../language-graph';
import { logSumExp, rotaryTables } from '../pi05-blocks';
import type { HalfWeights } from './half-weights';

/** What every block needs: the graph, the weights, the model. */
export interface Kit {
  readonly g: Graph;
  readonly w: HalfWeights;
  readonly c: ModelConfig;
}

const FLOAT = 1n;
const FLOAT16 = 10n;
export const half = ({ g }: Kit, x: Value): Value => g.op('Cast', [x], { to: FLOAT16 });
export const single = ({ g }: Kit, x: Value): Value => g.op('Cast', [x], { to: FLOAT });

/** x [.., in] float16 times the weights of `names` side by side → float16 [.., Σ out]. */
export function product(
  { g, w }: Kit,
  x: Value,
  label: string,
  names: readonly string[],
  into: number,
  outs: readonly number[],
): Value {
  const stack = { names: names.map(n => `${n}.weight`), into, outs };
  return g.op('MatMul', [x, w.matrix(g, label, stack)]);
}

/** x·Wᵀ without bias. */
export const project = (kit: Kit, x: Value, name: string, into: number, out: number): Value =>
  product(kit, x, `${name}.weight`, [name], into, [out]);

/** x·Wᵀ + b. */
export function linear(kit: Kit, x: Value, name: string, into: number, out: number): Value {
  const bias = kit.w.vector(kit.g, `${name}.bias`, [`${name}.bias`], out);
  return kit.g.op('Add', [project(kit, x, name, into, out), bias]);
}

/** Float32 → float32, Gemma's: the stored weight is zero-centred, the factor is 1 + w. */
export function rmsNorm({ g, w, c }: Kit, x: Value, name: string): Value {
  const scale = w.exact(g, name, [c.language.width], read => read(`${name}.weight`).map(v => 1 + v));
  return g.op('RMSNormalization', [x, scale], { axis: -1n, epsilon: c.rmsEps });
}

/** Adds a float16 value to the float32 residual stream. */
export const addTo = (kit: Kit, x: Value, update: Value): Value => kit.g.op('Add', [x, single(kit, update)]);

/** Rotary embedding of float16 [B,T,heads·headDim] at the positions it was made for, computed in float32. */
export type Rotate = (x: Value, heads: number) => Value;

/** Positions per step of the coarse table. */
const FINE = 64;

/**
 * Rotation at `positions` [N]; `shape` says how x has them, [B,T] with B·T = N. The angle is the sum of two from small
 * tables, so that float32 tables stay a small share of the weights in any model.
 */
export function rotary(kit: Kit, maxPositions: number, positions: Value, shape: Value): Rotate {
  const { g, w, c } = kit;
  const { headDim } = c.language;
  const rows = (name: string, count: number, step: number, at: Value) => {
    const tables = () => rotaryTables(count, headDim, c.ropeTheta, step);
    const dims = [count, headDim / 2];
    const cos = w.exact(g, `rotary.${name}.cos`, dims, () => tables().cos);
    const sin = w.exact(g, `rotary.${name}.sin`, dims, () => tables().sin);
    return [cos, sin].map(table => g.op('Gather', [table, at], { axis: 0n })) as [Value, Value];
  };
  const far = g.op('Div', [positions, g.int(FINE)]);
  const near = g.op('Sub', [positions, g.op('Mul', [far, g.int(FINE)])]);
  const [farCos, farSin] = rows('coarse', Math.ceil(maxPositions / FINE), FINE, far);
  const [nearCos, nearSin] = rows('fine', FINE, 1, near);
  const mul = (a: Value, b: Value) => g.op('Mul', [a, b]);
  const cos = g.op('Sub', [mul(farCos, nearCos), mul(farSin, nearSin)]);
  const sin = g.op('Add', [mul(farSin, nearCos), mul(farCos, nearSin)]);
  const count = g.op('Squeeze', [g.op('Shape', [positions]), g.ints(0)]);
  const at = g.op('Reshape', [g.op('Range', [g.int(0), count, g.int(1)]), shape]);
  return (x, heads) => {
    const attributes = { num_heads: BigInt(heads), interleaved: 0n };
    return half(kit, g.op('RotaryEmbedding', [single(kit, x), cos, sin, at], attributes));
  };
}

export interface Qkv {
  readonly q: Value;
  readonly k: Value;
  readonly v: Value;
}

/** Queries, keys and values of one layer as one product, not yet rotated. */
export function projections(kit: Kit, x: Value, prefix: string, into: number): Qkv {
  const { heads, headDim } = kit.c.language;
  const outs = [heads * headDim, headDim, headDim];
  const names = ['q_proj', 'k_proj', 'v_proj'].map(n => `${prefix}self_attn.${n}`);
  const all = product(kit, x, `${prefix}self_attn.qkv`, names, into, outs);
  const [q, k, v] = kit.g.ops('Split', [all, kit.g.ints(...outs)], 3, { axis: -1n });
  return { q, k, v } as Qkv;
}

/** q [.., rows, d] · kᵀ / √d, as float32. */
export function scores(kit: Kit, q: Value, k: Value, headDim: number): Value {
  const attributes = { alpha: 1 / Math.sqrt(headDim), transB: 1n };
  return single(kit, kit.g.contrib('FusedMatMul', [q, k], attributes));
}

export const softmax = (kit: Kit, x: Value): Value => half(kit, kit.g.op('Softmax', [x], { axis: -1n }));

/** Attention with one KV head, whose query heads are rows of one product: q [B,T,heads·headDim], k and v [B,S,headDim]. */
export function attention(kit: Kit, { q, k, v }: Qkv, mask: (scores: Value) => Value = all => all): Value {
  const { g, c } = kit;
  const rows = headRows(kit, q);
  const weights = softmax(kit, mask(scores(kit, rows, k, c.language.headDim)));
  return joinHeads(kit, g.op('MatMul', [weights, v]));
}

/** [B,T,heads·headDim] → [B,T·heads,headDim] */
export const headRows = ({ g, c }: Kit, q: Value): Value =>
  g.op('Reshape', [q, g.ints(0, -1, c.language.headDim)]);

export const joinHeads = ({ g, c }: Kit, x: Value): Value =>
  g.op('Reshape', [x, g.ints(0, -1, c.language.heads * c.language.headDim)]);

/** 0 where `visible` (bool), else what hides a score. */
export const hiding = ({ g }: Kit, visible: Value): Value =>
  g.op('Where', [visible, g.scalar(0), g.scalar(MASKED)]);

/** gelu(gate)·up → down, float16. */
export function gatedMlp(kit: Kit, x: Value, prefix: string, width: number, mlp: number): Value {
  const { g } = kit;
  const gate = project(kit, x, `${prefix}gate_proj`, width, mlp);
  const up = project(kit, x, `${prefix}up_proj`, width, mlp);
  const hidden = g.op('Mul', [g.op('Gelu', [gate], { approximate: 'tanh' }), up]);
  return project(kit, hidden, `${prefix}down_proj`, mlp, width);
}

const table = ({ g, w, c }: Kit): Value => w.table(g, EMBEDDING_NAMES[0], c.language.vocab, c.language.width);

/** Token ids → float32 [.., width], times √width. */
export function embed(kit: Kit, ids: Value): Value {
  const { g, c } = kit;
  const rows = single(kit, g.op('Gather', [table(kit), ids], { axis: 0n }));
  return g.op('Mul', [rows, g.scalar(Math.sqrt(c.language.width))]);
}

export interface Candidates {
  /** [.., topK], sorted. */
  readonly top: Value;
  readonly ids: Value;
  /** [.., 1] */
  readonly logSumExp: Value;
}

/**
 * The best tokens after x [.., width] (float32, normed). A float16 logit of 20 has steps of 0.016, in which near ties would
 * be lost, so the best ones are computed again in float32: few rows of the table.
 */
export function candidates(kit: Kit, x: Value): Candidates {
  const { g, c } = kit;
  const topK = g.ints(Math.min(TOP_K, c.language.vocab));
  const logits = single(kit, g.contrib('FusedMatMul', [half(kit, x), table(kit)], { transB: 1n }));
  const [highest, rough] = g.ops('TopK', [logits, topK], 2, { axis: -1n }) as [Value, Value];
  const rows = single(kit, g.op('Gather', [table(kit), rough], { axis: 0n }));
  const terms = g.op('Mul', [rows, g.op('Unsqueeze', [x, g.ints(-2)])]);
  const exact = g.op('ReduceSum', [terms, g.ints(-1)], { keepdims: 0n });
  const [top, order] = g.ops('TopK', [exact, topK], 2, { axis: -1n }) as [Value, Value];
  const ids = g.op('GatherElements', [rough, order], { axis: -1n });
  return { top, ids, logSumExp: logSumExp(g, logits, highest) };
}
