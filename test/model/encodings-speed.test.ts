import { ENCODINGS } from '../../src/model/encodings';
import { decodeRaw } from '../../src/model/image';
import { rawNoise } from './pictures';

// In a file of its own: the decoders must not have seen other kinds of arrays before.
test('every layout takes a few milliseconds at 640 x 480', () => {
  const line = [...ENCODINGS.keys()].map(encoding => {
    const image = rawNoise(encoding, 640, 480, 0, 1);
    // Not as wild as noise: what a camera sends seldom needs clamping.
    image.data.forEach((value, i) => (image.data[i] = 64 + (value >> 1)));
    const times = Array.from({ length: 9 }, () => {
      const begin = performance.now();
      decodeRaw(image);
      return performance.now() - begin;
    });
    return [encoding, Math.min(...times)] as const;
  });
  console.log(`640x480, best of 9: ${line.map(([name, ms]) => `${name} ${ms.toFixed(1)} ms`).join(', ')}`);
  // The best: other programs on the machine are not what is tested here.
  for (const [name, ms] of line) expect([name, ms < 10]).toEqual([name, true]);
});
