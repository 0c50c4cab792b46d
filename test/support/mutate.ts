/** Damaged copies of a text, for fuzzing readers of small files. */
import fc from 'fast-check';

const JSON_PARTS = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  'null',
  'true',
  '1e999',
  '-1',
  '1e-320',
  '{"a":{}}',
  '[[[[',
  '\\u0000',
  'NaN',
  '"x"',
];

/** One to four edits: bytes replaced, ranges removed, doubled or swapped, JSON parts put in, the end cut off. */
export function mutated(original: string): fc.Arbitrary<string> {
  const at = fc.nat(original.length);
  const edit = fc.oneof(
    fc.record({
      kind: fc.constant('replace' as const),
      at,
      length: fc.nat(30),
      text: fc.constantFrom(...JSON_PARTS),
    }),
    fc.record({
      kind: fc.constant('replace' as const),
      at,
      length: fc.nat(2),
      text: fc.string({ maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant('replace' as const),
      at,
      length: fc.constant(1),
      text: fc.constantFrom(...'0123456789'),
    }),
    fc.record({ kind: fc.constant('double' as const), at, length: fc.nat(400), text: fc.constant('') }),
    fc.record({ kind: fc.constant('cut' as const), at, length: fc.constant(0), text: fc.constant('') }),
  );
  return fc.array(edit, { minLength: 1, maxLength: 4 }).map(edits =>
    edits.reduce((text, { kind, at: from, length, text: put }) => {
      const start = Math.min(from, text.length);
      const piece = text.slice(start, start + length);
      if (kind === 'cut') return text.slice(0, start);
      return (
        text.slice(0, start) + (kind === 'double' ? piece + piece : put) + text.slice(start + piece.length)
      );
    }, original),
  );
}
