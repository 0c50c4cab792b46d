import fc from 'fast-check';
import sharp from 'sharp';
import { OxygenError } from '../../src/core/errors';
import { ENCODINGS } from '../../src/model/encodings';
import { decodeCompressed, decodeRaw } from '../../src/model/image';
import { checkCompressed, type RawImage } from '../../src/model/image-checks';

const raw = (part: Partial<RawImage>): RawImage => ({
  encoding: 'rgb8',
  width: 1,
  height: 1,
  step: 3,

  data: new Uint8Array(3),
  ...part,
});
/** A matcher for the error with this code whose message holds `parts` in this order. */
const refuses = (code: string, ...parts: string[]): Error =>
  expect.objectContaining({
    code,
    message: expect.stringMatching(new RegExp(parts.join('.*'), 's')),
  }) as unknown as Error;

describe('O-01 raw layouts', () => {
  test('row padding is dropped', () => {
    const row = (first: number): number[] => [
      ...Array.from({ length: 9 }, (_, i) => first + i),
      0xee,
      0xee,
      0xee,
    ];
    const img = raw({ width: 3, height: 2, step: 12, data: Uint8Array.from([...row(1), ...row(11)]) });
    expect([...decodeRaw(img).data]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  });

  test.each([
    ['rgb8', [200, 20, 10]],
    ['bgr8', [10, 20, 200]],
    ['rgba8', [200, 20, 10, 0]],
    ['bgra8', [10, 20, 200, 0]],
  ])('%s, alpha neither used nor multiplied in', (encoding, bytes) => {
    const img = raw({ encoding, step: bytes.length, data: Uint8Array.from(bytes) });
    expect([...decodeRaw(img).data]).toEqual([200, 20, 10]);
  });

  test('mono8 becomes grey', () => {
    const img = raw({ encoding: 'mono8', width: 2, step: 2, data: Uint8Array.from([7, 9]) });
    expect([...decodeRaw(img).data]).toEqual([7, 7, 7, 9, 9, 9]);
  });

  test('the picture does not share memory with the message', () => {
    const img = raw({ data: Uint8Array.from([1, 2, 3]) });
    const { data } = decodeRaw(img);
    img.data.fill(99);
    expect([...data]).toEqual([1, 2, 3]);
  });

  test.each([
    '16UC1',
    '32FC1',
    'mono16',
    'rgb16',
    'bgr16',
    'bayer_rggb16',
    '8UC1',
    '8UC3',
    'nv12',
    'nv21',
    'compressedDepth',
    'RGB8',
    'toString',
    '',
  ])('the encoding "%s" is refused by name with the supported ones, whatever the bytes', encoding => {
    // Sizes that would fit three channels of 8 bits.
    expect(() => decodeRaw(raw({ encoding }))).toThrow(
      refuses('IMAGE_ENCODING', `"${encoding}"`, [...ENCODINGS.keys()].join(', ')),
    );
  });
});

describe('numbers that do not fit together', () => {
  test.each([
    ['no bytes', { data: new Uint8Array(0) }, ['3', 'not 0']],
    [
      'short data',
      { width: 640, height: 480, step: 1920, data: new Uint8Array(921_599) },
      ['921600', '921599'],
    ],
    ['long data', { data: new Uint8Array(4) }, ['3', '4']],
    ['step below a row', { width: 2, step: 5, data: new Uint8Array(5) }, ['5 bytes', '6 bytes']],
    ['step zero', { step: 0 }, ['0 bytes', '3 bytes']],
    ['width zero', { width: 0, step: 0, data: new Uint8Array(0) }, ['no pixels', 'width 0']],
    ['height zero', { height: 0, data: new Uint8Array(0) }, ['no pixels', 'height 0']],
    ['a fraction', { width: 1.5 }, ['no pixels']],
    ['NaN', { height: NaN }, ['no pixels']],
    [
      'more padding than any driver has',
      { height: 2, step: 1e8, data: { length: 2e8 } as Uint8Array },
      ['larger than'],
    ],
    ['a size that no memory holds', { width: 4e9, height: 4e9, step: 12e9 }, ['more than the limit']],
  ] as const)('%s', (_, part, numbers) => {
    expect(() => decodeRaw(raw(part))).toThrow(refuses('IMAGE_SIZE', ...numbers));
  });

  test('whatever arrives: a full picture or a coded error', () => {
    const size = fc.oneof(fc.integer({ min: -2, max: 9 }), fc.constantFrom(NaN, 2 ** 32 - 1, 0.5));
    fc.assert(
      fc.property(
        fc.constantFrom(...ENCODINGS.keys(), 'yuv422'),
        size,
        size,
        fc.integer({ min: -1, max: 40 }),
        fc.uint8Array({ maxLength: 200 }),
        (encoding, width, height, step, data) => {
          try {
            const out = decodeRaw({ encoding, width, height, step, data });
            expect(out.data).toHaveLength(width * height * 3);
          } catch (error) {
            expect(error).toBeInstanceOf(OxygenError);
            expect(['IMAGE_SIZE', 'IMAGE_ENCODING']).toContain((error as OxygenError).code);
          }
        },
      ),
    );
  });
});

describe('O-02 compressed images', () => {
  const plain = (channels: 1 | 3 | 4, ...value: number[]): sharp.Sharp =>
    sharp(
      Uint8Array.from({ length: 32 * 24 * channels }, (_, i) => value[i % channels]!),
      {
        raw: { width: 32, height: 24, channels },
      },
    );
  const noise = Uint8Array.from({ length: 160 * 120 * 3 }, (_, i) => (i * 7919) >> 3);
  const noisy = sharp(noise, { raw: { width: 160, height: 120, channels: 3 } });

  test.each(['bgr8; jpeg compressed bgr8', 'rgb8; jpeg compressed bgr8', 'jpeg', ''])(
    'the format string "%s" changes nothing',
    async format => {
      const out = await decodeCompressed(await plain(3, 200, 10, 10).jpeg().toBuffer(), format);
      expect([out.width, out.height, out.data.length]).toEqual([32, 24, 32 * 24 * 3]);
      for (let i = 0; i < out.data.length; i++)
        expect(Math.abs(out.data[i]! - [200, 10, 10][i % 3]!)).toBeLessThan(8);
    },
  );

  test.each(['rgb8; jpeg compressed rgb8', 'bgr8; jpeg compressed rgb8'])(
    '"%s": the encoder was given RGB for BGR, so the file has them exchanged',
    async format => {
      const { data } = await decodeCompressed(await plain(3, 10, 10, 200).png().toBuffer(), format);
      expect([...data.subarray(0, 6)]).toEqual([200, 10, 10, 200, 10, 10]);
    },
  );

  test.each([
    ['bgr8; png compressed bgr8'],
    ['rgba8; png compressed bgra8'],
    ['mono8; png compressed '],
    ['rgb8; jpeg compressed '],
    ['bayer_rggb8; jpeg compressed bgr8'],
    ['yuv422_yuy2; jpeg compressed bgr8'],
    ['JPEG'],
    ['jpg'],
    ['jpeg; something'],
    ['camera 1'],
  ])('"%s" is read as it is', async format => {
    const { data } = await decodeCompressed(await plain(3, 200, 10, 10).png().toBuffer(), format);
    expect([...data.subarray(0, 3)]).toEqual([200, 10, 10]);
  });

  test.each([
    ['16UC1; compressedDepth png', 'neither JPEG nor PNG'],
    ['32FC1; compressedDepth', 'neither JPEG nor PNG'],
    ['compressedDepth', 'neither JPEG nor PNG'],
    ['16UC1; png compressed ', '16UC1'],
    ['16UC1; png', '16UC1'],
    ['mono16; png compressed mono16', 'mono16'],
    ['32FC1; tiff compressed ', 'neither JPEG nor PNG'],
    ['8UC3; jpeg compressed ', '8UC3'],
    ['bayer_rggb8; png compressed ', 'bayer_rggb8'],
    ['yuv422; jpeg compressed ', 'yuv422'],
    ['tiff', 'neither JPEG nor PNG'],
    ['webp', 'neither JPEG nor PNG'],
    ['h264', 'neither JPEG nor PNG'],
    ['ffmpeg', 'neither JPEG nor PNG'],
    ['libx264', 'neither JPEG nor PNG'],
  ])('"%s" is refused by name, also in front of a good file', async (format, why) => {
    const file = await plain(3, 200, 10, 10).png().toBuffer();
    await expect(decodeCompressed(file, format)).rejects.toEqual(
      refuses('IMAGE_ENCODING', `"${format}"`, why, 'supported are JPEG and PNG'),
    );
  });

  test('a 16-bit grey PNG is no picture, whatever its format says', async () => {
    const depth = Uint16Array.from({ length: 16 }, (_, i) => i * 100);
    const file = await sharp(depth, { raw: { width: 4, height: 4, channels: 1 } })
      .toColourspace('grey16')
      .png()
      .toBuffer();
    expect((await sharp(file).metadata()).depth).toBe('ushort');
    await expect(decodeCompressed(file, 'png')).rejects.toEqual(refuses('IMAGE_ENCODING', '16 bits of grey'));
  });

  test('more bytes than any picture has are refused before anything is read', () => {
    const huge = new Proxy(Uint8Array.of(0xff, 0xd8, 0xff), {
      get: (target, key) => (key === 'length' ? 2e8 : (Reflect.get(target, key, target) as unknown)),
    });
    expect(() => checkCompressed(huge, 'jpeg')).toThrow(refuses('IMAGE_CORRUPT', '200000000 bytes', 'limit'));
  });

  test('grey becomes R = G = B', async () => {
    for (const file of [
      await plain(1, 10).jpeg().toBuffer(),
      await plain(1, 10).toColourspace('b-w').png().toBuffer(),
    ]) {
      const { data } = await decodeCompressed(file, 'mono8; jpeg compressed');
      expect(data).toHaveLength(32 * 24 * 3);
      expect(data.every(v => v === 10)).toBe(true);
    }
  });

  test('alpha is removed, not multiplied in', async () => {
    const { data } = await decodeCompressed(await plain(4, 200, 20, 10, 40).png().toBuffer(), 'png');
    expect([...data.subarray(0, 6)]).toEqual([200, 20, 10, 200, 20, 10]);
  });

  test('a 16-bit PNG keeps its upper bytes', async () => {
    const wide = sharp(
      Uint16Array.from({ length: 12 }, () => 0xc8c8),
      {
        raw: { width: 2, height: 2, channels: 3 },
      },
    );
    const file = await wide.toColourspace('rgb16').png().toBuffer();
    expect((await sharp(file).metadata()).depth).toBe('ushort');
    expect([...(await decodeCompressed(file, 'png')).data]).toEqual(Array(12).fill(0xc8));
  });

  test('PNG is exact; EXIF orientation and colour profiles are not applied', async () => {
    const file = await noisy
      .clone()
      .withMetadata({ orientation: 6 })
      .withIccProfile('p3', { attach: true })
      .png()
      .toBuffer();
    const stored = await sharp(file, { ignoreIcc: true }).raw().toBuffer();
    const out = await decodeCompressed(file, 'png');
    expect([out.width, out.height]).toEqual([160, 120]);
    expect(Buffer.compare(out.data, stored)).toBe(0);
    expect(
      Buffer.compare((await decodeCompressed(await noisy.clone().png().toBuffer(), 'png')).data, noise),
    ).toBe(0);
  });

  test('cut and damaged files are refused, and the next good one works', async () => {
    const jpeg = await noisy.clone().jpeg().toBuffer();
    const png = await noisy.clone().png().toBuffer();
    const gif = await noisy.clone().gif().toBuffer();
    for (const file of [jpeg, png]) {
      for (const share of [0.05, 0.5, 0.99]) {
        const cut = file.subarray(0, Math.floor(file.length * share));
        await expect(decodeCompressed(cut, 'jpeg')).rejects.toEqual(
          refuses('IMAGE_CORRUPT', '"jpeg"', `${cut.length} bytes`),
        );
      }
    }
    await expect(decodeCompressed(new Uint8Array(0), 'jpeg')).rejects.toEqual(
      refuses('IMAGE_CORRUPT', 'no data'),
    );
    await expect(decodeCompressed(gif, 'jpeg')).rejects.toEqual(
      refuses('IMAGE_CORRUPT', 'neither JPEG nor PNG'),
    );
    await expect(decodeCompressed(Uint8Array.from([0xff, 0xd8, 0xff]), '')).rejects.toEqual(
      refuses('IMAGE_CORRUPT'),
    );
    expect((await decodeCompressed(jpeg, 'jpeg')).width).toBe(160);
  });

  test('a small file that claims a huge picture is refused', async () => {
    const file = await sharp({ create: { width: 9000, height: 9000, channels: 3, background: 'black' } })
      .png()
      .toBuffer();
    expect(file.length).toBeLessThan(1_000_000);
    await expect(decodeCompressed(file, 'png')).rejects.toEqual(refuses('IMAGE_CORRUPT', 'limit'));
  });

  test('whatever arrives: a picture or a coded error', async () => {
    const jpeg = await noisy.clone().jpeg().toBuffer();
    const damaged = fc.array(fc.tuple(fc.nat(jpeg.length - 1), fc.nat(255)), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(damaged, async changes => {
        const file = Uint8Array.from(jpeg);
        for (const [at, value] of changes) file[at] = value;
        try {
          const out = await decodeCompressed(file, '');
          expect(out.data).toHaveLength(out.width * out.height * 3);
        } catch (error) {
          expect(error).toEqual(refuses('IMAGE_CORRUPT'));
        }
      }),
      { numRuns: 50 },
    );
  });
});
