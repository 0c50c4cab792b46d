/** Patterns of arrivals, as the command line writes them, in words. */
import { percent } from '../../report/numbers';

/** `random:5,20@0.3` → `5 or 20 tokens, 30 % of them 20`. What is not understood stays as it is. */
export function inWords(arrivals: string): string {
  const { kind, values } = patternOf(arrivals);
  const [a = 0, b = 0, share = 0] = values;
  switch (kind) {
    case 'uniform':
      return `${a} ${a === 1 ? 'request' : 'requests'} per frame`;
    case 'poisson':
      return `${a} per frame on average`;
    case 'bursty':
      return `${a} requests every ${b} frames`;
    case 'random':
      return `${a} or ${b} tokens, ${percent(share)} of them ${b}`;
    default:
      return arrivals;
  }
}

/** `bursty:4/8` → bursty, [4, 8]. */
export function patternOf(arrivals: string): { readonly kind: string; readonly values: readonly number[] } {
  const [, kind, rest = ''] = /^([a-z]+):([\d.,/@]+)$/.exec(arrivals) ?? [];
  const values = rest.split(/[,/@]/).map(Number);
  return kind === undefined || values.some(v => !Number.isFinite(v))
    ? { kind: 'other', values: [] }
    : { kind, values };
}
