/** Requests that the scheduler asks itself. */
import type { StandingRequest } from '../../src/core/types';
import { Bench, standing, tunables } from './bench';
import { soloTokens } from './fake-executor';

const asking = (...requests: StandingRequest[]): Bench =>
  new Bench({ tunables: tunables({ standing: requests }) }, {}, 4, { periodMs: 0 });

/** Frames (counted from 1) of which the requests of a name were asked. */
const framesOf = (b: Bench, name: string): number[] =>
  b
    .of('token')
    .filter(t => t.sequence === 0 && t.id.startsWith(`${name}/`))
    .map(t => Number(t.frameStampNs));

it('every frame, with the frame that just began, several at a time', () => {
  const b = asking(standing('s', { every: { kind: 'frames', frames: 1 }, maxTokens: 12 })).run(3000);
  expect(framesOf(b, 's').slice(0, 6)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(Math.max(...b.of('frame-end').map(f => f.batch))).toBe(3);
  for (let i = 0; i < 5; i++) {
    const end = b.end(`s/${i}`)!;
    expect(b.tokens(`s/${i}`)).toEqual(soloTokens(b.prompts.get(end.frameStampNs)!, [], 12));
  }
});

it('every third frame', () => {
  const b = asking(standing('s', { every: { kind: 'frames', frames: 3 }, maxTokens: 2 })).run(4000);
  expect(framesOf(b, 's').slice(0, 4)).toEqual([1, 4, 7, 10]);
});

it('when the last one has ended', () => {
  // 12 tokens: one and 5 + 5 + 1 steps, so the third frame still has it and the fourth is asked
  const b = asking(standing('s', { maxTokens: 12, seedIds: [33] })).run(4000);
  expect(framesOf(b, 's').slice(0, 3)).toEqual([1, 4, 7]);
  expect(b.tokens('s/0')).toEqual(soloTokens([2, 100], [33], 12));
});

it('with a deadline from the asking on, and again after it', () => {
  const b = asking(standing('s', { maxTokens: 30, deadlineInMs: 80 })).run(2000);
  const ends = b.of('done');
  expect(ends.length).toBeGreaterThan(2);
  // asked at 200; the step that was on when time was up ends at 280
  expect(ends[0]).toMatchObject({ id: 's/0', reason: 'deadline', atMs: 280, totalMs: 80 });
  expect(framesOf(b, 's').slice(0, 3)).toEqual([1, 2, 3]);
});

it('changes while it runs: what is no longer configured is not asked, what is open goes on to its end', () => {
  const b = asking(standing('a', { maxTokens: 20 }));
  b.at(400, () => b.tune({ standing: [standing('b', { maxTokens: 3 })] }));
  b.at(2000, () => b.tune({ standing: [standing('a', { maxTokens: 2 })] }));
  b.run(3000);
  expect(b.end('a/0')).toMatchObject({ reason: 'length', sequence: 20 });
  const firstB = b.of('token').find(t => t.id === 'b/0')!;
  expect(firstB.atMs).toBeGreaterThan(400);
  expect(firstB.atMs).toBeLessThan(b.end('a/0')!.atMs);
  expect(b.of('token').filter(t => t.id.startsWith('b/') && t.atMs > 2350)).toEqual([]);
  // it goes on counting: no id comes twice
  expect(b.end('a/1')).toMatchObject({ reason: 'length', sequence: 2 });
});

it('by its priority among the others, and a new instruction supersedes it', () => {
  const b = asking(standing('s', { maxTokens: 30, priority: 1 }));
  b.at(0, () => b.ask('r', { maxTokens: 3 }));
  // the second frame is in its prefill, and void
  b.at(320, () => {
    b.epoch = 1;
    b.post({ type: 'epoch', epoch: 1, endAll: false });
  });
  b.run(900);
  const first = b.of('token').slice(0, 2).map(t => t.id); // prettier-ignore
  expect(first).toEqual(['s/0', 'r']);
  expect(b.end('s/0')!.reason).toBe('superseded');
  expect(b.of('token').find(t => t.id === 's/1')!.frameStampNs).toBe(3n);
});
