import { frameNoise } from '../../src/core/noise';
import { sample, uniform, type Sampling } from '../../src/core/sampler';

describe('sample', () => {
  const next = {
    ids: [7, 3, 9],
    logits: Float32Array.of(2, 1, 0),
    logSumExp: Math.log(Math.E ** 2 + Math.E + 1),
  };

  const draw = (step: number, more: Partial<Sampling> = {}) =>
    sample(next, { temperature: 1, topK: 0, topP: 1, samplingSeed: 5, ...more }, step);
  const text = (more: Partial<Sampling> = {}, steps = 200) =>
    Array.from({ length: steps }, (_, step) => draw(step, more));
  const p = next.ids.map((_, i) => Math.exp((next.logits[i] as number) - next.logSumExp));

  it('takes the best candidate at temperature 0', () => {
    expect(draw(4, { temperature: 0, samplingSeed: 123 })).toBe(7);
  });

  it.each<[string, Partial<Sampling>, number[]]>([
    ['softmax', {}, p],
    ['top-k 2, renormalised', { topK: 2 }, [p[0]! / (p[0]! + p[1]!), p[1]! / (p[0]! + p[1]!), 0]],
    ['top-k beyond the candidates', { topK: 99 }, p],
    ['top-k 1', { topK: 1 }, [1, 0, 0]],
    // 0.665 + 0.245 + 0.090
    ['top-p 0.7: two are needed', { topP: 0.7 }, [p[0]! / (p[0]! + p[1]!), p[1]! / (p[0]! + p[1]!), 0]],
    ['top-p 0.6: the best one is enough', { topP: 0.6 }, [1, 0, 0]],
    ['top-p 0.95: all', { topP: 0.95 }, p],
    ['top-p 0.95 and top-k 1', { topP: 0.95, topK: 1 }, [1, 0, 0]],
    // The temperature flattens what is drawn, not what top-p leaves.
    ['top-p 0.6 at temperature 9', { topP: 0.6, temperature: 9 }, [1, 0, 0]],
  ])('draws with the probabilities of %s', (_, more, expected) => {
    const draws = text(more, 20_000);
    next.ids.forEach((id, i) => {
      const share = draws.filter(d => d === id).length / draws.length;
      if (expected[i] === 0) expect(share).toBe(0);
      else expect(Math.abs(share - expected[i]!)).toBeLessThan(0.012);
    });
  });

  it('top-p counts the mass of all logits, not of the candidates alone', () => {
    // Half of the mass lies outside: 0.33, 0.12 and 0.05 are left, and 0.4 needs two of them.
    const wide = { ...next, logSumExp: next.logSumExp + Math.log(2) };
    const drawn = new Set(
      Array.from({ length: 2000 }, (_, step) =>
        sample(wide, { temperature: 1, topK: 0, topP: 0.4, samplingSeed: 1 }, step),
      ),
    );
    expect([...drawn].sort()).toEqual([3, 7]);
  });

  it('is a function of seed and step alone', () => {
    expect(text({ samplingSeed: 1 })).toEqual(text({ samplingSeed: 1 }));
    expect(text({ samplingSeed: 1 })).not.toEqual(text({ samplingSeed: 2 }));
    expect(new Set(text({ samplingSeed: 1 })).size).toBe(3);
  });

  it('draws otherwise for every bit of the seed, 53 of them', () => {
    const seeds = [0, ...Array.from({ length: 53 }, (_, bit) => 2 ** bit)].flatMap(seed => [seed, seed + 7]);
    const different = new Set(seeds).size;
    expect(new Set(seeds.map(seed => uniform(seed, 0))).size).toBe(different);
    expect(new Set(seeds.map(seed => text({ samplingSeed: seed }, 60).join())).size).toBe(different);
  });

  it('a seed of 32 bits draws what it has always drawn', () => {
    const draws = [0, 7, 2 ** 31, 2 ** 32 - 1].flatMap(seed =>
      [0, 5].map(step => uniform(seed, step) * 2 ** 32),
    );
    expect(draws).toEqual([
      1145877880, 1456207453, 1247364741, 3477129529, 2796424033, 2692603757, 697789835, 3174752593,
    ]);
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
