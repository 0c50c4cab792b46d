/** When language requests arrive and how long they are: the paper's patterns, as functions of the frame's number. */
import { OxygenError } from '../core/errors';
import { fold } from '../core/noise';

export type Arrivals =
  /** `rate` requests per frame, evenly; below 1 some frames have none. */
  | { readonly kind: 'uniform'; readonly rate: number }
  /** As many as a Poisson distribution of this mean gives. */
  | { readonly kind: 'poisson'; readonly mean: number }
  /** `requests` at once, every so many frames. */
  | { readonly kind: 'bursty'; readonly requests: number; readonly frames: number }
  /** One per frame, of one of two lengths; `share` of them long. */
  | { readonly kind: 'random'; readonly short: number; readonly long: number; readonly share: number }
  | { readonly kind: 'none' };

const FORMS = 'uniform:RATE, poisson:MEAN, bursty:REQUESTS/FRAMES or random:SHORT,LONG@SHARE_OF_LONG';
/** Requests per frame beyond which a frame is no frame any more. */
const MAX_RATE = 64;
const MAX_TOKENS = 100_000;

/** Reads what the command line says, e.g. `uniform:0.5`. Throws USAGE with the cure. */
export function parseArrivals(text: string): Arrivals {
  const wrong = (why: string) =>
    new OxygenError(
      'USAGE',
      `--arrivals ${JSON.stringify(text)}: ${why}; wanted is ${FORMS}, e.g. uniform:1, uniform:0.5, poisson:1.5, ` +
        'bursty:4/8 or random:5,20@0.5',
    );
  const number = (part: string | undefined, what: string, min: number, max: number) => {
    const value = Number(part);
    if (part !== undefined && /^[\d.]+$/.test(part) && value >= min && value <= max) return value;
    throw wrong(`${what} must be a number from ${min} to ${max}`);
  };
  const whole = (part: string | undefined, what: string, max: number) => {
    const value = number(part, what, 1, max);
    if (Number.isInteger(value)) return value;
    throw wrong(`${what} must be whole`);
  };
  const [, kind, rest = ''] = /^([a-z]+):(.+)$/.exec(text) ?? [];
  switch (kind) {
    case 'uniform':
      return { kind, rate: number(rest, 'the rate', 0.01, MAX_RATE) };
    case 'poisson':
      return { kind, mean: number(rest, 'the mean', 0.01, MAX_RATE) };
    case 'bursty': {
      const [requests, frames, more] = rest.split('/');
      if (more !== undefined) throw wrong('there is one / too many');
      return {
        kind,
        requests: whole(requests, 'the number of requests', MAX_RATE),
        frames: whole(frames, 'the number of frames', 1000),
      };
    }
    case 'random': {
      const [, short, long, share] = /^([^,@]+),([^,@]+)@([^,@]+)$/.exec(rest) ?? [];
      const random = {
        kind,
        short: whole(short, 'the short length', MAX_TOKENS),
        long: whole(long, 'the long length', MAX_TOKENS),
        share: number(share, 'the share', 0, 1),
      } as const;
      if (random.short > random.long) throw wrong('the short length is larger than the long one');
      return random;
    }
    default:
      throw wrong('there is no such pattern');
  }
}

/** Tokens of the longest request. */
export const longest = (a: Arrivals, tokens: number): number => (a.kind === 'random' ? a.long : tokens);

/** Requests per frame in the long run. */
export function meanRate(a: Arrivals): number {
  switch (a.kind) {
    case 'uniform':
      return a.rate;
    case 'poisson':
      return a.mean;
    case 'bursty':
      return a.requests / a.frames;
    case 'random':
      return 1;
    case 'none':
      return 0;
  }
}

/** The requests that come with a frame, by their number of tokens. The same for the same seed, in any order of asking. */
export function arrivalsAt(a: Arrivals, frame: number, tokens: number, seed: number): number[] {
  switch (a.kind) {
    case 'uniform':
      return repeated(Math.ceil((frame + 1) * a.rate) - Math.ceil(frame * a.rate), tokens);
    case 'poisson':
      return repeated(poisson(a.mean, draws(seed, frame)), tokens);
    case 'bursty':
      return repeated(frame % a.frames === 0 ? a.requests : 0, tokens);
    case 'random':
      return [draws(seed, frame)() < a.share ? a.long : a.short];
    case 'none':
      return [];
  }
}

/**
 * What the frames before `first` have left over when each brought k steps: the first token comes without a step, so a
 * request of n tokens needs n - 1. Gives the tokens that each has yet to say plus the one it said last.
 */
export function backlog(a: Arrivals, first: number, tokens: number, k: number, seed: number): number[] {
  const left: number[] = [];
  for (let age = 1; longest(a, tokens) - age * k > 1; age++) {
    for (const n of arrivalsAt(a, first - age, tokens, seed)) if (n - age * k > 1) left.push(n - age * k);
  }
  return left;
}

/** The most requests that are active at a time while `frames` frames bring k steps each. */
export function peakRows(
  a: Arrivals,
  first: number,
  frames: number,
  tokens: number,
  k: number,
  seed: number,
): number {
  const rows = Array.from(
    { length: frames },
    (_, i) => arrivalsAt(a, first + i, tokens, seed).length + backlog(a, first + i, tokens, k, seed).length,
  );
  return Math.max(1, ...rows);
}

const repeated = (count: number, tokens: number): number[] => new Array<number>(count).fill(tokens);

/** Uniform numbers in (0, 1] that depend on seed and frame only. */
function draws(seed: number, frame: number): () => number {
  const key = fold(fold(0x6a09e667, seed), frame);
  let n = 0;
  return () => (fold(key, n++) + 1) / 2 ** 32;
}

/** Knuth's method: how many uniform numbers can be multiplied before the product is below exp(-mean). */
function poisson(mean: number, draw: () => number): number {
  const limit = Math.exp(-mean);
  let count = 0;
  for (let product = draw(); product > limit; product *= draw()) count++;
  return count;
}
