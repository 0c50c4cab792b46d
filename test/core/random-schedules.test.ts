/** The scheduler under random load: arrivals, lengths, seeds, cancels, epochs, deadlines, failures, modes, k. */
import fc from 'fast-check';
import { map } from 'rxjs';
import type { Bench } from './bench';
import { play } from './play';
import { schedules } from './schedule';

it('holds all its promises in 10,000 random schedules', () => {
  const seen = new Map<string, number>();
  let batch = 0;
  fc.assert(
    fc.property(schedules, s => {
      for (const e of play(s).events) {
        const what = e.type === 'done' ? e.reason : e.type;
        seen.set(what, (seen.get(what) ?? 0) + 1);
        if (e.type === 'frame-end') batch = Math.max(batch, e.batch);
      }
    }),
    { numRuns: 10_000 },
  );
  // The schedules are worth something: every end came up, and full batches.
  const all = ['end', 'length', 'deadline', 'cancelled', 'superseded', 'out_of_memory', 'failed', 'rejected', 'dropped', 'language-off', 'chunk']; // prettier-ignore
  expect(all.filter(what => (seen.get(what) ?? 0) < 20)).toEqual([]);
  expect(batch).toBe(4);
}, 300_000);

/** Exchanges what a step gave to the first two rows. */
function swapTokens({ executor }: Bench): void {
  const decode = executor.decode.bind(executor);
  executor.decode = (...step) =>
    decode(...step).pipe(
      map(({ kv, next: [a, b, ...rest] }) => ({ kv, next: [b ?? a, b && a, ...rest].flatMap(c => c ?? []) })),
    );
}

/** Tells the scheduler that the first two rows lie the other way round. */
function swapRows({ cache }: Bench): void {
  const batch = cache.batch.bind(cache);
  cache.batch = () => {
    const [a, b, ...rest] = batch();
    return a && b ? [b, a, ...rest] : batch();
  };
}

it.each([
  ['tokens of two rows', swapTokens],
  ['two rows', swapRows],
])('would notice if %s were exchanged', (_, spoil) => {
  const result = fc.check(
    fc.property(schedules, s => {
      play(s, spoil);
    }),
    { numRuns: 1000, endOnFailure: true },
  );
  expect(result.failed).toBe(true);
  expect(String(result.errorInstance)).toMatch(/ said | of different rows| had not ended/);
});
