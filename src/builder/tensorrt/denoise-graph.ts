/**
 * denoise.onnx for TensorRT: noise [1,H,A], modulations [S,2L+1,3W] (each row: 1+scale, shift, gate), prefix K/V [1,P,hd]
 * per layer → actions [1,H,A] after all S Euler steps. Every action sees the whole prefix and all actions.
 *
 * The steps are unrolled, not a loop and not a run each: the prefix is then uploaded once per frame and not S times, and
 * TensorRT plans and fuses a graph of fixed shapes without control flow. The price is a longer build and that S is fixed.
 */
import type { ModelConfig } from '../../model/config';
import { EXPERT } from '../../model/tensors';
import type { Graph, Value } from '../graph';
import { attention, gatedMlp, projections, rms, rotaryRows, rotate, type Rotary } from './blocks';
import type { Layers } from './layers';

interface Kv {
  readonly k: Value;
  readonly v: Value;
}

/** `maxPositions`: of the longest prefix and the chunk together. */
export function buildTensorRtDenoise(g: Graph, l: Layers, c: ModelConfig, maxPositions: number): void {
  const { layers, headDim } = c.language;
  const { horizon, actionDim, denoiseSteps: steps } = c;
  const norms = 2 * layers + 1;
  const noise = g.input('noise', 'float', [1, horizon, actionDim]);
  const modulations = g.input('modulations', 'float', [steps, norms, 3 * c.expert.width]);
  const past = Array.from({ length: layers }, (_, i) => ({
    k: g.input(`past_k_${i}`, 'float', [1, 'P', headDim]),
    v: g.input(`past_v_${i}`, 'float', [1, 'P', headDim]),
  }));

  const start = g.op('Shape', [past[0]?.k ?? ''], { start: 1n, end: 2n });
  const end = g.op('Add', [start, g.ints(horizon)]);
  const rotary = fixedRows(g, c, rotaryRows(g, l, c, maxPositions, start, end));
  // cast once, not in every step
  const ready = past.map(({ k, v }) => ({ k: l.ready(k), v: l.ready(v) }));
  const dt = g.scalar(Math.fround(-1 / steps));
  let x = noise;
  for (let s = 0; s < steps; s++) {
    const row = g.op('Slice', [modulations, g.ints(s), g.ints(s + 1), g.ints(0)]);
    const v = velocity(g, l, c, x, row, ready, rotary);
    x = g.op('Add', [x, g.op('Mul', [v, dt])]);
  }
  g.output('actions', x, 'float', [1, horizon, actionDim]);
}

/** A slice between two computed places has a length that only we know. */
function fixedRows(g: Graph, c: ModelConfig, { cos, sin }: Rotary): Rotary {
  const shape = g.ints(c.horizon, 1, c.language.headDim / 2);
  return { cos: g.op('Reshape', [cos, shape]), sin: g.op('Reshape', [sin, shape]) };
}

/** One step: x_t [1,H,A] and its modulations [1,2L+1,3W] → v_t [1,H,A]. */
function velocity(
  g: Graph,
  l: Layers,
  c: ModelConfig,
  xt: Value,
  modulations: Value,
  past: readonly Kv[],
  rotary: Rotary,
): Value {
  const { layers, heads, headDim } = c.language;
  const { width, mlp } = c.expert;
  const rows = (2 * layers + 1) * 3;
  const flat = g.op('Reshape', [modulations, g.ints(1, rows, width)]);
  const sizes = g.ints(...new Array<number>(rows).fill(1));
  const parts = g.ops('Split', [flat, sizes], rows, { axis: 1n });
  const modulation = (norm: number) => parts.slice(3 * norm, 3 * norm + 3) as [Value, Value, Value];
  const adaptiveNorm = (x: Value, scale: Value, shift: Value) =>
    g.op('Add', [g.op('Mul', [rms(g, c, x), scale]), shift]);

  let x = l.linear(xt, 'action_in_proj', c.actionDim, width);
  past.forEach((kv, i) => {
    const prefix = `${EXPERT}layers.${i}.`;
    const [scale1, shift1, gate1] = modulation(2 * i);
    const [scale2, shift2, gate2] = modulation(2 * i + 1);
    const { q, k, v } = projections(g, l, c, adaptiveNorm(x, scale1, shift1), prefix, width, rotary);
    const joined = (before: Value, here: Value) => l.moved('Concat', [before, here], [], { axis: 1n });
    const turned = rotate(g, c, q, heads, rotary);
    const attended = attention(g, l, c, turned, joined(kv.k, k), joined(kv.v, v));
    const out = l.project(attended, `${prefix}self_attn.o_proj`, heads * headDim, width);
    x = g.op('Add', [x, g.op('Mul', [out, gate1])]);
    const hidden = gatedMlp(g, l, adaptiveNorm(x, scale2, shift2), `${prefix}mlp.`, width, mlp);
    x = g.op('Add', [x, g.op('Mul', [hidden, gate2])]);
  });
  const [scale, shift] = modulation(2 * layers);
  return l.linear(adaptiveNorm(x, scale, shift), 'action_out_proj', width, c.actionDim);
}
