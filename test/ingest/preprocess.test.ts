import sharp from 'sharp';
import { preprocess, type PreprocessImage } from '../../src/ingest/preprocess';
import { resizeWithPad } from '../../src/model/resize';

const picture = (value: number): Uint8Array =>
  Uint8Array.from({ length: 64 * 48 * 3 }, (_, i) => (i * value) >> 4);
const raw = (slot: string, value: number): PreprocessImage => ({
  slot,
  kind: 'raw',
  image: { encoding: 'rgb8', width: 64, height: 48, step: 192, isBigEndian: false, data: picture(value) },
});
const resized = (value: number): Uint8Array =>
  resizeWithPad({ width: 64, height: 48, data: picture(value) }, 28, 20);

test('raw and compressed cameras come resized, in the order of the job', async () => {
  const png = await sharp(picture(7), { raw: { width: 64, height: 48, channels: 3 } })
    .png()
    .toBuffer();
  const images: PreprocessImage[] = [
    raw('b', 5),
    { slot: 'a', kind: 'compressed', format: 'png', data: png },
    raw('c', 3),
  ];
  const result = await preprocess({ height: 20, width: 28, images });
  expect(result.failures).toEqual([]);
  expect(Buffer.compare(result.images, Buffer.concat([resized(5), resized(7), resized(3)]))).toBe(0);
});

test('a bad camera is listed and left out; the others stay', async () => {
  const images: PreprocessImage[] = [
    { slot: 'cut', kind: 'compressed', format: 'jpeg', data: Uint8Array.of(0xff, 0xd8, 0xff) },
    raw('good', 5),
    {
      ...raw('strange', 1),
      image: { encoding: '16UC7', width: 1, height: 1, step: 1, isBigEndian: false, data: picture(1) },
    } as PreprocessImage,
    { slot: 'empty', kind: 'compressed', format: '', data: new Uint8Array(0) },
  ];
  const result = await preprocess({ height: 20, width: 28, images });
  expect(Buffer.compare(result.images, resized(5))).toBe(0);
  expect(result.failures.map(({ slot, code }) => [slot, code])).toEqual([
    ['cut', 'IMAGE_CORRUPT'],
    ['strange', 'IMAGE_ENCODING'],
    ['empty', 'IMAGE_CORRUPT'],
  ]);
  for (const { message } of result.failures) expect(message.length).toBeGreaterThan(20);
});

test('a job without cameras gives nothing', async () => {
  expect(await preprocess({ height: 20, width: 28, images: [] })).toEqual({
    images: new Uint8Array(0),
    failures: [],
  });
});
