import { planStep, stepsAhead, type Budget, type PlanSnapshot } from '../../src/core/plan';
import type { Frame, LanguageRequest } from '../../src/core/types';
import type { Queued } from '../../src/core/urgency';
import { auto, fixed, request } from './bench';

const frame: Frame = { id: 1, stampNs: 1n, epoch: 0, cameras: [], images: new Uint8Array(), promptIds: [2] };
const queued = (
  id: string,
  more: Partial<LanguageRequest> = {},
  inFrame = false,
  queuedAtMs = 0,
): Queued => ({
  request: request(id, more),
  queuedAtMs,
  inFrame,
});
const base: PlanSnapshot = {
  credit: 'none', waiting: null, owed: null, frame, prefilledFor: null, started: 0, steps: 0, lastPrefillMs: 0, playsUntilMs: null, active: [], queue: [], maxRequests: 2,
}; // prettier-ignore
const budget: Budget = {
  nowMs: 1000, mode: 'oxygen', tokensPerFrame: fixed(3), replanRateHz: 0, ageingMs: 0,
  expected: { chunkMs: 100, prefillMs: 60, seedMs: 5, decodeMs: 10 },
}; // prettier-ignore
const AUTO: Partial<Budget> = { tokensPerFrame: auto(2) };
const plan = (s: Partial<PlanSnapshot>, b: Partial<Budget> = {}) =>
  planStep({ ...base, ...s }, { ...budget, ...b });

it.each<[string, Partial<PlanSnapshot>, Partial<Budget>, object]>([
  ['asks for the first frame', { steps: null, lastPrefillMs: null, frame: null }, {}, { kind: 'ask' }],
  ['waits for the frame asked for', { steps: null, credit: 'asked' }, {}, { kind: 'idle', wakeAtMs: null }],
  [
    'lets language wait for a frame that comes',
    { credit: 'asked', steps: 3, active: [request('a')] },
    {},
    { kind: 'idle', wakeAtMs: null },
  ],
  [
    'lets language go on when no frame comes',
    { credit: 'starved', steps: 3, active: [request('a')] },
    {},
    { kind: 'decode' },
  ],
  [
    'starts the frame that came',
    { waiting: frame, active: [request('a')] },
    {},
    { kind: 'prefill', frame, owner: null },
  ],
  [
    'gives the chunk out before anything else',
    { owed: frame, waiting: frame, queue: [queued('a')] },
    {},
    { kind: 'denoise', frame },
  ],
  [
    'seeds before decode steps',
    { queue: [queued('b')], active: [request('a')] },
    {},
    { kind: 'start', request: request('b') },
  ],
  ['decodes k steps', { steps: 2, active: [request('a')] }, {}, { kind: 'decode' }],
  ['asks after k steps', { steps: 3, active: [request('a')] }, {}, { kind: 'ask' }],
  ['asks at once when nobody speaks', { steps: 0 }, {}, { kind: 'ask' }],
  [
    'starts a waiting request before the next frame',
    { steps: 0, queue: [queued('a')] },
    {},
    { kind: 'start', request: request('a') },
  ],
  [
    'has no row to give away',
    { steps: 0, queue: [queued('c')], active: [request('a'), request('b')] },
    {},
    { kind: 'decode' },
  ],
  ['cannot start without a prefix', { steps: null, frame: null, queue: [queued('a')] }, {}, { kind: 'ask' }],
  [
    'keeps the replan cap',
    { steps: 3, lastPrefillMs: 900 },
    { replanRateHz: 5 },
    { kind: 'idle', wakeAtMs: 1100 },
  ],
  [
    'goes on talking under the cap',
    { steps: 3, lastPrefillMs: 900, active: [request('a')] },
    { replanRateHz: 5 },
    { kind: 'decode' },
  ],
  [
    'holds a delivered frame back under the cap',
    { waiting: frame, lastPrefillMs: 900 },
    { replanRateHz: 5 },
    { kind: 'idle', wakeAtMs: 1100 },
  ],
  [
    'ends what is late',
    { active: [request('a'), request('b', { deadlineMs: 1000 })] },
    {},
    { kind: 'expire', id: 'b' },
  ],
  [
    'ends what is late in the queue',
    { queue: [queued('q', { deadlineMs: 999 })] },
    {},
    { kind: 'expire', id: 'q' },
  ],
  [
    'wakes for the next deadline',
    { credit: 'starved', frame: null, queue: [queued('q', { deadlineMs: 1500 })] },
    {},
    { kind: 'idle', wakeAtMs: 1500 },
  ],
  [
    'starts no step under the cap that would end after it',
    { steps: 3, lastPrefillMs: 809, active: [request('a')] },
    { replanRateHz: 5 },
    { kind: 'idle', wakeAtMs: 1009 },
  ],
  [
    'starts no more requests for a step than there are rows',
    { started: 2, active: [], queue: [queued('c')] },
    {},
    { kind: 'ask' },
  ],
  [
    'but as many as there are while no frame comes',
    { started: 2, credit: 'starved', queue: [queued('c')] },
    {},
    { kind: 'start', request: request('c') },
  ],
  // --- auto: due at 1700 - 105 % of 100
  [
    'auto: decodes as long as a step ends before the frame is due',
    { steps: 9, playsUntilMs: 1700, active: [request('a')] },
    { ...AUTO, nowMs: 1585 },
    { kind: 'decode' },
  ],
  [
    'auto: asks when no step fits any more',
    { steps: 9, playsUntilMs: 1700, active: [request('a')] },
    { ...AUTO, nowMs: 1585.5 },
    { kind: 'ask' },
  ],
  [
    'auto: a seed must fit as well',
    { steps: 9, playsUntilMs: 1700, active: [request('a')], queue: [queued('b', { seedIds: [1] })] },
    { ...AUTO, nowMs: 1590 },
    { kind: 'start', request: request('b', { seedIds: [1] }) },
  ],
  [
    'auto: and waits for the next frame if it does not',
    { steps: 9, playsUntilMs: 1700, active: [request('a')], queue: [queued('b', { seedIds: [1] })] },
    { ...AUTO, nowMs: 1590.5 },
    { kind: 'ask' },
  ],
  [
    'auto: the least steps come first, however late it is',
    { steps: 1, playsUntilMs: 1700, active: [request('a')] },
    { ...AUTO, nowMs: 5000 },
    { kind: 'decode' },
  ],
  [
    'auto: asks at once before the first chunk, after the least steps',
    { steps: 2, playsUntilMs: null, active: [request('a')] },
    AUTO,
    { kind: 'ask' },
  ],
  ['auto: asks at once when nobody speaks', { steps: 0, playsUntilMs: 9000 }, AUTO, { kind: 'ask' }],
  [
    'auto: asks at once after an epoch',
    { steps: null, frame: null, playsUntilMs: 9000, active: [request('a')] },
    AUTO,
    { kind: 'ask' },
  ],
  [
    'auto: the cap holds when the chunk ended before it',
    { steps: 9, playsUntilMs: 1000, lastPrefillMs: 900, active: [request('a')] },
    { ...AUTO, nowMs: 1085, replanRateHz: 5 },
    { kind: 'decode' },
  ],
  // --- modes
  [
    'shared: one request after the other',
    { active: [request('a')], queue: [queued('b', {}, true)] },
    { mode: 'shared' },
    { kind: 'decode' },
  ],
  ['shared: k means nothing', { steps: 99, active: [request('a')] }, { mode: 'shared' }, { kind: 'decode' }],
  [
    'shared: starts from the prefix that is there',
    { queue: [queued('a', {}, true)] },
    { mode: 'shared' },
    { kind: 'start', request: request('a') },
  ],
  ['shared: who came later waits', { queue: [queued('a')] }, { mode: 'shared' }, { kind: 'ask' }],
  [
    'isolated: prefills again for the request',
    { queue: [queued('a', {}, true)] },
    { mode: 'isolated' },
    { kind: 'prefill', frame, owner: 'a' },
  ],
  [
    'isolated: and then starts it',
    { prefilledFor: 'a', queue: [queued('a', {}, true)] },
    { mode: 'isolated' },
    { kind: 'start', request: request('a') },
  ],
])('%s', (_, s, b, expected) => {
  expect(plan(s, b)).toEqual(expected);
});

function order(waiting: readonly Queued[], b: Partial<Budget> = {}): string[] {
  const ids: string[] = [];
  for (let rest = waiting; rest.length > 0; rest = rest.filter(q => q.request.id !== ids.at(-1))) {
    const step = plan({ queue: rest }, b);
    if (step.kind !== 'start') throw new Error(step.kind);
    ids.push(step.request.id);
  }
  return ids;
}

it('admits by priority, then deadline, then age', () => {
  const waiting = [
    queued('old'),
    queued('soon', { deadlineMs: 5000 }),
    queued('vip', { priority: 1 }),
    queued('sooner', { deadlineMs: 4000 }),
  ];
  expect(order(waiting)).toEqual(['vip', 'sooner', 'soon', 'old']);
});

it('raises the priority of those who wait', () => {
  const waiting = [queued('old', {}, false, 0), queued('vip', { priority: 2 }, false, 400)];
  const b = { nowMs: 900 };
  expect(order(waiting, { ...b, ageingMs: 0 })).toEqual(['vip', 'old']);
  // 900 / 300 = 3 steps against 2 + floor(500 / 300) = 3: equal, so age decides
  expect(order(waiting, { ...b, ageingMs: 300 })).toEqual(['old', 'vip']);
  // 900 / 460 = 1 step against 2 + 1
  expect(order(waiting, { ...b, ageingMs: 460 })).toEqual(['vip', 'old']);
});

describe('how far decode steps may run ahead', () => {
  const ahead = (s: Partial<PlanSnapshot>, b: Partial<Budget> = {}) =>
    stepsAhead({ ...base, ...s }, { ...budget, ...b });
  // 5 % before a chunk of 100 ms has to begin
  const due = { playsUntilMs: 1305, tokensPerFrame: auto(2) };

  it.each<[string, Partial<PlanSnapshot>, Partial<Budget>, object]>([
    ['a fixed k: what is left of it', { steps: 1 }, {}, { steps: 2, untilMs: -Infinity }],
    ['a fixed k that is done: one step', { steps: 3 }, {}, { steps: 1, untilMs: -Infinity }],
    ['a fixed k under a cap: also what fits before the next frame', { steps: 1 }, { replanRateHz: 0.5 }, { steps: 2, untilMs: 2000 }],
    ['auto: the least steps, and what fits before the frame is due', { steps: 0, ...due }, due, { steps: 2, untilMs: 1200 }],
    ['auto, the least are done', { steps: 5, ...due }, due, { steps: 1, untilMs: 1200 }],
    ['auto without a chunk that plays', { steps: 0 }, AUTO, { steps: 2, untilMs: -Infinity }],
    ['texts to their end inside the frame', { steps: 9 }, { mode: 'shared' }, { steps: Infinity, untilMs: -Infinity }],
    ['a frame is on its way: it may come at any moment', { credit: 'asked', steps: 0 }, {}, { steps: 1, untilMs: -Infinity }],
    ['nothing new: the same', { credit: 'starved', steps: 9 }, {}, { steps: 1, untilMs: -Infinity }],
    ['a frame waits for the cap', { waiting: frame, steps: 0 }, { replanRateHz: 0.5 }, { steps: 1, untilMs: 2000 }],
    ['no frame yet', { steps: null }, AUTO, { steps: 1, untilMs: -Infinity }],
  ])('%s', (_, s, b, expected) => {
    expect(ahead(s, b)).toEqual(expected);
  }); // prettier-ignore
});
