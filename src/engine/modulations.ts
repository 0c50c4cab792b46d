/**
 * The action expert's adaptive norms depend on the denoise time only, so their scale, shift and gate are computed once
 * per number of steps, in float64.
 */
import type { ModelConfig } from '../model/config';
import { EXPERT } from '../model/tensors';

type Read = (name: string) => Float32Array;

/** Sine-cosine embedding of a time in [0, 1], [width]: periods from minPeriod to maxPeriod, geometric. */
export function timeEmbedding(t: number, width: number, minPeriod: number, maxPeriod: number): Float64Array {
  const half = width / 2;
  const e = new Float64Array(width);
  for (let i = 0; i < half; i++) {
    const period = minPeriod * (maxPeriod / minPeriod) ** (half > 1 ? i / (half - 1) : 0);
    e[i] = Math.sin((2 * Math.PI * t) / period);
    e[half + i] = Math.cos((2 * Math.PI * t) / period);
  }
  return e;
}

/** The expert's condition vector at time t, [width]. */
export function timeCondition(c: ModelConfig, read: Read, t: number): Float64Array {
  const hidden = silu(
    affine(read, 'time_mlp_in', timeEmbedding(t, c.expert.width, c.minPeriod, c.maxPeriod)),
  );
  return silu(affine(read, 'time_mlp_out', hidden));
}

/**
 * The times at which the expert is evaluated: from 1 (noise) down, accumulated in float32 as openpi does. The rounding
 * matters: the shortest period is 0.004, so a time error of 1e-7 moves the embedding by 2e-4.
 */
export function denoiseTimes(steps: number): number[] {
  const dt = Math.fround(-1 / steps);
  const times = [1];
  while (times.length < steps) times.push(Math.fround((times.at(-1) as number) + dt));
  return times;
}

/** Per step [2L+1, 3W] flat: rows are input norm and post-attention norm of each layer, then the final norm; 1+scale, shift, gate. */
export function modulations(c: ModelConfig, read: Read, steps: number): Float32Array[] {
  const { width } = c.expert;
  const names = Array.from({ length: c.language.layers }, (_, i) => [
    `${EXPERT}layers.${i}.input_layernorm.dense`,
    `${EXPERT}layers.${i}.post_attention_layernorm.dense`,
  ]).flat();
  names.push(`${EXPERT}norm.dense`);
  const conditions = denoiseTimes(steps).map(t => timeCondition(c, read, t));
  const tables = conditions.map(() => new Float32Array(names.length * 3 * width));
  names.forEach((name, row) => {
    const [weight, bias] = [read(`${name}.weight`), read(`${name}.bias`)];
    conditions.forEach((condition, s) => {
      const out = product(weight, bias, condition);
      for (let i = 0; i < width; i++) out[i] = (out[i] as number) + 1;
      (tables[s] as Float32Array).set(out, row * 3 * width);
    });
  });
  return tables;
}

/** All steps in one table, [S, 2L+1, 3W] flat. */
export function modulationTable(c: ModelConfig, read: Read, steps: number): Float32Array {
  const tables = modulations(c, read, steps);
  const size = tables[0]?.length ?? 0;
  const all = new Float32Array(steps * size);
  for (const [step, table] of tables.entries()) all.set(table, step * size);
  return all;
}

const affine = (read: Read, name: string, x: Float64Array) =>
  product(read(`${name}.weight`), read(`${name}.bias`), x);

/** W·x + b with W [out, in]. */
function product(weight: Float32Array, bias: Float32Array, x: Float64Array): Float64Array {
  const out = new Float64Array(bias.length);
  for (let o = 0; o < out.length; o++) {
    let sum = bias[o] as number;
    for (let i = 0; i < x.length; i++) sum += (weight[o * x.length + i] as number) * (x[i] as number);
    out[o] = sum;
  }
  return out;
}

const silu = (x: Float64Array): Float64Array => x.map(v => v / (1 + Math.exp(-v)));
