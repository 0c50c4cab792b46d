/** A bench block for tests of executors: a few frames, one short text each. */
import { parseArrivals } from '../../src/bench/arrivals';
import type { Block } from '../../src/bench/workload';
import type { TokensPerFrame } from '../../src/core/types';

export const fixed = (steps: number): TokensPerFrame => ({ kind: 'fixed', steps });

export const SMALL_BLOCK: Omit<Block, 'tokens' | 'frames'> = {
  mode: 'oxygen',
  tokensPerFrame: fixed(3),
  denoiseSteps: 3,
  arrivals: parseArrivals('uniform:1'),
  seed: 5,
  first: 100,
  warmUp: 2,
  executeMs: 30,
  paced: false,
};

/** A frame is always at hand. */
export const HOOKS = { frame: (ready: () => void) => ready() };
