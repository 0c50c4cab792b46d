/** Our LZ4 against frames of the reference library (Python lz4). */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import fc from 'fast-check';
import { unpackLz4Frame } from '../../src/bag/lz4';

const PYTHON = join(__dirname, '../../.venv/bin/python');
/** [text in base64, frame in base64]: texts of all kinds, each with other options of the frame. */
const WRITER = `
import base64, json, lz4.frame as f, random
random.seed(1)
texts = [b"", b"a", bytes(300000), bytes(range(256)) * 500, random.randbytes(70000),
         b"".join(random.choice([b"frame", b"chunk", b"x", bytes(20)]) for _ in range(30000))]
out = []
for text in texts:
    for level in (0, 9):
        for linked in (True, False):
            for extra in (dict(), dict(content_checksum=True, block_checksum=True, store_size=False)):
                out.append([base64.b64encode(x).decode() for x in (text, f.compress(text, compression_level=level, block_linked=linked, block_size=f.BLOCKSIZE_MAX64KB, **extra))])
print(json.dumps(out))
`;
const pairs = (
  JSON.parse(execFileSync(PYTHON, ['-c', WRITER], { maxBuffer: 1e8 }).toString()) as [string, string][]
).map(([text, frame]) => [Buffer.from(text, 'base64'), Buffer.from(frame, 'base64')] as const);

test('frames of every kind are unpacked', () => {
  expect(pairs).toHaveLength(48);
  for (const [text, frame] of pairs) expect(text.equals(unpackLz4Frame(frame, text.length))).toBe(true);
});

test('a frame that is longer than it claims, or cut, is refused', () => {
  for (const [text, frame] of pairs.filter(([each]) => each.length > 0)) {
    expect(() => unpackLz4Frame(frame, text.length - 1)).toThrow('is longer than it claims');
    expect(() => unpackLz4Frame(frame.subarray(0, frame.length - 20), text.length)).toThrow('lz4 data');
  }
});

test('damage is refused or gives other bytes, never more than claimed, and never hurts the next frame', () => {
  const [text, frame] = pairs.at(-1)!;
  fc.assert(
    fc.property(fc.nat(frame.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const damaged = Buffer.from(frame);
      damaged[at]! ^= flip;
      try {
        expect(unpackLz4Frame(damaged, text.length).length).toBeLessThanOrEqual(text.length);
      } catch (error) {
        expect((error as Error).message).toMatch(/^its lz4 data /);
      }
    }),
  );
  expect(text.equals(unpackLz4Frame(frame, text.length))).toBe(true);
});
