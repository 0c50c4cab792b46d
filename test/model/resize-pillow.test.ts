import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import fc from 'fast-check';
import type { RgbImage } from '../../src/model/image';
import { resizeWithPad } from '../../src/model/resize';
import { noise } from './pictures';

type Shape = readonly [w: number, h: number, W: number, H: number];

/** What Pillow makes of the pictures, in one process. */
function pillow(pictures: readonly RgbImage[], shapes: readonly Shape[]): Uint8Array[] {
  const input = pictures.flatMap(({ data }, i) => [Buffer.from(`${JSON.stringify(shapes[i])}\n`), data]);
  const python = process.env['OXYGEN_PYTHON'] ?? join(__dirname, '../../.venv/bin/python');
  const peer = spawnSync(python, [join(__dirname, 'pillow_peer.py')], {
    input: Buffer.concat(input),
    maxBuffer: 1 << 28,
  });
  expect(peer.stderr.toString()).toBe('');
  let at = 0;
  return shapes.map(([, , W, H]) => peer.stdout.subarray(at, (at += W * H * 3)));
}

const leavesNothing = ([w, h, W, H]: Shape): boolean => {
  const ratio = Math.max(w / W, h / H);
  return w / ratio < 1 || h / ratio < 1;
};

const SHAPES: readonly Shape[] = [
  [640, 480, 224, 224],
  [480, 640, 224, 224],
  [1280, 720, 224, 224],
  [1920, 1080, 224, 224],
  [100, 60, 224, 224],
  [3, 5, 224, 224],
  [1, 1, 84, 84],
  [1, 224, 224, 224],
  [8192, 37, 224, 224],
  [97, 1000, 84, 84],
  [640, 360, 224, 112],
  // No pass along one axis, or along neither.
  [224, 500, 224, 224],
  [500, 224, 224, 224],
  [224, 223, 224, 224],
  [224, 224, 224, 224],
];
const RANDOM = 200;
const side = (max: number): fc.Arbitrary<number> => fc.integer({ min: 1, max });
const randomShapes = fc.sample(
  fc.tuple(side(500), side(500), side(240), side(240)).filter(shape => !leavesNothing(shape)),
  { numRuns: RANDOM, seed: 3 },
);

test('Pillow itself gives the same bits, for given and for random shapes, larger and smaller', () => {
  const shapes = [...SHAPES, ...randomShapes];
  const pictures = shapes.map(([w, h], i) => noise(w, h, i));
  const expected = pillow(pictures, shapes);
  const different = shapes.filter(([, , W, H], i) => {
    const ours = resizeWithPad(pictures[i]!, W, H, 'pillow');
    return Buffer.compare(ours, expected[i]!) !== 0;
  });
  expect(different).toEqual([]);
  expect(randomShapes.filter(([w, h, W, H]) => w < W && h < H).length).toBeGreaterThan(RANDOM / 20);
});

/** Looking `Math` up in an inner loop costs much in Jest. */
const { imul } = Math;

/** One pass as it was in plain JavaScript: rows of `width` pixels shrunk by a whole factor, `taps` pixels each. */
function plainPass({ width, height, data }: RgbImage, outWidth: number, taps: number): Uint8Array {
  const out = new Uint8Array(outWidth * height * 3);
  const weight = (1 << 22) / taps;
  let to = 0;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < outWidth; x++) {
      const first = (x * (width - taps)) / (outWidth - 1);
      let at = (y * width + (first | 0)) * 3;
      let r = 1 << 21;
      let g = r;
      let b = r;
      for (let t = 0; t < taps; t++, at += 3) {
        r = (r + imul(data[at]!, weight)) | 0;
        g = (g + imul(data[at + 1]!, weight)) | 0;
        b = (b + imul(data[at + 2]!, weight)) | 0;
      }
      out[to++] = r >> 22;
      out[to++] = g >> 22;
      out[to++] = b >> 22;
    }
  }
  return out;
}

/** ms that this process has computed: unlike the clock, it stands still while others have the processor. */
const computed = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** Least computing time of each in ms, taken in turns. */
function least(rounds: number, ...work: readonly (() => void)[]): number[] {
  const shortest = work.map(() => Infinity);
  for (let round = 0; round < rounds; round++) {
    work.forEach((run, i) => {
      const begin = computed();
      run();
      shortest[i] = Math.min(shortest[i]!, computed() - begin);
    });
  }
  return shortest;
}

test('full HD takes less than half the time that its first pass alone would take in plain JavaScript', () => {
  const hd = noise(1920, 1080, 1);
  const vga = noise(640, 480, 1);
  const [plain, ours, small] = least(
    10,
    () => plainPass(hd, 224, 17),
    () => resizeWithPad(hd, 224, 224, 'pillow'),
    () => resizeWithPad(vga, 224, 224, 'pillow'),
  ) as [number, number, number];
  const [a, b, c] = [ours, plain, small].map(ms => ms.toFixed(1));
  console.log(`1920x1080: ${a} ms (plain JavaScript ${b} ms); 640x480: ${c} ms`);
  expect(ours).toBeLessThan(plain / 2);
});
