/** Picks the next token from the best candidates. */
import { fold } from './noise';
import type { Candidates } from './ports';

/**
 * Greedy at temperature 0; else a draw from softmax(logits / temperature) over the candidates, as a pure function of
 * (seed, step), so a restart or another batch draws the same.
 */
export function sample(next: Candidates, temperature: number, seed: number, step: number): number {
  const best = next.ids[0];
  if (best === undefined) throw new RangeError('no candidates');
  if (temperature <= 0) return best;
  const top = next.logits[0] as number;
  const weights = Array.from(next.logits, l => Math.exp((l - top) / temperature));
  const total = weights.reduce((a, b) => a + b, 0);
  let rest = (fold(fold(0x51ed270b, seed), step) / 2 ** 32) * total;
  for (let i = 0; i < weights.length; i++) {
    rest -= weights[i] as number;
    if (rest < 0) return next.ids[i] as number;
  }
  return best;
}
