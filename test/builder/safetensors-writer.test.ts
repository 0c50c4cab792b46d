/** Number formats and the writer: exact values, rounding to nearest even, order, nothing missing. */
import fs, { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { SafetensorsFile } from '../../src/builder/safetensors';
import { fromFloat32, toFloat32, type StoredDtype } from '../../src/builder/safetensors-floats';
import { SafetensorsWriter, writeSafetensors } from '../../src/builder/safetensors-writer';
import { WeightsFile } from '../../src/builder/weights-file';
import { largestAllocation } from '../support/allocations';
import { openFiles } from '../support/open-files';
import { readSafetensors } from '../support/safetensors';

let dir: string;
beforeAll(() => (dir = mkdtempSync(join(tmpdir(), 'oxygen-writer-'))));
afterAll(() => rmSync(dir, { recursive: true }));

const bytes = (...b: number[]) => Uint8Array.from(b);
const stored = (value: number, dtype: StoredDtype): number =>
  toFloat32(fromFloat32(Float32Array.of(value), dtype), dtype, '')[0]!;

it('O-17: converts every floating-point type to the exact values', () => {
  expect([...toFloat32(bytes(0x80, 0x3f, 0x20, 0xc0, 0x00, 0x3e, 0x49, 0x40), 'BF16', '')]).toEqual([
    1, -2.5, 0.125, 3.140625,
  ]);
  expect([...toFloat32(bytes(0x00, 0x3c, 0x00, 0xc1, 0x01, 0x00, 0xff, 0x7b), 'F16', '')]).toEqual([
    1,
    -2.5,
    2 ** -24,
    65504,
  ]);
  expect([...toFloat32(bytes(0x00, 0x80, 0x00, 0x7c, 0x00, 0xfc, 0x01, 0x7e), 'F16', '')]).toEqual([
    -0,
    Infinity,
    -Infinity,
    NaN,
  ]);
  expect([...toFloat32(new Uint8Array(Float64Array.of(0.1).buffer), 'F64', '')]).toEqual([Math.fround(0.1)]);
  expect([...toFloat32(bytes(9, 0x80, 0x3f).subarray(1), 'BF16', '')]).toEqual([1]);
  expect(() => toFloat32(bytes(1), 'BOOL', 'mask')).toThrow(
    expect.objectContaining({
      code: 'CHECKPOINT_INVALID',
      message: expect.stringContaining('mask is BOOL') as string,
    }),
  );
});

it('every 16-bit word of both formats survives reading and writing', () => {
  const words = Uint16Array.from({ length: 65536 }, (_, i) => i);
  for (const dtype of ['BF16', 'F16'] as const) {
    const back = new Uint16Array(
      fromFloat32(toFloat32(new Uint8Array(words.slice().buffer), dtype, ''), dtype).buffer,
    );
    const isNan = (w: number) =>
      Number.isNaN(toFloat32(new Uint8Array(Uint16Array.of(w).buffer), dtype, '')[0]);
    expect([...words].filter(w => (isNan(w) ? !isNan(back[w]!) : back[w] !== w))).toEqual([]);
  }
});

it.each<[StoredDtype, number, number]>([
  ['BF16', 1 + 2 ** -8, 1],
  ['BF16', 1 + 3 * 2 ** -8, 1 + 2 ** -6],
  ['BF16', 1 + 2 ** -8 + 2 ** -20, 1 + 2 ** -7],
  ['BF16', 3.4e38, Infinity],
  ['BF16', NaN, NaN],
  ['F16', 1 + 2 ** -11, 1],
  ['F16', 1 + 3 * 2 ** -11, 1 + 2 ** -9],
  ['F16', 65519, 65504],
  ['F16', -65520, -Infinity],
  ['F16', 2 ** -25, 0],
  ['F16', 1.5 * 2 ** -24, 2 ** -23],
  ['F16', 2 ** -14 - 2 ** -26, 2 ** -14],
  ['F16', 1e-40, 0],
  ['F16', NaN, NaN],
])('%s rounds %d to %d', (dtype, value, rounded) => expect(stored(value, dtype)).toBe(rounded));

it('rounding is to the nearest', () => {
  const spacing = { BF16: 2 ** -8, F16: 2 ** -11 };
  fc.assert(
    fc.property(
      fc.constantFrom('BF16' as const, 'F16' as const),
      fc.float({ min: 2 ** -13, max: 60000, noNaN: true }),
      (dtype, x) => {
        expect(Math.abs(stored(x, dtype) - x)).toBeLessThanOrEqual(x * spacing[dtype]);
      },
    ),
  );
});

it('writes tensors in pieces, as the reader and an independent one read them', () => {
  const path = join(dir, 'pieces.safetensors');
  const values = Float32Array.from({ length: 12 }, (_, i) => i - 4);
  const shapes = new Map([
    ['a', { dtype: 'BF16', shape: [4, 3] }],
    ['none', { dtype: 'F32', shape: [0, 3] }],
    ['b', { dtype: 'F16', shape: [12] }],
    ['c', { dtype: 'F32', shape: [] }],
  ] as const);
  const writer = new SafetensorsWriter(path, shapes);
  writer.write('a', values.subarray(0, 3));
  writer.write('a', values.subarray(3));
  writer.write('b', values);
  writer.write('c', Float32Array.of(Math.PI));
  writer.finish();
  const file = new SafetensorsFile(path);
  expect([...file.readFloat32('a')]).toEqual([...values]);
  expect([...file.readRowsFloat32('a', 2, 2)]).toEqual([...values.subarray(6)]);
  expect([...file.readFloat32('b')]).toEqual([...values]);
  expect(file.info('none').shape).toEqual([0, 3]);
  file.close();
  expect(readSafetensors(path).get('c')).toMatchObject({ shape: [], data: Float32Array.of(Math.PI) });
});

it('values in the wrong order, too many and too few are bugs that show', () => {
  const shapes = new Map([
    ['a', { dtype: 'F32', shape: [2] }],
    ['b', { dtype: 'F32', shape: [1] }],
  ] as const);
  const writer = new SafetensorsWriter(join(dir, 'wrong.safetensors'), shapes);
  expect(() => writer.write('b', new Float32Array(1))).toThrow('2 values of a expected, got 1 of b');
  expect(() => writer.write('a', new Float32Array(3))).toThrow('2 values of a expected, got 3 of a');
  writer.write('a', new Float32Array(2));
  expect(() => writer.finish()).toThrow('1 values of b are missing');
});

it('a list of numbers is stored as float32', () => {
  const path = join(dir, 'list.safetensors');
  writeSafetensors(path, new Map([['x', { shape: [3], values: [0.5, 1, -2] }]]));
  expect(readSafetensors(path).get('x')?.data).toEqual(Float32Array.of(0.5, 1, -2));
});

it('never holds more of a tensor than a piece', () => {
  const path = join(dir, 'large.safetensors');
  const rows = Float32Array.from({ length: 1 << 22 }, (_, i) => i);
  const writer = new SafetensorsWriter(path, new Map([['t', { dtype: 'BF16', shape: [8, 1 << 20] }]]));
  const largest = largestAllocation('Uint16Array', () => {
    writer.write('t', rows);
    writer.write('t', rows);
  });
  writer.finish();
  expect(statSync(path).size).toBeGreaterThan(2 ** 24);
  expect(largest).toBe(1 << 20);
});

describe('a disk that is full leaves no file open', () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  const one = new Map([['x', { shape: [3], values: [0.5, 1, -2] }]]);
  afterEach(() => jest.restoreAllMocks());

  it('at the header', () => {
    expect(() => writeSafetensors('/dev/full', one)).toThrow('ENOSPC');
    expect(openFiles('/dev/full')).toEqual([]);
  });

  it('at the values', () => {
    const path = join(dir, 'full.safetensors');
    const write = fs.writeSync;
    let writes = 0;
    jest.spyOn(fs, 'writeSync').mockImplementation(((fd: number, bytes: Uint8Array, at: number) => {
      if (++writes > 1) throw full;
      return write(fd, bytes, at);
    }) as typeof fs.writeSync);
    expect(() => writeSafetensors(path, one)).toThrow('ENOSPC');
    expect(openFiles(path)).toEqual([]);
  });

  it('when a file of weights is brought to the disk', () => {
    const path = join(dir, 'full.weights');
    const file = new WeightsFile(path);
    file.append(Float32Array.of(1));
    expect(openFiles(path)).toEqual([path]);
    jest.spyOn(fs, 'fsyncSync').mockImplementation(() => {
      throw full;
    });
    expect(() => file.close()).toThrow('ENOSPC');
    expect(openFiles(path)).toEqual([]);
  });
});
