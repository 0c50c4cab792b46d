/** How far computed numbers may be from golden ones. */
import type { Manifest } from '../model/manifest';
import type { ComparedKind } from './golden';

/** `max`: largest absolute difference; `rms`: root mean square difference as a share of the golden's standard deviation. */
export interface Limit {
  readonly metric: 'max' | 'rms';
  readonly value: number;
}

/**
 * For float32 engines, by kind and witness. Tokens must be equal. goldens_f64 is the truth; the float32 witnesses are off
 * by their own rounding, lerobot and JAX mostly by that of the time embedding (periods down to 0.004).
 */
export function exactLimit(kind: ComparedKind, file: string): Limit {
  const jax = file.includes('jax') || file.startsWith('batched');
  const lerobot = file.includes('lerobot');
  const torch = file.includes('torch');
  const max = (value: number): Limit => ({ metric: 'max', value });
  switch (kind) {
    case 'lang.tokens':
    case 'cont.tokens':
    case 'prompt_emb':
      return max(0);
    case 'image_emb':
      return max(2e-5);
    case 'prefix_k':
      return max(2e-4);
    case 'prefix_v':
      return max(5e-5);
    case 'lang.logits':
    case 'cont.logits':
      return max(jax ? 2e-4 : 1e-4);
    case 'v_t':
      return max(jax ? 2e-3 : torch ? 2e-4 : 1e-4);
    case 'actions':
    case 'actions_ns':
    case 'actions_unnormalized':
    case 'x_t':
      return max(jax ? 5e-4 : lerobot ? 4e-4 : torch ? 2e-4 : 1e-4);
  }
}

/** What was rounded: `weights` to 8 bits or bfloat16, `half` weights and products to float16. */
export type Rounding = 'weights' | 'half';

/** The rounding of an engine that is not the exact one. */
export const roundingOf = ({ precision }: Pick<Manifest, 'precision'>): Rounding =>
  precision === 'fp16' ? 'half' : 'weights';

/** For engines that are not the exact one. */
export const limitOf = (kind: ComparedKind, rounding: Rounding): Limit =>
  rounding === 'half' ? halfLimit(kind) : roundedLimit(kind);

/**
 * For engines in float16: 11 bits of weights, factors, keys and values; sums, norms and softmax in float32. Measured on
 * the golden and bench models, root mean square: keys and values up to 0.18 %, chunks 0.1 % (one in a hundred 0.7 %), logits
 * up to 0.67 % (of the best 64 only, whose spread is a third of all logits'). Tokens as in roundedLimit.
 */
export function halfLimit(kind: ComparedKind): Limit {
  const rms = (value: number): Limit => ({ metric: 'rms', value });
  switch (kind) {
    case 'lang.tokens':
    case 'cont.tokens':
      return { metric: 'max', value: 0.02 };
    case 'prompt_emb':
    case 'image_emb':
    case 'prefix_k':
    case 'prefix_v':
      return rms(0.005);
    case 'v_t':
    case 'actions':
    case 'actions_ns':
    case 'actions_unnormalized':
    case 'x_t':
    case 'lang.logits':
    case 'cont.logits':
      return rms(0.015);
  }
}

/**
 * Of an action's standard deviation: for one chunk, and for all chunks of a comparison together. Real and bench sizes
 * reach 1.7 %; toy models of a dozen dimensions, and begin tokens with massive activations, need the room.
 */
export const ROUNDED_CHUNK = 0.08;
export const ROUNDED_ACTIONS = 0.05;

/**
 * For engines whose weights were rounded (int8, or a bfloat16 copy of the goldens' checkpoint). Every golden token is fed, so
 * errors do not add up over a text; the token that the engine would have chosen counts as right when the golden logits
 * have it nearly as high as the best, measured in their standard deviations. (The golden `bf16w.*` come from a model whose
 * rotary frequencies were rounded to bfloat16 as well; with such frequencies their logits are ours within 1.4e-5.)
 */
export function roundedLimit(kind: ComparedKind): Limit {
  const rms = (value: number): Limit => ({ metric: 'rms', value });
  switch (kind) {
    case 'lang.tokens':
    case 'cont.tokens':
      return { metric: 'max', value: 0.3 };
    case 'prompt_emb':
      return rms(0.005);
    case 'image_emb':
    case 'prefix_k':
    case 'prefix_v':
    case 'v_t':
      return rms(0.1);
    case 'lang.logits':
    case 'cont.logits':
      return rms(0.1);
    case 'actions':
    case 'actions_ns':
    case 'actions_unnormalized':
    case 'x_t':
      return rms(ROUNDED_CHUNK);
  }
}

export interface Distance {
  /** Largest absolute difference; NaN when a value is NaN. */
  readonly max: number;
  /** Of the difference, over the standard deviation of the golden values. */
  readonly rms: number;
  readonly cosine: number;
  /** Sums of squares: of the golden values around their mean, and of the differences. */
  readonly spread: number;
  readonly error: number;
}

/** Tokens have only a largest difference. */
export const tokenDistance = (max: number): Distance => ({ max, rms: NaN, cosine: NaN, spread: 0, error: 0 });

/** Distance of two lists of the same length. */
export function distance(golden: ArrayLike<number>, computed: ArrayLike<number>): Distance {
  const n = golden.length;
  let [sum, squares, others, products, differences, max] = [0, 0, 0, 0, 0, 0];
  for (let i = 0; i < n; i++) {
    const [g, c] = [golden[i] as number, computed[i] as number];
    const d = Math.abs(g - c);
    // NaN must not pass as "not larger"
    if (!(d <= max)) max = d;
    sum += g;
    squares += g * g;
    others += c * c;
    products += g * c;
    differences += d * d;
  }
  const variance = squares / n - (sum / n) ** 2;
  // a constant golden has no spread to compare with: then by its size
  const scale = variance > 1e-12 * (squares / n) ? variance : squares / n;
  const rms = differences === 0 ? 0 : Math.sqrt(differences / n / scale);
  const cosine = differences === 0 ? 1 : products / Math.sqrt(squares * others);
  return { max, rms, cosine, spread: scale * n, error: differences };
}

/**
 * How far below the best tokens the logits have others at most, in each row's standard deviations. `logits` [steps or
 * more, vocab]; a token that is not there counts as NaN.
 */
export function furthestBehind(
  logits: Float32Array | Float64Array,
  vocab: number,
  best: ArrayLike<number>,
  tokens: ArrayLike<number>,
): number {
  let max = 0;
  for (let step = 0; step < best.length; step++) {
    const row = logits.subarray(step * vocab, (step + 1) * vocab);
    const behind = behindBest(row, best[step] as number, tokens[step] ?? NaN);
    if (!(behind <= max)) max = behind;
  }
  return max;
}

/** How far `token` is below `best` in a row of logits, in the row's standard deviations. */
export function behindBest(logits: ArrayLike<number>, best: number, token: number): number {
  const n = logits.length;
  let [sum, squares] = [0, 0];
  for (let i = 0; i < n; i++) {
    sum += logits[i] as number;
    squares += (logits[i] as number) ** 2;
  }
  const deviation = Math.sqrt(squares / n - (sum / n) ** 2);
  return ((logits[best] as number) - (logits[token] as number)) / deviation;
}
