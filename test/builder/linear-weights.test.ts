import fc from 'fast-check';
import { forRows, quantized, transposed } from '../../src/builder/linear-weights';
import { fromFloat32 } from '../../src/builder/safetensors-floats';

/** A source of [out, into] tensors whose value at (row, column) is known, that counts the values read at a time. */
function source(into: number, value: (name: string, row: number, column: number) => number) {
  const reads: number[] = [];
  const readRows = (name: string, first: number, count: number) => {
    reads.push(count * into);
    return Float32Array.from({ length: count * into }, (_, i) =>
      value(name, first + Math.floor(i / into), i % into),
    );
  };
  return { reads, readRows, read: (name: string) => readRows(name, 0, 1) };
}

const at = (name: string, row: number, column: number) => name.charCodeAt(0) * 1e4 + row * 100 + column;

it('stacks tensors side by side, inputs first', () => {
  const { readRows, read } = source(3, at);
  const all = transposed({ readRows, read }, { names: ['a', 'b'], into: 3, outs: [2, 1] });
  const want = [0, 1, 2].flatMap(column => [at('a', 0, column), at('a', 1, column), at('b', 0, column)]);
  expect(Array.from(all)).toEqual(want);
});

it('reads a table of any length in slices, each value once', () => {
  const into = 2048;
  const rows = 5000;
  const { reads, ...table } = source(into, () => 1);
  let seen = 0;
  forRows(table, { names: ['t'], into, outs: [rows] }, (values, column) => {
    expect(column * into).toBe(seen);
    seen += values.length;
  });
  expect(seen).toBe(rows * into);
  expect(Math.max(...reads)).toBeLessThanOrEqual(4 * 1024 * 1024);
});

it('codes are within half a step of the weights, for every row by its own scale', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.float({ min: -1e4, max: 1e4, noNaN: true }), { minLength: 5, maxLength: 5 }), {
        minLength: 1,
        maxLength: 70,
      }),
      rows => {
        const weights = { ...source(5, (_, row, column) => rows[row]?.[column] ?? NaN) };
        const { codes, scales } = quantized(weights, { names: ['w'], into: 5, outs: [rows.length] });
        rows.forEach((row, r) =>
          row.forEach((w, i) => {
            const code = codes[i * rows.length + r]!;
            expect(code).toBeGreaterThanOrEqual(1);
            expect(Math.abs((code - 128) * scales[r]! - w)).toBeLessThanOrEqual(scales[r]! * 0.5001 + 1e-30);
          }),
        );
      },
    ),
  );
});

it('a row of zeros stays zeros', () => {
  const { codes, scales } = quantized(
    source(4, () => 0),
    { names: ['w'], into: 4, outs: [2] },
  );
  expect(Array.from(codes)).toEqual(new Array(8).fill(128));
  expect(Array.from(scales)).toEqual([1, 1]);
});

it('keeps bfloat16 values bit for bit', () => {
  const values = Float32Array.of(1, -2.5, 0.125, 3.140625, -0);
  expect(Array.from(new Uint16Array(fromFloat32(values, 'BF16').buffer))).toEqual([
    0x3f80, 0xc020, 0x3e00, 0x4049, 0x8000,
  ]);
});
