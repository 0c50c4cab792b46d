/** Picks the next token from the best candidates. */
import { fold } from './noise';
import type { Candidates } from './ports';
import type { LanguageRequest } from './types';

export type Sampling = Pick<LanguageRequest, 'temperature' | 'topK' | 'topP' | 'samplingSeed'>;

/**
 * Greedy at temperature 0; else a draw from softmax(logits / temperature) over the candidates that top-k and top-p
 * leave, as a pure function of (seed, step), so a restart or another batch draws the same. Top-p counts the model's own
 * probabilities, before the temperature: with the log-sum-exp of all logits that is exact as long as its mass lies
 * within the candidates.
 */
export function sample(next: Candidates, s: Sampling, step: number): number {
  const best = next.ids[0];
  if (best === undefined) throw new RangeError('no candidates');
  if (s.temperature <= 0) return best;
  const top = next.logits[0] as number;
  const weights = Array.from(next.logits.subarray(0, allowed(next, s)), l =>
    Math.exp((l - top) / s.temperature),
  );
  const total = weights.reduce((a, b) => a + b, 0);
  let rest = uniform(s.samplingSeed, step) * total;
  for (let i = 0; i < weights.length; i++) {
    rest -= weights[i] as number;
    if (rest < 0) return next.ids[i] as number;
  }
  return best;
}

/** The draw of a step, in [0, 1). All 53 bits of a seed count; a small one draws as if it had 32. */
export function uniform(samplingSeed: number, step: number): number {
  const high = Math.floor(samplingSeed / 2 ** 32);
  const state = fold(0x51ed270b, samplingSeed);
  return fold(high === 0 ? state : fold(state, high), step) / 2 ** 32;
}

/** How many of the best candidates may be drawn, at least one. */
function allowed({ logits, logSumExp }: Candidates, { topK, topP }: Sampling): number {
  const most = topK > 0 ? Math.min(topK, logits.length) : logits.length;
  if (topP >= 1) return most;
  let mass = 0;
  for (let i = 0; i < most; i++) {
    mass += Math.exp((logits[i] as number) - logSumExp);
    if (mass >= topP) return i + 1;
  }
  return most;
}
