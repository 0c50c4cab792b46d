/**
 * frame.onnx: one run from pictures to actions. images u8 [n,H,W,3] of the present cameras, prompt_ids [1,P], causal_from
 * [1] (the first position that sees only what is before it; the number of positions: none does), noise [1,H,A],
 * modulations [S,2L+1,3W] of S Euler steps → actions [1,H,A], keys and values of the prefix [1,T,hd] per layer, the best
 * tokens after its last position.
 */
import type { ModelConfig } from '../../model/config';
import { EXPERT, LANGUAGE } from '../../model/tensors';
import type { Graph, Value } from '../graph';
import { TOP_K } from '../language-graph';
import {
  addTo,
  attention,
  candidates,
  embed,
  gatedMlp,
  half,
  hiding,
  linear,
  project,
  projections,
  rmsNorm,
  rotary,
  single,
  type Kit,
  type Rotate,
} from './half-blocks';
import type { HalfWeights } from './half-weights';
import { imageTokensOf } from './vision-blocks';

/** Keys and values of a layer, float16 [1,T,hd]. */
interface KeysValues {
  readonly k: Value;
  readonly v: Value;
}

export function buildFrame(g: Graph, w: HalfWeights, c: ModelConfig, maxPositions: number): void {
  const kit: Kit = { g, w, c };
  const { vision, language, expert, horizon, actionDim } = c;
  const images = g.input('images', 'uint8', ['n', vision.imageHeight, vision.imageWidth, 3]);
  const promptIds = g.input('prompt_ids', 'int64', [1, 'P']);
  const causalFrom = g.input('causal_from', 'int64', [1]);
  const noise = g.input('noise', 'float', [1, horizon, actionDim]);
  const tables = [2 * language.layers + 1, 3 * expert.width];
  const modulations = g.input('modulations', 'float', ['S', ...tables]);

  const pictures = g.op('Reshape', [imageTokensOf(kit, images), g.ints(1, -1, language.width)]);
  const tokens = g.op('Concat', [pictures, embed(kit, promptIds)], { axis: 1n });
  const length = g.op('Shape', [tokens], { start: 1n, end: 2n });
  const prefix = prefixLayers(kit, maxPositions, tokens, length, causalFrom);
  const fromZero = g.ints(...Array.from({ length: horizon }, (_, h) => h));
  const rotate = rotary(kit, maxPositions, g.op('Add', [fromZero, length]), g.ints(1, -1));
  outputActions(kit, rotate, prefix, noise, modulations);
}

/** The language model over the prefix [1,T,W]; ends with the outputs that concern its last position. */
function prefixLayers(
  kit: Kit,
  maxPositions: number,
  tokens: Value,
  length: Value,
  causalFrom: Value,
): KeysValues[] {
  const { g, c } = kit;
  const { layers, width, heads, headDim, mlp } = c.language;
  const scalar = g.op('Squeeze', [length, g.ints(0)]);
  const zeroToT = g.op('Range', [g.int(0), scalar, g.int(1)]);
  const rotate = rotary(kit, maxPositions, zeroToT, g.ints(1, -1));
  const rotateLast = rotary(kit, maxPositions, g.op('Sub', [length, g.ints(1)]), g.ints(1, -1));
  const mask = prefixMask(kit, zeroToT, causalFrom);
  const last = (x: Value) => g.op('Gather', [x, g.ints(-1)], { axis: 1n });

  let x = tokens;
  const all: KeysValues[] = [];
  for (let i = 0; i < layers; i++) {
    const name = `${LANGUAGE}layers.${i}.`;
    const normed = half(kit, rmsNorm(kit, x, `${name}input_layernorm`));
    const qkv = projections(kit, normed, name, width);
    const k = rotate(qkv.k, 1);
    all.push({ k, v: qkv.v });
    g.output(`new_k_${i}`, single(kit, k), 'float', [1, 'T', headDim]);
    g.output(`new_v_${i}`, single(kit, qkv.v), 'float', [1, 'T', headDim]);
    // of the last layer's queries only that of the last position is wanted, and it sees everything
    const only = i === layers - 1;
    const q = only ? rotateLast(last(qkv.q), heads) : rotate(qkv.q, heads);
    const attended = attention(kit, { q, k, v: qkv.v }, only ? undefined : mask);
    x = addTo(
      kit,
      only ? last(x) : x,
      project(kit, attended, `${name}self_attn.o_proj`, heads * headDim, width),
    );
    const hidden = half(kit, rmsNorm(kit, x, `${name}post_attention_layernorm`));
    x = addTo(kit, x, gatedMlp(kit, hidden, `${name}mlp.`, width, mlp));
  }
  outputCandidates(kit, rmsNorm(kit, x, `${LANGUAGE}norm`));
  return all;
}

function outputCandidates(kit: Kit, x: Value): void {
  const { g, c } = kit;
  const topK = Math.min(TOP_K, c.language.vocab);
  const { top, ids, logSumExp } = candidates(kit, x);
  g.output('top_logits', top, 'float', [1, 1, topK]);
  g.output('top_ids', ids, 'int64', [1, 1, topK]);
  g.output('log_sum_exp', g.op('Squeeze', [logSumExp, g.ints(-1)]), 'float', [1, 1]);
}

/** Adds to scores [1,T·heads,T]: hides a position from those before it, when it is at `causalFrom` or later. */
function prefixMask(kit: Kit, positions: Value, causalFrom: Value): (scores: Value) => Value {
  const { g, c } = kit;
  const { heads } = c.language;
  const before = g.op('LessOrEqual', [positions, g.op('Unsqueeze', [positions, g.ints(-1)])]);
  const visible = g.op('Or', [before, g.op('Less', [positions, causalFrom])]);
  // [T,1,T]: the same for every head
  const mask = g.op('Unsqueeze', [hiding(kit, visible), g.ints(1)]);
  const size = g.op('Shape', [positions]);
  const split = g.op('Concat', [g.ints(-1, heads), size], { axis: 0n });
  const flat = g.op('Concat', [g.ints(1, -1), size], { axis: 0n });
  return all => g.op('Reshape', [g.op('Add', [g.op('Reshape', [all, split]), mask]), flat]);
}

/** Euler steps from noise (t = 1) to actions (t = 0), a float32 state over a prefix that all steps share. */
function outputActions(
  kit: Kit,
  rotate: Rotate,
  prefix: readonly KeysValues[],
  noise: Value,
  modulations: Value,
): void {
  const { g, c } = kit;
  const { horizon, actionDim } = c;
  const steps = g.op('Shape', [modulations], { start: 0n, end: 1n });
  const dt = g.op('Div', [g.scalar(-1), single(kit, steps)]);
  const state = { from: noise, elem: 'float' as const, dims: [1, horizon, actionDim] };
  const [actions] = g.loop(steps, [state], [], (step, [x = '']) => {
    const table = g.op('Gather', [modulations, step], { axis: 0n });
    const v = velocity(kit, rotate, prefix, x, table);
    return { carried: [g.op('Add', [x, g.op('Mul', [v, dt])])], collected: [] };
  });
  g.output('actions', actions as Value, 'float', [1, horizon, actionDim]);
}

/** The action expert at x_t [1,H,A] → v_t in float32. */
function velocity(kit: Kit, rotate: Rotate, prefix: readonly KeysValues[], xt: Value, table: Value): Value {
  const { g, c } = kit;
  const { layers, heads, headDim } = c.language;
  const { width, mlp } = c.expert;
  const rows = (2 * layers + 1) * 3;
  const flat = g.op('Reshape', [table, g.ints(rows, width)]);
  const parts = g.ops('Split', [flat], rows, { axis: 0n, num_outputs: BigInt(rows) });
  const modulation = (norm: number) => parts.slice(3 * norm, 3 * norm + 3) as [Value, Value, Value];
  const adaptiveNorm = (x: Value, scale: Value, shift: Value) => {
    const normed = g.op('RMSNormalization', [x, scale], { axis: -1n, epsilon: c.rmsEps });
    return half(kit, g.op('Add', [normed, shift]));
  };
  const gated = (x: Value, update: Value, gate: Value) =>
    g.op('Add', [x, g.op('Mul', [single(kit, update), gate])]);

  let x = single(kit, linear(kit, half(kit, xt), 'action_in_proj', c.actionDim, width));
  prefix.forEach((past, i) => {
    const name = `${EXPERT}layers.${i}.`;
    const [scale1, shift1, gate1] = modulation(2 * i);
    const [scale2, shift2, gate2] = modulation(2 * i + 1);
    const qkv = projections(kit, adaptiveNorm(x, scale1, shift1), name, width);
    const all = (old: Value, fresh: Value) => g.op('Concat', [old, fresh], { axis: 1n });
    const attended = attention(kit, {
      q: rotate(qkv.q, heads),
      k: all(past.k, rotate(qkv.k, 1)),
      v: all(past.v, qkv.v),
    });
    x = gated(x, project(kit, attended, `${name}self_attn.o_proj`, heads * headDim, width), gate1);
    x = gated(x, gatedMlp(kit, adaptiveNorm(x, scale2, shift2), `${name}mlp.`, width, mlp), gate2);
  });
  const [scale, shift] = modulation(2 * layers);
  return single(kit, linear(kit, adaptiveNorm(x, scale, shift), 'action_out_proj', width, c.actionDim));
}
