import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { RgbImage } from '../../src/model/image';
import { resizeWithPad } from '../../src/model/resize';
import { readSafetensors, type TestTensor } from '../support/safetensors';

const root = join(__dirname, '../..');
const filled = (width: number, height: number, value: number): RgbImage => ({
  width,
  height,
  data: new Uint8Array(width * height * 3).fill(value),
});

describe('golden cases of Pillow', () => {
  const data = (file: string): Map<string, TestTensor> =>
    readSafetensors(join(root, `test/data/${file}.safetensors`));
  const cases = data('resize/resize_cases');
  const resized = data('resize/whole_path_pil_u8');
  const pairs: [string, TestTensor, TestTensor][] = [];
  for (const [name, expected] of cases) {
    if (name.startsWith('pil_u8.')) pairs.push([name, cases.get(name.replace('pil_u8', 'raw'))!, expected]);
  }
  for (const config of ['tiny', 'odd']) {
    for (const [name, raw] of data(`golden/${config}/images`)) {
      if (name.startsWith('raw.'))
        pairs.push([`${config} ${name}`, raw, resized.get(name.replace('raw', config))!]);
    }
  }

  test('there are ten', () => expect(pairs).toHaveLength(10));
  test.each(pairs)('%s', (_, raw, expected) => {
    const [height, width] = raw.shape as [number, number];
    const [H, W] = expected.shape as [number, number];
    const out = resizeWithPad({ width, height, data: raw.data as Uint8Array }, W, H);
    expect(Buffer.compare(out, expected.data as Uint8Array)).toBe(0);
  });
});

describe('O-03 letterbox', () => {
  const barRows = (image: RgbImage): [number, number] => {
    const out = resizeWithPad(image, 224, 224);
    const row = (y: number): Uint8Array => out.subarray(y * 224 * 3, (y + 1) * 224 * 3);
    const empty = (y: number): boolean => row(y).every(v => v === 0);
    let top = 0;
    while (empty(top)) top++;
    let bottom = 0;
    while (empty(223 - bottom)) bottom++;
    for (let y = top; y < 224 - bottom; y++) expect(row(y).every(v => v === image.data[0])).toBe(true);
    return [top, bottom];
  };

  test('640x480 has 28 black rows above and below; the picture keeps its value', () => {
    expect(barRows(filled(640, 480, 255))).toEqual([28, 28]);
    expect(barRows(filled(640, 480, 128))).toEqual([28, 28]);
  });
  test('1280x720 has 49', () => expect(barRows(filled(1280, 720, 255))).toEqual([49, 49]));
  test('an odd remainder goes to the bottom', () => expect(barRows(filled(224, 221, 9))).toEqual([1, 2]));

  test('an image of the right size is copied, not resampled and not shared', () => {
    const data = new Uint8Array(224 * 224 * 3).map((_, i) => (i * 31) & 255);
    const out = resizeWithPad({ width: 224, height: 224, data }, 224, 224);
    expect(out).toEqual(data);
    expect(out.buffer).not.toBe(data.buffer);
  });

  test('an image of which nothing would be left is refused', () => {
    expect(() => resizeWithPad(filled(1000, 1, 0), 224, 224)).toThrow(
      expect.objectContaining({ code: 'IMAGE_SIZE', message: expect.stringContaining('1000x1') }),
    );
  });
});

test('repeated and interleaved shapes do not disturb each other', () => {
  const shape = fc.record({
    width: fc.integer({ min: 20, max: 60 }),
    height: fc.integer({ min: 20, max: 60 }),
  });
  fc.assert(
    fc.property(fc.array(shape, { minLength: 2, maxLength: 20 }), shapes => {
      for (const { width, height } of shapes) {
        const out = resizeWithPad(filled(width, height, 200), 40, 40);
        expect(out.every(v => v === 200 || v === 0)).toBe(true);
        expect(out.filter(v => v === 200)).toHaveLength(coveredBytes(width, height, 40));
      }
    }),
    { numRuns: 30 },
  );
});

function coveredBytes(width: number, height: number, size: number): number {
  const ratio = Math.max(width / size, height / size);
  return Math.trunc(width / ratio) * Math.trunc(height / ratio) * 3;
}

/**
 * openpi's resize_with_pad; reads raw RGB and one JSON argument. One call per pass fixes their order, which Pillow 13
 * chooses by shape.
 */
const PILLOW = `
import json, sys
from PIL import Image
w, h, W, H = json.loads(sys.argv[1])
im = Image.frombytes('RGB', (w, h), sys.stdin.buffer.read())
if (w, h) != (W, H):
    r = max(w / W, h / H)
    nw, nh = int(w / r), int(h / r)
    small = im.resize((nw, h), Image.BILINEAR).resize((nw, nh), Image.BILINEAR)
    im = Image.new('RGB', (W, H), 0)
    im.paste(small, ((W - nw) // 2, (H - nh) // 2))
sys.stdout.buffer.write(im.tobytes())
`;

const python = [join(root, '.venv/bin/python'), 'python3.11', 'python3'].find(
  p => (p.includes('/') ? existsSync(p) : true) && spawnSync(p, ['-c', 'import PIL']).status === 0,
);
if (python === undefined)
  console.warn('Skipped: the comparison with Pillow itself; no Python with Pillow was found.');

(python === undefined ? describe.skip : describe)('Pillow itself', () => {
  test.each([
    [640, 480, 224, 224],
    [1920, 1080, 224, 224],
    [480, 640, 224, 224],
    [100, 60, 224, 224],
    [3, 5, 224, 224],
    [1, 1, 84, 84],
    [97, 1000, 84, 84],
    [640, 360, 224, 112],
    [224, 500, 224, 224],
    [500, 224, 224, 224],
    ...fc.sample(fc.tuple(...[400, 400, 120, 120].map(max => fc.integer({ min: 5, max }))), {
      numRuns: 25,
      seed: 3,
    }),
  ])('%ix%i into %ix%i', (width, height, W, H) => {
    const ratio = Math.max(width / W, height / H);
    if (Math.min(width / ratio, height / ratio) < 1) return; // refused, see above
    const noise = fc.sample(fc.uint8Array({ minLength: 4099, maxLength: 4099 }), {
      numRuns: 1,
      seed: width + height,
    })[0]!;
    const data = new Uint8Array(width * height * 3).map((_, i) => noise[i % 4099]!);
    const expected = execFileSync(python!, ['-c', PILLOW, JSON.stringify([width, height, W, H])], {
      input: data,
      maxBuffer: 1 << 26,
    });
    expect(Buffer.compare(resizeWithPad({ width, height, data }, W, H), expected)).toBe(0);
  });
});
