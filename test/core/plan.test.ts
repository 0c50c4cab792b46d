import { planStep, type Budget, type PlanSnapshot } from '../../src/core/plan';
import type { Frame, LanguageRequest } from '../../src/core/types';

const frame: Frame = { id: 1, stampNs: 1n, epoch: 0, cameras: [], images: new Uint8Array(), promptIds: [2] };
const request = (id: string, more: Partial<LanguageRequest> = {}): LanguageRequest => ({
  id, seedIds: [], maxTokens: 8, temperature: 0, topK: 0, topP: 1, samplingSeed: 0, priority: 0, deadlineMs: null, keepOnInstruction: false, ...more,
}); // prettier-ignore
const base: PlanSnapshot = {
  credit: 'none', waiting: null, owed: null, steps: 0, lastPrefillMs: 0, active: [], queue: [], maxRequests: 2, hasPrefix: true,
}; // prettier-ignore
const budget: Budget = { nowMs: 1000, tokensPerFrame: 3, replanRateHz: 0 };
const plan = (s: Partial<PlanSnapshot>, b: Partial<Budget> = {}) =>
  planStep({ ...base, ...s }, { ...budget, ...b });

it.each<[string, Partial<PlanSnapshot>, Partial<Budget>, object]>([
  ['asks for the first frame', { steps: null, lastPrefillMs: null, hasPrefix: false }, {}, { kind: 'ask' }],
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
  ['starts the frame that came', { waiting: frame, active: [request('a')] }, {}, { kind: 'prefill', frame }],
  [
    'gives the chunk out before anything else',
    { owed: frame, waiting: frame, queue: [request('a')] },
    {},
    { kind: 'denoise', frame },
  ],
  [
    'seeds before decode steps',
    { queue: [request('b')], active: [request('a')] },
    {},
    { kind: 'start', request: request('b') },
  ],
  ['decodes k steps', { steps: 2, active: [request('a')] }, {}, { kind: 'decode' }],
  ['asks after k steps', { steps: 3, active: [request('a')] }, {}, { kind: 'ask' }],
  ['asks at once when nobody speaks', { steps: 0 }, {}, { kind: 'ask' }],
  [
    'starts a waiting request before the next frame',
    { steps: 0, queue: [request('a')] },
    {},
    { kind: 'start', request: request('a') },
  ],
  [
    'has no row to give away',
    { steps: 0, queue: [request('c')], active: [request('a'), request('b')] },
    {},
    { kind: 'decode' },
  ],
  [
    'cannot start without a prefix',
    { steps: null, hasPrefix: false, queue: [request('a')] },
    {},
    { kind: 'ask' },
  ],
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
    { queue: [request('q', { deadlineMs: 999 })] },
    {},
    { kind: 'expire', id: 'q' },
  ],
  [
    'wakes for the next deadline',
    { credit: 'starved', hasPrefix: false, queue: [request('q', { deadlineMs: 1500 })] },
    {},
    { kind: 'idle', wakeAtMs: 1500 },
  ],
])('%s', (_, s, b, expected) => {
  expect(plan(s, b)).toEqual(expected);
});

it('admits by priority, then deadline, then age', () => {
  const queue = [
    request('old'),
    request('soon', { deadlineMs: 5000 }),
    request('vip', { priority: 1 }),
    request('sooner', { deadlineMs: 4000 }),
  ];
  const order: string[] = [];
  let rest = queue;
  while (rest.length > 0) {
    const step = plan({ queue: rest });
    if (step.kind !== 'start') throw new Error(step.kind);
    order.push(step.request.id);
    rest = rest.filter(r => r !== step.request);
  }
  expect(order).toEqual(['vip', 'sooner', 'soon', 'old']);
});
