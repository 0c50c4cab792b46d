/** Waiting and latency of requests. */
import { Bench, tunables } from './bench';

it('measures the time to the first and to the last token from the posting on', () => {
  const b = new Bench({}, {}, 1, { periodMs: 0 });
  b.at(100, () => b.ask('a', { maxTokens: 3, priority: 1 }));
  b.at(100, () => b.ask('seeded', { maxTokens: 2, seedIds: [5] }));
  b.at(120, () => b.ask('waiting'));
  b.at(261, () => b.post({ type: 'cancel', id: 'waiting' }));
  b.at(130, () => b.ask('huge', { maxTokens: 99 }));
  b.run(1000);
  // chunk at 250, steps at 260 and 270
  expect(b.end('a')).toMatchObject({ firstTokenMs: 150, totalMs: 170 });
  expect(b.end('seeded')).toMatchObject({ firstTokenMs: 175, totalMs: 185 });
  expect(b.end('waiting')).toMatchObject({ firstTokenMs: null, totalMs: 150 });
  // what comes during a run is seen at its end
  expect(b.end('huge')).toMatchObject({ reason: 'rejected', firstTokenMs: null, totalMs: 70 });
});

it('tells how sure the model was of each token', () => {
  const b = new Bench();
  b.at(0, () => b.ask('a', { maxTokens: 3 }));
  b.run(600);
  expect(b.of('token').map(t => t.margin)).toEqual([0.5, 0.5, 0.5]);
});

it('counts a frame: steps, tokens, largest batch, rows of all steps', () => {
  const b = new Bench({ tunables: tunables() }, {}, 4, { periodMs: 0 });
  b.at(0, () => b.ask('a', { maxTokens: 3 }));
  b.at(0, () => b.ask('b', { maxTokens: 6 }));
  b.run(1000);
  // both for two steps, then b alone for three
  expect(b.of('frame-end')[0]).toMatchObject({ decodeSteps: 5, tokens: 9, batch: 2, rowSteps: 7 });
});

it.each([
  [0, false],
  [400, true],
])('ageing of %d ms: a stream of important requests holds up the others: %s is right', (ageingMs, comes) => {
  const b = new Bench({ ageingMs, maxQueue: 20 }, {}, 1, { periodMs: 0 });
  b.at(0, () => b.ask('old', { maxTokens: 3 }));
  let asked = 0;
  b.onEvent = e => {
    if (e.type === 'ask') for (let i = 0; i < 2; i++) b.ask(`vip${asked++}`, { priority: 3, maxTokens: 6 });
  };
  b.run(3000);
  expect(b.end('old') !== undefined).toBe(comes);
});

it.each([
  [0, 'newer'],
  [50, 'newest'],
])(
  'a full queue drops the least urgent, among equals the newest: with ageing of %d ms %s',
  (ageingMs, dropped) => {
    const b = new Bench({ ageingMs, maxQueue: 2 }, {}, 1, { periodMs: 0 });
    b.at(0, () => b.ask('active', { maxTokens: 30, priority: 9 }));
    b.at(290, () => b.ask('old'));
    b.at(300, () => b.ask('newer'));
    b.at(400, () => b.ask('newest', { priority: 1 }));
    // all three are seen at 500, when those who came first are 4 steps up and the last one is 2
    b.run(600);
    expect(b.of('done')).toMatchObject([{ id: dropped, reason: 'dropped', error: { code: 'QUEUE_FULL' } }]);
  },
);
