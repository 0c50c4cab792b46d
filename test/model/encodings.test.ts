/** Raw layouts against an independent implementation, known numbers and a naive reader that may not leave its rows. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import fc from 'fast-check';
import { ENCODINGS } from '../../src/model/encodings';
import { decodeRaw } from '../../src/model/image';
import type { RawImage } from '../../src/model/image-checks';
import { rawNoise as random } from './pictures';

const NAMES = [...ENCODINGS.keys()];
const SUPPORTED = [
  ...['rgb8', 'bgr8', 'rgba8', 'bgra8', 'mono8', 'uyvy', 'yuv422', 'yuyv', 'yuv422_yuy2'],
  ...['bayer_rggb8', 'bayer_bggr8', 'bayer_gbrg8', 'bayer_grbg8'],
];

/** What numpy makes of the pictures, in one process. */
function numpy(pictures: readonly RawImage[]): Uint8Array[] {
  const python = process.env['OXYGEN_PYTHON'] ?? join(__dirname, '../../.venv/bin/python');
  const input = pictures.flatMap(({ encoding, width, height, step, data }) => [
    Buffer.from(`${JSON.stringify([encoding, width, height, step])}\n`),
    data,
  ]);
  const peer = spawnSync(python, [join(__dirname, 'encodings_peer.py')], {
    input: Buffer.concat(input),
    maxBuffer: 1 << 28,
  });
  expect(peer.stderr.toString()).toBe('');
  let at = 0;
  return pictures.map(({ width, height }) => peer.stdout.subarray(at, (at += width * height * 3)));
}

test('the table holds what the README lists', () => {
  expect(NAMES).toEqual(SUPPORTED);
});

test('every layout is what numpy makes of it, with and without padding, at given and random sizes', () => {
  const sizes = [
    [2, 2, 0],
    [2, 3, 5],
    [4, 2, 1],
    [6, 5, 3],
    [16, 9, 0],
    [98, 61, 30],
    [320, 240, 0],
  ] as const;
  const odd = [[7, 5, 2], [3, 2, 0], [33, 21, 1]] as const; // prettier-ignore
  const given = NAMES.flatMap((name, i) =>
    [...sizes, ...(/yu|uy/.test(name) ? [] : odd)].map(([w, h, padding]) => random(name, w, h, padding, i)),
  );
  const side = fc.integer({ min: 1, max: 40 });
  const drawn = fc
    .sample(fc.tuple(fc.constantFrom(...NAMES), side, side, fc.nat(20)), { numRuns: 200, seed: 5 })
    .map(([name, w, h, padding], i) => random(name, 2 * w, h + 1, padding, 100 + i));
  const pictures = [...given, ...drawn];
  const wanted = numpy(pictures);
  pictures.forEach((picture, i) => {
    const { data } = decodeRaw(picture);
    // Books round the coefficients of YUV; all others are exact.
    const limit = /yu|uy/.test(picture.encoding) ? 1 : 0;
    const worst = data.reduce((max, value, at) => Math.max(max, Math.abs(value - wanted[i]![at]!)), 0);
    expect([picture.encoding, picture.width, worst <= limit]).toEqual([
      picture.encoding,
      picture.width,
      true,
    ]);
  });
});

describe('O-01 c: 4:2:2', () => {
  test.each([
    ['yuv422_yuy2', [81, 90, 81, 240]],
    ['yuyv', [81, 90, 81, 240]],
    ['yuv422', [90, 81, 240, 81]],
    ['uyvy', [90, 81, 240, 81]],
  ])('%s: video range, both pixels are red', (encoding, bytes) => {
    const { data } = decodeRaw({ encoding, width: 2, height: 1, step: 4, data: Uint8Array.from(bytes) });
    [254, 0, 0, 254, 0, 0].forEach((value, i) => expect(Math.abs(data[i]! - value)).toBeLessThanOrEqual(3));
  });

  test('black, white, grey and each luma in its place', () => {
    const data = Uint8Array.from([16, 128, 235, 128, 126, 128, 16, 128]);
    const image = { encoding: 'yuyv', width: 4, height: 1, step: 8, data };
    expect([...decodeRaw(image).data]).toEqual([0, 255, 128, 0].flatMap(v => [v, v, v]));
  });

  test('an odd width has no 4:2:2 picture', () => {
    const image = { encoding: 'uyvy', width: 3, height: 1, step: 8, data: new Uint8Array(8) };
    expect(() => decodeRaw(image)).toThrow(
      expect.objectContaining({
        code: 'IMAGE_SIZE',
        message: expect.stringMatching(/width must be even.*width 3/),
      }),
    );
  });
});

describe('Bayer', () => {
  test('a picture of one colour stays that colour to the last pixel, in all four tiles', () => {
    const colour = { r: 200, g: 90, b: 30 };
    for (const tile of ['rggb', 'bggr', 'gbrg', 'grbg']) {
      for (const [width, height] of [
        [2, 2],
        [5, 3],
        [8, 8],
      ] as const) {
        // prettier-ignore
        const data = Uint8Array.from({ length: width * height }, (_, i) => {
          const [x, y] = [i % width, Math.floor(i / width)];
          return colour[tile[(y % 2) * 2 + (x % 2)] as 'r'];
        });
        const out = decodeRaw({ encoding: `bayer_${tile}8`, width, height, step: width, data }).data;
        expect([...out]).toEqual(
          Array(width * height)
            .fill([200, 90, 30])
            .flat(),
        );
      }
    }
  });

  test('each missing colour is the mean of its nearest samples; edges are mirrored', () => {
    // R10 G20 R30 G40
    // G50 B60 G70 B80
    // R11 G21 R31 G41
    const data = Uint8Array.from([10, 20, 30, 40, 50, 60, 70, 80, 11, 21, 31, 41]);
    const out = decodeRaw({ encoding: 'bayer_rggb8', width: 4, height: 3, step: 4, data }).data;
    const at = (x: number, y: number): number[] => [...out.subarray((y * 4 + x) * 3, (y * 4 + x) * 3 + 3)];
    expect(at(1, 1)).toEqual([21, 40, 60]); // (10+30+11+31)/4 = 20.5, (20+50+70+21)/4 = 40.25
    expect(at(2, 1)).toEqual([31, 70, 70]); // (30+31)/2 = 30.5, (60+80)/2
    expect(at(2, 0)).toEqual([30, 50, 70]); // (20+40+70+70)/4, (60+80+60+80)/4
    expect(at(0, 0)).toEqual([10, 35, 60]); // (20+20+50+50)/4, B of all four corners mirrored
    expect(at(3, 2)).toEqual([31, 41, 80]);
  });

  test('a single row or column is no Bayer picture', () => {
    for (const [width, height] of [
      [1, 4],
      [4, 1],
    ] as const) {
      // prettier-ignore
      const image = { encoding: 'bayer_rggb8', width, height, step: width, data: new Uint8Array(4) };
      expect(() => decodeRaw(image)).toThrow(expect.objectContaining({ code: 'IMAGE_SIZE' }));
    }
  });
});

test('no layout reads padding or beyond the data, whatever the size', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...NAMES),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 2, max: 8 }),
      fc.integer({ min: 0, max: 9 }),
      fc.nat(1000),
      (encoding, half, height, padding, seed) => {
        const image = random(encoding, half * 2, height, padding, seed);
        const rowBytes = image.step - padding;
        const read = new Set<number>();
        const watched = new Proxy(image.data, {
          get(target, key) {
            if (typeof key === 'string' && /^-?\d+$/.test(key)) read.add(Number(key));
            if (key !== 'subarray') return Reflect.get(target, key, target) as unknown;
            return (from: number, to: number) => {
              for (let i = from; i < to; i++) read.add(i);
              return target.subarray(from, to);
            };
          },
        });
        const { data } = decodeRaw({ ...image, data: watched });
        const inside = [...read].every(at => at >= 0 && at < image.data.length && at % image.step < rowBytes);
        expect(inside).toBe(true);
        // And without the padding the picture is the same.
        const tight = new Uint8Array(rowBytes * height);
        for (let y = 0; y < height; y++)
          tight.set(image.data.subarray(y * image.step, y * image.step + rowBytes), y * rowBytes);
        expect(data).toEqual(decodeRaw({ ...image, step: rowBytes, data: tight }).data);
      },
    ),
  );
});
