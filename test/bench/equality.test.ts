import { compare, compareTexts } from '../../src/bench/equality';
import { block, request } from './blocks';

const text = (tokenIds: number[], margins = tokenIds.map(() => 1)) => ({ tokenIds, margins });

it('classifies by the margin where texts part', () => {
  expect(compareTexts(text([1, 2, 3]), text([1, 2, 3]))).toBe('equal');
  expect(compareTexts(text([1, 9, 8]), text([1, 2, 3]))).toBe('differing');
  expect(compareTexts(text([1, 9, 8], [1, 5e-5, 1]), text([1, 2, 3]))).toBe('near tie');
  expect(compareTexts(text([1, 9, 8]), text([1, 2, 3], [1, 5e-5, 1]))).toBe('near tie');
  // what follows a parting, and near ties elsewhere, say nothing
  expect(compareTexts(text([1, 9, 8], [1e-9, 1, 1e-9]), text([1, 2, 3]))).toBe('differing');
  expect(compareTexts(text([1, 2]), text([1, 2, 3]))).toBe('differing');
  expect(compareTexts(undefined, text([1]))).toBe('differing');
});

it('counts, hashes and measures against the reference', () => {
  const reference = [
    block({ requests: [request('1.0'), request('2.0')] }),
    block({ requests: [request('3.0')] }),
  ];
  const same = compare(reference, reference);
  expect(same).toMatchObject({ near_ties: 0, differing: 0, chunk_max_difference: 0 });
  // the order in which requests end, and how blocks are cut, are no difference
  const reordered = [block({ requests: [request('3.0'), request('2.0'), request('1.0')], chunks: reference.flatMap(b => b.chunks) })]; // prettier-ignore
  expect(compare(reordered, reference)).toEqual(same);

  const parted = [
    block({ requests: [request('1.0', { tokenIds: [1, 2, 4] }), request('2.0')], chunks: [Float32Array.of(0.5, -0.25)] }),
    block({ requests: [request('3.0', { tokenIds: [7, 2, 3], margins: [1e-5, 1, 1] })] }),
  ]; // prettier-ignore
  const c = compare(parted, reference);
  expect(c).toMatchObject({ near_ties: 1, differing: 1, chunk_max_difference: 0.25 });
  expect(c.text_hash).not.toBe(same.text_hash);
  expect(c.chunk_hash).not.toBe(same.chunk_hash);
});

it('texts that changed places are not equal', () => {
  const a = [block({ requests: [request('1.0', { tokenIds: [1] }), request('2.0', { tokenIds: [2] })] })];
  const b = [block({ requests: [request('1.0', { tokenIds: [2] }), request('2.0', { tokenIds: [1] })] })];
  expect(compare(b, a)).toMatchObject({ differing: 2 });
  expect(compare(b, a).text_hash).not.toBe(compare(a, a).text_hash);
});

it('one bit of an action is a difference', () => {
  const a = [block({ chunks: [Float32Array.of(0)] })];
  expect(compare([block({ chunks: [Float32Array.of(-0)] })], a).chunk_hash).not.toBe(
    compare(a, a).chunk_hash,
  );
});
