/** The cache against a plain model of it: every request's positions must read back as written, whatever happens around. */
import fc from 'fast-check';
import { KvCache, type CacheSnapshot } from '../../src/core/kv-cache';
import type { Candidates, NewKv } from '../../src/core/ports';
import { checkInvariants } from './invariants';

const SHAPE = { layers: 2, headDim: 3, maxRequests: 4, capacity: 12 };
const NEXT: Candidates = { ids: [1], logits: Float32Array.of(0), logSumExp: 0 };

/** [positions] numbers repeated over layers and channels, so that a wrong copy shows in any of them. */
function kvOf(marks: readonly number[]): NewKv {
  const layer = (l: number) =>
    Float32Array.from(
      marks.flatMap(m => Array.from({ length: SHAPE.headDim }, (_, d) => m + l * 1000 + d * 0.25)),
    );
  return { k: [layer(0), layer(1)], v: [layer(2), layer(3)] };
}

/** The mark of each position; throws when layers or channels disagree about it. */
function marksOf(
  view: { k: readonly Float32Array[]; v: readonly Float32Array[] },
  row: number,
  stride: number,
  length: number,
): number[] {
  const layers = [...view.k, ...view.v];
  return Array.from({ length }, (_, p) => {
    const at = (row * stride + p) * SHAPE.headDim;
    const mark = layers[0]?.[at] as number;
    layers.forEach((layer, l) => {
      for (let d = 0; d < SHAPE.headDim; d++)
        if (layer[at + d] !== mark + l * 1000 + d * 0.25) throw new Error(`position ${p} is mixed up`);
    });
    return mark;
  });
}

const same = (got: readonly number[], expected: readonly number[]): void => {
  if (got.join() !== expected.join()) expect(got).toEqual(expected);
};

type Command =
  | { readonly do: 'prefix'; readonly length: number }
  | { readonly do: 'attach'; readonly room: number }
  | { readonly do: 'append'; readonly pick: number; readonly count: number }
  | { readonly do: 'release'; readonly pick: number }
  | { readonly do: 'drop' };

const commands: fc.Arbitrary<Command[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('prefix' as const), length: fc.integer({ min: 1, max: 6 }) }) },
    { weight: 8, arbitrary: fc.record({ do: fc.constant('attach' as const), room: fc.integer({ min: 1, max: 6 }) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('append' as const), pick: fc.nat(9), count: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 8, arbitrary: fc.record({ do: fc.constant('release' as const), pick: fc.nat(9) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('drop' as const) }) },
  ), // prettier-ignore
  { maxLength: 60 },
);

it('keeps every request and the prefix intact through any sequence of events', () => {
  fc.assert(
    fc.property(commands, sequence => {
      const cache = new KvCache(SHAPE);
      const rows = new Map<string, { marks: number[]; cap: number }>();
      let prefix: number[] | null = null;
      let mark = 0;
      const fresh = (count: number) => Array.from({ length: count }, () => ++mark);
      for (const c of sequence) {
        const ids = [...rows.keys()];
        const id = 'pick' in c ? ids[c.pick % Math.max(1, ids.length)] : undefined;
        const row = id === undefined ? undefined : rows.get(id);
        if (c.do === 'prefix') {
          prefix = fresh(c.length);
          cache.commitPrefix(
            { frameId: mark, stampNs: 0n, epoch: 0, length: c.length, next: NEXT },
            kvOf(prefix),
          );
        } else if (c.do === 'drop') {
          prefix = null;
          cache.dropPrefix();
        } else if (c.do === 'attach') {
          const cap = (prefix?.length ?? 0) + c.room;
          if (!prefix || rows.size === SHAPE.maxRequests) {
            expect(() => cache.attach('x', cap)).toThrow(expect.objectContaining({ code: 'CACHE_FULL' }));
          } else {
            // ids that look like integers: a map keyed by object order would sort them
            const name = String(100 - mark++);
            cache.attach(name, cap);
            rows.set(name, { marks: [...prefix], cap });
          }
        } else if (row && id !== undefined && c.do === 'append') {
          const marks = fresh(c.count);
          if (row.marks.length + c.count > row.cap) {
            expect(() => cache.append(id, kvOf(marks), 0, c.count)).toThrow(
              expect.objectContaining({ code: 'CACHE_FULL' }),
            );
          } else {
            cache.append(id, kvOf(marks), 0, c.count);
            row.marks.push(...marks);
          }
        } else if (row && id !== undefined && c.do === 'release') {
          cache.release(id);
          rows.delete(id);
        }
        const violations = checkInvariants(cache.snapshot());
        if (violations.length > 0) throw new Error(violations.join());
        const batch = cache.batch();
        const view = batch.length > 0 ? cache.batchView() : null;
        if (batch.length !== rows.size) throw new Error('a row is missing or left over');
        batch.forEach(({ id: name, length }, i) => {
          const expected = rows.get(name)!.marks;
          same([length], [expected.length]);
          same(marksOf(view!, i, view!.positions, length), expected);
          same(marksOf(cache.rowView(name), 0, 0, length), expected);
        });
        if (view && ![...view.k, ...view.v].every(layer => layer.every(Number.isFinite)))
          throw new Error('not finite');
        if (prefix) same(marksOf(cache.prefixView(), 0, 0, prefix.length), prefix);
        else if (cache.prefix !== null) throw new Error('the prefix should be gone');
      }
    }),
    { numRuns: 2000 },
  );
});

it('gives the first request of a frame the prefix row itself and the next ones a copy', () => {
  const cache = new KvCache(SHAPE);
  cache.commitPrefix({ frameId: 0, stampNs: 0n, epoch: 0, length: 3, next: NEXT }, kvOf([1, 2, 3]));
  const before = cache.prefixView().k[0] as Float32Array;
  cache.attach('a', 6);
  const adopted = cache.rowView('a').k[0] as Float32Array;
  expect(adopted.byteOffset).toBe(before.byteOffset);
  cache.attach('b', 6);
  expect((cache.rowView('b').k[0] as Float32Array).byteOffset).not.toBe(before.byteOffset);
});

it('keeps the prefix when the row that holds it ends and an older row moves there', () => {
  const cache = new KvCache(SHAPE);
  const commit = (frameId: number, marks: number[]) =>
    cache.commitPrefix({ frameId, stampNs: 0n, epoch: 0, length: marks.length, next: NEXT }, kvOf(marks));
  commit(0, [1, 2]);
  cache.attach('a', 6);
  cache.attach('b', 6);
  commit(1, [5, 6, 7]);
  cache.attach('new', 6);
  cache.release('a'); // 'new' moves to row 0, before 'b'
  cache.release('new');
  expect(marksOf(cache.prefixView(), 0, 0, 3)).toEqual([5, 6, 7]);
  cache.append('b', kvOf([9]), 0, 1);
  cache.attach('late', 6);
  expect(marksOf(cache.rowView('late'), 0, 0, 3)).toEqual([5, 6, 7]);
  expect(marksOf(cache.rowView('b'), 0, 0, 3)).toEqual([1, 2, 9]);
});

it('always has a row for the next prefix, however many requests are active', () => {
  const cache = new KvCache(SHAPE);
  cache.commitPrefix({ frameId: 0, stampNs: 0n, epoch: 0, length: 2, next: NEXT }, kvOf([1, 2]));
  for (let i = 0; i < SHAPE.maxRequests; i++) cache.attach(`r${i}`, 4);
  cache.commitPrefix({ frameId: 1, stampNs: 0n, epoch: 0, length: 2, next: NEXT }, kvOf([8, 9]));
  expect(marksOf(cache.prefixView(), 0, 0, 2)).toEqual([8, 9]);
  expect(() => cache.attach('one more', 4)).toThrow(expect.objectContaining({ code: 'CACHE_FULL' }));
});

it.each(['prefix', 'append'] as const)('refuses non-finite values on %s and stays as it was', what => {
  const cache = new KvCache(SHAPE);
  cache.commitPrefix({ frameId: 0, stampNs: 0n, epoch: 0, length: 2, next: NEXT }, kvOf([1, 2]));
  cache.attach('a', 6);
  const before = JSON.stringify(cache.snapshot(), (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v));
  for (const bad of [NaN, Infinity, -Infinity]) {
    const kv = kvOf([5]);
    (kv.v[1] as Float32Array)[2] = bad;
    const commit = () =>
      what === 'prefix'
        ? cache.commitPrefix({ frameId: 1, stampNs: 0n, epoch: 0, length: 1, next: NEXT }, kv)
        : cache.append('a', kv, 0, 1);
    expect(commit).toThrow(expect.objectContaining({ code: 'NON_FINITE' }));
  }
  expect(JSON.stringify(cache.snapshot(), (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v))).toBe(
    before,
  );
  expect(marksOf(cache.rowView('a'), 0, 0, 2)).toEqual([1, 2]);
});

it('reports each broken invariant', () => {
  const row = { id: 'a', frameId: 0, prefixLength: 3, length: 4, cap: 6 };
  const prefix = { frameId: 0, stampNs: 0n, epoch: 0, length: 3, next: NEXT, row: 1 };
  const good: CacheSnapshot = { rows: [row], prefix, shape: SHAPE };
  expect(checkInvariants(good)).toEqual([]);
  const bad: CacheSnapshot[] = [
    { ...good, rows: [row, row] },
    { ...good, rows: [{ ...row, length: 2 }] },
    { ...good, rows: [{ ...row, length: 7 }] },
    { ...good, rows: [{ ...row, cap: 13 }] },
    { ...good, prefix: { ...prefix, row: 5 } },
    { ...good, prefix: { ...prefix, row: 0, frameId: 1 } },
    { ...good, prefix: { ...prefix, row: 0, length: 2 } },
    { ...good, prefix: { ...prefix, length: 13 } },
    { ...good, rows: Array.from({ length: 5 }, (_, i) => ({ ...row, id: String(i) })) },
  ];
  for (const snapshot of bad) expect(checkInvariants(snapshot).length).toBeGreaterThan(0);
});
