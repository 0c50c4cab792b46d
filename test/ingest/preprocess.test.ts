import sharp from 'sharp';
import { preprocess, type PreprocessImage, type PreprocessJob } from '../../src/ingest/preprocess';
import { RESIZE_PROFILES } from '../../src/model/manifest';
import { resizeWithPad } from '../../src/model/resize';

const picture = (value: number): Uint8Array =>
  Uint8Array.from({ length: 64 * 48 * 3 }, (_, i) => (i * value) >> 4);
const raw = (slot: string, value: number): PreprocessImage => ({
  slot,
  rotate: 0,
  kind: 'raw',
  image: { encoding: 'rgb8', width: 64, height: 48, step: 192, data: picture(value) },
});
const resized = (value: number): Uint8Array =>
  resizeWithPad({ width: 64, height: 48, data: picture(value) }, 28, 20, 'pillow');

const job = (images: readonly PreprocessImage[]): PreprocessJob => ({
  height: 20,
  width: 28,
  resize: 'pillow',
  images,
});

test('raw and compressed cameras come resized, in the order of the job', async () => {
  const png = await sharp(picture(7), { raw: { width: 64, height: 48, channels: 3 } })
    .png()
    .toBuffer();
  const images: PreprocessImage[] = [
    raw('b', 5),
    { slot: 'a', rotate: 0, kind: 'compressed', format: 'png', data: png },
    raw('c', 3),
  ];
  const result = await preprocess(job(images));
  expect(result.failures).toEqual([]);
  expect(Buffer.compare(result.images, Buffer.concat([resized(5), resized(7), resized(3)]))).toBe(0);
});

test('a bad camera is listed and left out; the others stay', async () => {
  const images: PreprocessImage[] = [
    { slot: 'cut', rotate: 0, kind: 'compressed', format: 'jpeg', data: Uint8Array.of(0xff, 0xd8, 0xff) },
    raw('good', 5),
    {
      ...raw('strange', 1),
      image: { encoding: '16UC7', width: 1, height: 1, step: 1, data: picture(1) },
    } as PreprocessImage,
    { slot: 'empty', rotate: 0, kind: 'compressed', format: '', data: new Uint8Array(0) },
  ];
  const result = await preprocess(job(images));
  expect(Buffer.compare(result.images, resized(5))).toBe(0);
  expect(result.failures.map(({ slot, code }) => [slot, code])).toEqual([
    ['cut', 'IMAGE_CORRUPT'],
    ['strange', 'IMAGE_ENCODING'],
    ['empty', 'IMAGE_CORRUPT'],
  ]);
  for (const { message } of result.failures) expect(message.length).toBeGreaterThan(20);
});

test('a job without cameras gives nothing', async () => {
  expect(await preprocess(job([]))).toEqual({
    images: new Uint8Array(0),
    failures: [],
  });
});

test('the resize profile of the job and the rotation of each camera are used, raw or compressed', async () => {
  const data = picture(7);
  const png = await sharp(data, { raw: { width: 64, height: 48, channels: 3 } })
    .png()
    .toBuffer();
  const images: PreprocessImage[] = [
    { ...raw('upright', 7), rotate: 0 },
    { ...raw('turned', 7), rotate: 180 },
    { slot: 'png', rotate: 180, kind: 'compressed', format: 'png', data: png },
  ];
  const results = await Promise.all(
    RESIZE_PROFILES.map(resize => preprocess({ height: 20, width: 28, resize, images })),
  );
  const image = { width: 64, height: 48, data };
  RESIZE_PROFILES.forEach((resize, i) => {
    const upright = resizeWithPad(image, 28, 20, resize);
    const turned = resizeWithPad(image, 28, 20, resize, 180);
    expect(results[i]!.images).toEqual(Uint8Array.from(Buffer.concat([upright, turned, turned])));
    expect(turned).not.toEqual(upright);
  });
  expect(results[0]!.images).not.toEqual(results[1]!.images);
});
