/** Hostile and damaged safetensors files: each is refused with a code, nothing outside the file is read. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { SafetensorsFile } from '../../src/builder/safetensors';
import { toFloat32 } from '../../src/builder/safetensors-floats';
import { OxygenError } from '../../src/core/errors';

let dir: string;
beforeAll(() => (dir = mkdtempSync(join(tmpdir(), 'oxygen-st-'))));
afterAll(() => rmSync(dir, { recursive: true }));

function file(header: unknown, data: Uint8Array, claimed?: bigint): string {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(claimed ?? BigInt(text.byteLength));
  const path = join(dir, 'x.safetensors');
  writeFileSync(path, Buffer.concat([prefix, text, data]));
  return path;
}

const tensor = (begin: number, end: number, shape = [(end - begin) / 4], dtype = 'F32') => ({
  dtype,
  shape,
  data_offsets: [begin, end],
});

it('reads tensors in any order of the header', () => {
  const data = new Uint8Array(Float32Array.of(1, 2, 3).buffer);
  const opened = new SafetensorsFile(
    file({ __metadata__: { a: 'b' }, late: tensor(4, 12), early: tensor(0, 4) }, data),
  );
  expect([...opened.readFloat32('late')]).toEqual([2, 3]);
  expect([...opened.readFloat32('early')]).toEqual([1]);
  expect(() => opened.readFloat32('none')).toThrow(expect.objectContaining({ code: 'CHECKPOINT_KEYS' }));
  opened.close();
});

const data = new Uint8Array(12);
it.each<[string, () => string, string]>([
  ['a header longer than the file', () => file({}, data, 1n << 40n), 'claims'],
  ['a negative-looking header length', () => file({}, data, (1n << 64n) - 1n), 'claims'],
  ['no JSON', () => file('{"a":', data), 'JSON'],
  ['a list as header', () => file([], data), 'no object'],
  ['a tensor beyond the file', () => file({ a: tensor(0, 16) }, data), 'truncated'],
  ['overlapping tensors', () => file({ a: tensor(0, 8), b: tensor(4, 12) }, data), 'overlap'],
  ['a size that is not the shape', () => file({ a: tensor(0, 8, [3]) }, data), 'needs 12 bytes'],
  ['an unknown dtype', () => file({ a: tensor(0, 8, [8], 'F8_E4M3') }, data), 'F8_E4M3'],
  ['negative offsets', () => file({ a: { dtype: 'F32', shape: [1], data_offsets: [-4, 0] } }, data), 'a'],
])('refuses %s', (_, make, message) => {
  expect(() => new SafetensorsFile(make())).toThrow(
    expect.objectContaining({
      code: 'CHECKPOINT_INVALID',
      message: expect.stringContaining(message) as string,
    }),
  );
});

it('refuses any random bytes with a code', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), bytes => {
      const path = join(dir, 'random.safetensors');
      writeFileSync(path, bytes);
      try {
        new SafetensorsFile(path).close();
      } catch (error) {
        if (!(error instanceof OxygenError)) throw error;
      }
    }),
    { numRuns: 300 },
  );
});

it('converts every floating-point type', () => {
  const bytes = (...b: number[]) => Uint8Array.from(b);
  expect([...toFloat32(bytes(0x80, 0x3f, 0x20, 0xc0, 0x00, 0x3e, 0x49, 0x40), 'BF16', '')]).toEqual([
    1, -2.5, 0.125, 3.140625,
  ]);
  expect([...toFloat32(bytes(0x00, 0x3c, 0x00, 0xc1, 0x01, 0x00, 0xff, 0x7b), 'F16', '')]).toEqual([
    1,
    -2.5,
    2 ** -24,
    65504,
  ]);
  expect([...toFloat32(new Uint8Array(Float64Array.of(0.5).buffer), 'F64', '')]).toEqual([0.5]);
  expect(() => toFloat32(bytes(1), 'BOOL', 'mask')).toThrow(
    expect.objectContaining({ code: 'CHECKPOINT_INVALID' }),
  );
});
