/**
 * Counter-based gaussian noise: every element is a pure function of (seed, frame stamp, index), so modes, replays and
 * restarts draw the same noise for the same frame.
 */

/** [length] standard normal values. */
export function frameNoise(seed: bigint, stampNs: bigint, length: number): Float32Array {
  const key = fold(fold(fold(fold(0x9e3779b9, low(seed)), high(seed)), low(stampNs)), high(stampNs));
  const noise = new Float32Array(length);
  for (let i = 0; i < length; i++) {
    // Box-Muller; (0, 1] keeps the logarithm finite
    const u = (fold(key, 2 * i) + 1) / 2 ** 32;
    const v = fold(key, 2 * i + 1) / 2 ** 32;
    noise[i] = Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v);
  }
  return noise;
}

const low = (x: bigint): number => Number(BigInt.asUintN(32, x));
const high = (x: bigint): number => Number(BigInt.asUintN(32, x >> 32n));

/** Mixes a word into a 32-bit state (two rounds of multiply and xor-shift). */
export function fold(state: number, word: number): number {
  let h = Math.imul(state ^ word, 0x7feb352d) + 0x6a09e667;
  h ^= h >>> 15;
  h = Math.imul(h, 0x846ca68b);
  h ^= h >>> 16;
  h = Math.imul(h, 0x7feb352d);
  return (h ^ (h >>> 15)) >>> 0;
}
