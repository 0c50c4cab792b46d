/**
 * Deterministic weights by formula: benches and scale runs need no file, and every value can be recomputed alone.
 * value[i] = fround(offset + scale·√3·(2u − 1)), u = (hash(i, name, seed) >>> 8) / 2^24.
 */

import { elements } from '../model/tensors';

/** (offset, scale) by the first rule that fits; chosen so that activations stay in a realistic range. */
export function formulaScale(name: string, shape: readonly number[]): { offset: number; scale: number } {
  const last = shape[shape.length - 1] ?? 1;
  const into = shape[1] ?? 1;
  const is = (suffix: string) => name.endsWith(suffix);
  const rms = (gain: number, fan: number) => ({ offset: 0, scale: gain / Math.sqrt(fan) });
  if (is('.dense.weight')) return rms(0.7, into);
  if (is('.dense.bias')) return { offset: 0.1, scale: 0.4 };
  if (is('lm_head.weight')) return rms(0.6, into);
  if (is('language_model.norm.weight')) return { offset: 3, scale: 0.5 };
  if (is('position_embedding.weight')) return { offset: 0, scale: 0.3 };
  if (is('patch_embedding.weight')) return rms(1.5, into * (shape[2] ?? 1) * (shape[3] ?? 1));
  const visionNorm = name.includes('vision_model') && /(layer_norm\d|post_layernorm)\./.test(name);
  if (visionNorm && is('.weight')) return { offset: 1, scale: 0.3 };
  if (visionNorm && is('.bias')) return { offset: 0, scale: 0.2 };
  if (is('layernorm.weight') || is('norm.weight')) return { offset: 0.05, scale: 0.25 };
  if (is('.bias')) return { offset: 0, scale: 0.1 };
  if (is('o_proj.weight') || is('out_proj.weight')) return rms(1.6, into);
  if (is('down_proj.weight')) return rms(4, into);
  if (is('q_proj.weight') || is('k_proj.weight')) return rms(1.3, into);
  return shape.length > 1 ? rms(1.1, last) : { offset: 0, scale: 1.1 };
}

/** The tensor's values; about 10 ns each. */
export const formulaTensor = (name: string, shape: readonly number[], seed: number): Float32Array =>
  formulaRows(name, shape, seed, 0, shape[0] ?? 1);

/** `count` rows of the first axis, from row `first` on. */
export function formulaRows(
  name: string,
  shape: readonly number[],
  seed: number,
  first: number,
  count: number,
): Float32Array {
  const { offset, scale } = formulaScale(name, shape);
  const base = (fnv1a32(name) ^ Math.imul(seed, 0x85ebca6b)) >>> 0;
  const amplitude = scale * Math.sqrt(3);
  const row = elements(shape.slice(1));
  const values = new Float32Array(count * row);
  for (let i = 0; i < values.length; i++) {
    const u = (fmix32((Math.imul(first * row + i, 0x9e3779b1) + base) >>> 0) >>> 8) / 2 ** 24;
    values[i] = offset + amplitude * (2 * u - 1);
  }
  return values;
}

function fnv1a32(text: string): number {
  let h = 0x811c9dc5;
  for (const byte of Buffer.from(text, 'utf8')) h = Math.imul(h ^ byte, 0x01000193);
  return h >>> 0;
}

function fmix32(x: number): number {
  let h = x ^ (x >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
