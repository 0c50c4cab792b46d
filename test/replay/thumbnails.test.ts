/** Thumbnails: which observations are kept, what becomes of them. */
import sharp from 'sharp';
import type { Observation } from '../../src/core/types';
import { Thumbnails } from '../../src/replay/thumbnails';

const [HEIGHT, WIDTH] = [24, 32];
const ORIGIN = 1_700_000_000_000_000_000n;

const at = (seconds: number): bigint => ORIGIN + BigInt(Math.round(seconds * 1e9));

function observation(seconds: number, cameras: readonly string[], shade = 0): Observation {
  return {
    stampNs: at(seconds),
    epoch: 0,
    instruction: `instruction at ${seconds}`,
    state: new Float64Array(0),
    cameras,
    images: new Uint8Array(cameras.length * HEIGHT * WIDTH * 3).map((_, i) =>
      i < HEIGHT * WIDTH * 3 ? shade : 200,
    ),
  };
}

const thumbnails = (from: number, to: number): Thumbnails =>
  new Thumbnails({
    originNs: ORIGIN,
    fromNs: at(from),
    toNs: at(to),
    imageHeight: HEIGHT,
    imageWidth: WIDTH,
  });

test('spreads sixteen pictures over the played time, each the first at or after its moment', async () => {
  const pictures = thumbnails(2, 34);
  for (let i = 0; i <= 320; i += 1) pictures.offer(observation(2.03 + i / 10, ['base']), `caption ${i}`);
  const kept = await pictures.done();
  expect(kept.map(k => k.t)).toEqual(Array.from({ length: 16 }, (_, i) => (203 + 200 * i) / 100));
  expect(kept[3]).toMatchObject({
    camera: 'base',
    caption: 'caption 60',
    instruction: 'instruction at 8.03',
  });
});

test('several cameras share the budget', async () => {
  const pictures = thumbnails(0, 10);
  for (let i = 0; i < 100; i += 1) pictures.offer(observation(i / 10, ['base', 'left', 'right']), '');
  const kept = await pictures.done();
  expect(kept).toHaveLength(15);
  expect(kept.slice(0, 4).map(k => [k.t, k.camera])).toEqual([[0, 'base'], [0, 'left'], [0, 'right'], [2, 'base']]);
}); // prettier-ignore

test('cameras that come later do not break the bound, and more cameras than pictures give one moment', async () => {
  const growing = thumbnails(0, 10);
  growing.offer(observation(0, ['base']), '');
  for (let i = 1; i < 100; i += 1) growing.offer(observation(i / 10, ['base', 'left']), '');
  expect(await growing.done()).toHaveLength(16);
  const many = thumbnails(0, 10);
  const cameras = Array.from({ length: 20 }, (_, i) => `camera ${i}`);
  for (let i = 0; i < 100; i += 1) many.offer(observation(i / 10, cameras), '');
  expect(new Set((await many.done()).map(k => k.t))).toEqual(new Set([0]));
});

test('a gap in the recording gives one picture, not all that were missed', async () => {
  const pictures = thumbnails(0, 16);
  for (const seconds of [-1, 0, 12.5, 12.6, 13]) pictures.offer(observation(seconds, ['base']), '');
  expect((await pictures.done()).map(k => k.t)).toEqual([0, 12.5, 13]);
});

test('a bag of one moment and no observation at all are no fault', async () => {
  const single = thumbnails(3, 3);
  single.offer(observation(3, ['base']), '');
  single.offer(observation(4, ['base']), '');
  expect((await single.done()).map(k => k.t)).toEqual([3]);
  expect(await thumbnails(0, 1).done()).toEqual([]);
});

test('copies the pixels at once and gives each camera its own, as JPEG in a data URL', async () => {
  const pictures = thumbnails(0, 1);
  const seen = observation(0, ['base', 'left'], 60);
  pictures.offer(seen, '');
  seen.images.fill(255);
  const shades = (await pictures.done()).map(async ({ url, width, height }) => {
    expect([width, height]).toEqual([WIDTH, HEIGHT]);
    const [head, data = ''] = url.split(',');
    expect(head).toBe('data:image/jpeg;base64');
    const { channels } = await sharp(Buffer.from(data, 'base64')).stats();
    return Math.round(channels[0]?.mean ?? -1);
  });
  const [base = 0, left = 0] = await Promise.all(shades);
  expect(Math.abs(base - 60)).toBeLessThanOrEqual(2);
  expect(Math.abs(left - 200)).toBeLessThanOrEqual(2);
});

test('large pictures become small ones of the same shape, with the same bytes every time', async () => {
  const shown = async () => {
    const pictures = new Thumbnails({
      originNs: 0n,
      fromNs: 0n,
      toNs: 1n,
      imageHeight: 480,
      imageWidth: 640,
    });
    const images = new Uint8Array(480 * 640 * 3).map((_, i) => (i * 7919) % 251);
    pictures.offer({ ...observation(0, ['base']), stampNs: 0n, images }, '');
    return pictures.done();
  };
  const [first, second] = [await shown(), await shown()];
  expect(first[0]).toMatchObject({ width: 224, height: 168 });
  expect(first).toEqual(second);
});
