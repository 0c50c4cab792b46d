import fc from 'fast-check';
import { frameNoise } from '../../src/core/noise';
import { sample } from '../../src/core/sampler';

describe('sample', () => {
  const next = {
    ids: [7, 3, 9],
    logits: Float32Array.of(2, 1, 0),
    logSumExp: Math.log(Math.E ** 2 + Math.E + 1),
  };

  it('takes the best candidate at temperature 0', () => {
    expect(sample(next, 0, 123, 4)).toBe(7);
  });
  it('draws with the probabilities of the softmax', () => {
    const draws = Array.from({ length: 20_000 }, (_, step) => sample(next, 1, 5, step));
    next.ids.forEach((id, i) => {
      const p = Math.exp((next.logits[i] as number) - next.logSumExp);
      expect(draws.filter(d => d === id).length / draws.length).toBeCloseTo(p, 1.7);
    });
  });
  it('is a function of seed and step alone', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.nat(),
        (seed, step) => sample(next, 0.7, seed, step) === sample(next, 0.7, seed, step),
      ),
    );
    const text = (seed: number) =>
      Array.from({ length: 40 }, (_, step) => sample(next, 1, seed, step)).join();
    expect(text(1)).not.toBe(text(2));
  });
});

describe('frameNoise', () => {
  it('is standard normal', () => {
    const noise = frameNoise(1n, 2n, 100_000);
    const mean = noise.reduce((a, b) => a + b, 0) / noise.length;
    const moment = (p: number) => noise.reduce((a, b) => a + (b - mean) ** p, 0) / noise.length;
    expect(mean).toBeCloseTo(0, 1.5);
    expect(moment(2)).toBeCloseTo(1, 1.5);
    expect(moment(4)).toBeCloseTo(3, 0.7);
  });
  it('depends on seed and stamp, all 64 bits of both', () => {
    const first = (seed: bigint, stamp: bigint) => frameNoise(seed, stamp, 4).join();
    const seen = new Set([
      first(0n, 0n),
      first(1n, 0n),
      first(0n, 1n),
      first(1n << 40n, 0n),
      first(0n, 1n << 40n),
      first(1n, 1n),
    ]);
    expect(seen.size).toBe(6);
    expect(first(3n, 4n)).toBe(first(3n, 4n));
  });
});
