import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { resizeWithPad } from '../../src/model/resize';
import { RESIZE_PROFILES } from '../../src/model/manifest';
import type { RgbImage } from '../../src/model/image';
import { readSafetensors, type TestTensor } from '../support/safetensors';
import { filled, noise, turned } from './pictures';

const DATA = join(__dirname, '../data');
const tensors = (file: string): Map<string, TestTensor> => readSafetensors(join(DATA, `${file}.safetensors`));
const cases = tensors('resize/resize_cases');
const goldenImages = (config: string): [string, TestTensor][] =>
  [...tensors(`golden/${config}/images`)]
    .filter(([name]) => name.startsWith('raw.'))
    .map(([name, raw]) => [name.replace('raw', config), raw]);
/** [camera, raw picture], e.g. `tiny.base_0_rgb`. */
const cameras = [...goldenImages('tiny'), ...goldenImages('odd')];
const rawCases = [...cases]
  .filter(([name]) => name.startsWith('raw.'))
  .map(([name, raw]) => [name.replace('raw.', ''), raw] as const);

const pictureOf = ({ shape, data }: TestTensor): RgbImage => ({
  width: shape[1]!,
  height: shape[0]!,
  data: data as Uint8Array,
});
/** Looking `Math` up in an inner loop costs much in Jest. */
const { abs, floor, max } = Math;

/** The range that the vision encoder sees. */
const toModel = (u8: number): number => (u8 / 255) * 2 - 1;

describe('golden cases of Pillow', () => {
  const served = tensors('resize/whole_path_pil_u8');
  const pairs = [
    ...rawCases.map(([name, raw]) => [name, raw, cases.get(`pil_u8.${name}`)!] as const),
    ...cameras.map(([name, raw]) => [name, raw, served.get(name)!] as const),
  ];
  test('there are ten', () => expect(pairs).toHaveLength(10));
  test.each(pairs)('%s', (_, raw, expected) => {
    const [height, width] = expected.shape as [number, number];
    const out = resizeWithPad(pictureOf(raw), width, height, 'pillow');
    expect(Buffer.compare(out, expected.data as Uint8Array)).toBe(0);
  });
});

describe('golden cases of torch', () => {
  /** Every 7th row, [-1, 1]. */
  const rows = tensors('resize/torch_rows');
  test.each([...rows])('%s is met to half a level, bars exactly', (name, { shape, data }) => {
    const [count, width] = shape as [number, number];
    const raw = cameras.find(([camera]) => camera === name)![1];
    const out = resizeWithPad(pictureOf(raw), width, width, 'torch');
    expect(count).toBe(width / 7);
    let worst = 0;
    for (let i = 0; i < data.length; i++) {
      const row = floor(i / (width * 3));
      const got = toModel(out[i + 6 * row * width * 3]!);
      if (data[i] === -1 && got !== -1) throw new Error(`no bar at ${i}`);
      worst = max(worst, abs(got - (data[i] as number)));
    }
    expect(worst).toBeLessThan(1 / 255 + 1e-4);
    // Less would mean that the golden holds whole levels and says nothing about rounding.
    expect(worst).toBeGreaterThan(0.9 / 255);
  });

  // How far the golden says that torch is from Pillow, for shapes of which torch's own pixels are not at hand.
  const table = JSON.parse(readFileSync(join(DATA, 'resize/resize_cases.json'), 'utf8')) as {
    rows: { h: number; w: number; pil_vs_torch: number }[];
  };
  test.each(rawCases)('%s is as far from Pillow as torch is', (_, raw) => {
    const picture = pictureOf(raw);
    const known = table.rows.find(row => row.h === picture.height && row.w === picture.width)!;
    const torch = resizeWithPad(picture, 224, 224, 'torch');
    const pillow = resizeWithPad(picture, 224, 224, 'pillow');
    let apart = 0;
    for (let i = 0; i < torch.length; i++) apart = max(apart, abs(torch[i]! - pillow[i]!));
    expect(Math.abs(toModel(apart) + 1 - known.pil_vs_torch)).toBeLessThan(1 / 255 + 1e-4);
  });
});

describe.each(RESIZE_PROFILES)('O-03 letterbox, %s', profile => {
  const bars = (picture: RgbImage): [number, number] => {
    const out = resizeWithPad(picture, 224, 224, profile);
    const value = picture.data[0]!;
    const row = (y: number): Uint8Array => out.subarray(y * 224 * 3, (y + 1) * 224 * 3);
    const isBar = (y: number): boolean => row(y).every(v => toModel(v) === -1);
    let top = 0;
    while (isBar(top)) top++;
    let bottom = 0;
    while (isBar(223 - bottom)) bottom++;
    for (let y = top; y < 224 - bottom; y++) expect(row(y).every(v => v === value)).toBe(true);
    return [top, bottom];
  };

  test('640x480: rows 0..27 and 196..223 are -1, the picture keeps its value', () => {
    expect(bars(filled(640, 480, 255))).toEqual([28, 28]);
    expect(toModel(255)).toBe(1);
    expect(bars(filled(640, 480, 128))).toEqual([28, 28]);
    expect(toModel(128)).toBeCloseTo(0.0039, 4);
  });
  test('1280x720 has 49 bar rows on each side', () => expect(bars(filled(1280, 720, 255))).toEqual([49, 49]));
  test('an odd remainder goes to the bottom', () => expect(bars(filled(224, 221, 9))).toEqual([1, 2]));

  test('an image of the right size keeps its values and is not shared', () => {
    const picture = noise(224, 224, 1);
    const out = resizeWithPad(picture, 224, 224, profile);
    expect(Buffer.compare(out, picture.data)).toBe(0);
    expect(out.buffer).not.toBe(picture.data.buffer);
  });

  test('one pixel fills the picture', () => {
    const out = resizeWithPad({ width: 1, height: 1, data: Uint8Array.of(9, 8, 7) }, 84, 84, profile);
    expect(out.every((v, i) => v === 9 - (i % 3))).toBe(true);
  });

  test.each([
    [1000, 1],
    [1, 225],
    [8192, 36],
  ])('%ix%i: nothing would be left, refused', (width, height) => {
    expect(() => resizeWithPad(filled(width, height, 0), 224, 224, profile)).toThrow(
      expect.objectContaining({
        code: 'IMAGE_SIZE',
        message: expect.stringContaining(`${width}x${height}`),
      }),
    );
  });
  test.each([
    [8192, 37, 1],
    [8192, 4608, 126],
  ])('%ix%i leaves %i rows', (width, height, rows) => {
    const out = resizeWithPad(filled(width, height, 200), 224, 224, profile);
    expect(out.filter(v => v === 200)).toHaveLength(rows * 224 * 3);
    expect(out.filter(v => v === 0)).toHaveLength((224 - rows) * 224 * 3);
  });

  test('rotation by 180° is that of the picture, before everything else', () => {
    const side = fc.integer({ min: 8, max: 90 });
    fc.assert(
      fc.property(fc.tuple(side, side, side, side), fc.nat(), ([w, h, W, H], seed) => {
        const picture = noise(w, h, seed);
        if (Math.min(w / W, h / H) * 8 < Math.max(w / W, h / H)) return;
        const out = resizeWithPad(picture, W, H, profile, 180);
        expect(Buffer.compare(out, resizeWithPad(turned(picture), W, H, profile))).toBe(0);
      }),
      { numRuns: 100, examples: [[[90, 67, 33, 33], 1]] },
    );
    const upright = noise(40, 30, 2);
    expect(resizeWithPad(upright, 20, 20, profile, 180)).not.toEqual(resizeWithPad(upright, 20, 20, profile));
  });

  test('shapes that follow each other do not disturb each other', () => {
    const side = fc.integer({ min: 20, max: 60 });
    fc.assert(
      fc.property(fc.array(fc.tuple(side, side), { minLength: 2, maxLength: 20 }), shapes => {
        for (const [width, height] of shapes) {
          const ratio = Math.max(width / 40, height / 40);
          const covered = Math.trunc(width / ratio) * Math.trunc(height / ratio) * 3;
          const out = resizeWithPad(filled(width, height, 200), 40, 40, profile);
          expect(out.every(v => v === 200 || v === 0)).toBe(true);
          expect(out.filter(v => v === 200)).toHaveLength(covered);
        }
      }),
      { numRuns: 30 },
    );
  });
});
