/**
 * expert.onnx: one Euler step of the action expert. x_t [1,H,A], modulations [2L+1,3W] (each row: 1+scale, shift, gate),
 * prefix K/V [1,S,hd] per layer, positions [1,H] → v_t [1,H,A]. Every action sees the whole prefix and all actions.
 */
import type { ModelConfig } from '../model/config';
import { EXPERT } from '../model/tensors';
import type { Graph, Value } from './graph';
import { gatedMlp, gateUpTogether, linear, project, projections, rotary, attention } from './pi05-blocks';
import type { Products } from './products';

/** `exact` makes the small products at the border in float32. */
export function buildExpert(
  g: Graph,
  p: Products,
  exact: Products,
  c: ModelConfig,
  maxPositions: number,
): void {
  const { layers, heads, headDim } = c.language;
  const { width, mlp } = c.expert;
  const xt = g.input('x_t', 'float', [1, c.horizon, c.actionDim]);
  const modulations = g.input('modulations', 'float', [2 * layers + 1, 3 * width]);
  const positions = g.input('positions', 'int64', [1, c.horizon]);
  const past = Array.from({ length: layers }, (_, i) => ({
    k: g.input(`past_k_${i}`, 'float', [1, 'S', headDim]),
    v: g.input(`past_v_${i}`, 'float', [1, 'S', headDim]),
  }));

  const rotate = rotary(g, c, maxPositions);
  const rows = (2 * layers + 1) * 3;
  const flat = g.op('Reshape', [modulations, g.ints(rows, width)]);
  const parts = g.ops('Split', [flat], rows, { axis: 0n, num_outputs: BigInt(rows) });
  const modulation = (norm: number) => parts.slice(3 * norm, 3 * norm + 3) as [Value, Value, Value];
  const adaptiveNorm = (x: Value, scale: Value, shift: Value) =>
    g.op('Add', [g.op('RMSNormalization', [x, scale], { axis: -1n, epsilon: c.rmsEps }), shift]);
  const past0 = past[0] as { k: Value };
  const sizes = g.op('Concat', [g.op('Shape', [past0.k], { start: 1n, end: 2n }), g.ints(c.horizon)], {
    axis: 0n,
  });

  let x = linear(g, exact, xt, 'action_in_proj', c.actionDim, width);
  past.forEach(({ k: pastK, v: pastV }, i) => {
    const prefix = `${EXPERT}layers.${i}.`;
    const [scale1, shift1, gate1] = modulation(2 * i);
    const [scale2, shift2, gate2] = modulation(2 * i + 1);
    const qkv = projections(g, p, c, adaptiveNorm(x, scale1, shift1), prefix, width, rotate, positions);
    const attended = attention(g, c, {
      q: qkv.q,
      newK: qkv.k,
      newV: qkv.v,
      pastK,
      pastV,
      sizes,
    });
    const out = project(g, p, attended, `${prefix}self_attn.o_proj`, heads * headDim, width);
    x = g.op('Add', [x, g.op('Mul', [out, gate1])]);
    const gateUp = gateUpTogether(g, p, adaptiveNorm(x, scale2, shift2), `${prefix}mlp.`, width, mlp);
    const hidden = gatedMlp(g, p, gateUp, `${prefix}mlp.`, width, mlp);
    x = g.op('Add', [x, g.op('Mul', [hidden, gate2])]);
  });
  const [scale, shift] = modulation(2 * layers);
  const v = linear(g, exact, adaptiveNorm(x, scale, shift), 'action_out_proj', width, c.actionDim);
  g.output('v_t', v, 'float', [1, c.horizon, c.actionDim]);
}
