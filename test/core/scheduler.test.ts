/** The RxJS wiring in virtual time: no clock, no model; invariants are checked at every event. */
import fc from 'fast-check';
import { VirtualTimeScheduler } from 'rxjs';
import { checkInvariants } from '../../src/core/invariants';
import { KvCache } from '../../src/core/kv-cache';
import { RunCosts } from '../../src/core/run-costs';
import { Scheduler } from '../../src/core/scheduler';
import type { SchedulerEvent, SchedulerInput, SchedulerOptions } from '../../src/core/scheduler-io';
import type { Frame, LanguageRequest, Tunables } from '../../src/core/types';
import { FakeExecutor, SHAPE, soloTokens, type Costs } from './fake-executor';

const COSTS: Costs = { prefill: 200, denoise: 50, seed: 5, decode: 10 };
const tunables = (steps: number, replanRateHz = 0): Tunables => ({
  tokensPerFrame: { kind: 'fixed', steps },
  replanRateHz,
  standing: [],
});
const OPTIONS: SchedulerOptions = {
  mode: 'oxygen',
  tunables: tunables(5),
  maxQueue: 8,
  maxPrefixLength: 8,
  stopIds: [],
  executeMs: 0,
  ageingMs: 0,
};

const request = (id: string, more: Partial<LanguageRequest> = {}): LanguageRequest => ({
  id, seedIds: [], maxTokens: 8, temperature: 0, topK: 0, topP: 1, samplingSeed: 0, priority: 0, deadlineMs: null, keepOnInstruction: false, ...more,
}); // prettier-ignore

type Timed<T> = T & { readonly atMs: number };

/** A scheduler with a camera that has a new frame every `periodMs` (0: always one). */
class Bench {
  readonly time = new VirtualTimeScheduler();
  readonly executor: FakeExecutor;
  readonly cache: KvCache;
  readonly scheduler: Scheduler;
  readonly events: Timed<SchedulerEvent>[] = [];
  readonly prompts = new Map<bigint, readonly number[]>();
  epoch = 0;
  #frames = 0;

  constructor(
    options: Partial<SchedulerOptions> = {},
    costs: Partial<Costs> = {},
    maxRequests = 4,
    periodMs = 1000 / 30,
  ) {
    this.executor = new FakeExecutor({ ...COSTS, ...costs }, this.time);
    this.cache = new KvCache({ ...SHAPE, maxRequests, capacity: 40 });
    this.scheduler = new Scheduler(
      this.executor,
      this.cache,
      this.time,
      new RunCosts(null),
      { ...OPTIONS, ...options },
      this.time,
    );
    let shown = -1; // number of the newest camera picture that was used
    let owing = false;
    this.scheduler.events$.subscribe(e => {
      this.events.push({ ...e, atMs: this.time.now() });
      const violations = checkInvariants(this.cache.snapshot());
      if (violations.length > 0) throw new Error(violations.join());
      if (e.type !== 'ask') return;
      const picture = periodMs === 0 ? shown + 1 : Math.floor(this.time.now() / periodMs);
      if (picture > shown) {
        shown = picture;
        this.post({ type: 'frame', frame: this.frame() });
        return;
      }
      this.post({ type: 'no-frame' });
      if (owing) return;
      owing = true;
      this.at((picture + 1) * periodMs - this.time.now(), () => {
        owing = false;
        shown = Math.floor(this.time.now() / periodMs + 1e-6);
        this.post({ type: 'frame', frame: this.frame() });
      });
    });
  }

  frame(): Frame {
    const id = this.#frames++;
    const promptIds = [2, 100 + (id % 7), 3 + id].slice(0, 2 + (id % 2));
    const stampNs = BigInt(id + 1);
    this.prompts.set(stampNs, promptIds);
    return { id, stampNs, epoch: this.epoch, cameras: [], images: new Uint8Array(), promptIds };
  }

  post(input: SchedulerInput): void {
    this.scheduler.post(input);
  }

  at(ms: number, act: () => void): void {
    this.time.schedule(act, Math.max(0, ms));
  }

  run(untilMs: number): this {
    this.at(0, () => this.post({ type: 'tunables', tunables: tunables(5) }));
    this.time.maxFrames = untilMs;
    this.time.flush();
    return this;
  }

  of<T extends SchedulerEvent['type']>(type: T): Timed<Extract<SchedulerEvent, { type: T }>>[] {
    return this.events.filter((e): e is Timed<Extract<SchedulerEvent, { type: T }>> => e.type === type);
  }

  tokens(id: string): number[] {
    return this.of('token')
      .filter(t => t.id === id)
      .map(t => t.tokenId);
  }

  end(id: string): Timed<Extract<SchedulerEvent, { type: 'done' }>> | undefined {
    const ends = this.of('done').filter(d => d.id === id);
    expect(ends.length).toBeLessThanOrEqual(1);
    return ends[0];
  }
}

it('30 Hz cameras, 300 ms per frame, four requests: chunks and tokens flow, each frame gets exactly k steps', () => {
  const b = new Bench();
  for (let i = 0; i < 4; i++)
    b.at(0, () => b.post({ type: 'request', request: request(`r${i}`, { maxTokens: 30 }) }));
  b.run(2000);
  // prefill 200 + denoise 50 + 5 steps of 10
  const chunks = b.of('chunk').map(c => c.atMs);
  expect(chunks.slice(0, 6)).toEqual([250, 550, 850, 1150, 1450, 1750]);
  // the texts end inside the sixth frame
  const frames = b.of('frame-end').slice(0, 5);
  expect(frames.length).toBe(5);
  for (const f of frames) expect(f).toMatchObject({ decodeSteps: 5, batch: 4 });
  // 4 first tokens, then 4 a step
  for (const f of frames.slice(1)) expect(f.tokens).toBe(20);
  for (let i = 0; i < 4; i++) expect(b.tokens(`r${i}`).length).toBeGreaterThanOrEqual(26);
  // every frame is the newest picture: none is asked for early
  for (const c of b.of('chunk')) expect(c.frame.id).toBe(b.of('chunk').indexOf(c));
});

it('goes on talking alone while no frame comes, and the frame that comes is started at the next step', () => {
  const b = new Bench({}, {}, 4, 1000);
  b.at(0, () => b.post({ type: 'request', request: request('long', { maxTokens: 30 }) }));
  b.run(1500);
  expect(b.end('long')).toMatchObject({ reason: 'length', sequence: 30 });
  expect(b.end('long')!.atMs).toBe(250 + 29 * 10);
  expect(b.of('chunk').map(c => c.atMs)).toEqual([250, 1250]);
});

it('caps the replan rate without slowing language', () => {
  const b = new Bench({}, { prefill: 20, denoise: 10 });
  b.at(1, () => b.post({ type: 'tunables', tunables: tunables(5, 2) }));
  b.at(0, () => b.post({ type: 'request', request: request('r', { maxTokens: 30 }) }));
  b.run(1600);
  const chunks = b.of('chunk').map(c => c.atMs);
  chunks.slice(1).forEach((at, i) => expect(at - (chunks[i] as number)).toBeGreaterThanOrEqual(500));
  expect(chunks.length).toBeGreaterThanOrEqual(3);
  expect(b.end('r')!.atMs).toBeLessThan(400);
});

describe('ends', () => {
  it('by stop id: not announced as a token, row free at once', () => {
    const stop = soloTokens([2, 100], [], 8)[3] as number;
    const b = new Bench({ stopIds: [stop] }, {}, 1);
    b.at(0, () => b.post({ type: 'request', request: request('a') }));
    b.at(0, () => b.post({ type: 'request', request: request('b', { maxTokens: 2, seedIds: [55] }) }));
    b.run(1000);
    expect(b.tokens('a')).toEqual(soloTokens([2, 100], [], 3));
    expect(b.end('a')).toMatchObject({ reason: 'end', sequence: 3 });
    expect(b.end('b')!.reason).toBe('length');
  });

  it('by a stop id as the very first token', () => {
    const b = new Bench({ stopIds: [soloTokens([2, 100], [], 1)[0] as number] });
    b.at(0, () => b.post({ type: 'request', request: request('a') }));
    b.run(600);
    expect(b.tokens('a')).toEqual([]);
    expect(b.end('a')).toMatchObject({ reason: 'end', sequence: 0 });
  });

  it('by length, deadline and cancel, queued and active alike', () => {
    const b = new Bench({}, {}, 1);
    const post = (r: LanguageRequest) => b.at(0, () => b.post({ type: 'request', request: r }));
    post(request('active', { maxTokens: 30 }));
    post(request('late', { deadlineMs: 275, priority: -1 }));
    post(request('cancelled', { priority: -1 }));
    b.at(260, () => b.post({ type: 'cancel', id: 'cancelled' }));
    b.at(300, () => b.post({ type: 'cancel', id: 'active' }));
    b.at(310, () => b.post({ type: 'cancel', id: 'active' }));
    b.run(900);
    expect(b.end('cancelled')).toMatchObject({ reason: 'cancelled', sequence: 0 });
    expect(b.end('late')).toMatchObject({ reason: 'deadline', sequence: 0 });
    expect(b.end('late')!.atMs).toBeLessThanOrEqual(285);
    expect(b.end('active')).toMatchObject({ reason: 'cancelled', sequence: b.tokens('active').length });
    expect(b.of('drop').map(d => d.error.code)).toEqual(['REQUEST_UNKNOWN']);
  });

  it('by refusal: never fits, full queue, running id', () => {
    const b = new Bench({ maxQueue: 2 }, {}, 1);
    const post = (r: LanguageRequest) => b.at(0, () => b.post({ type: 'request', request: r }));
    post(request('huge', { maxTokens: 33 }));
    for (const id of ['q1', 'q2', 'q3']) post(request(id));
    post(request('vip', { priority: 1 }));
    post(request('q1'));
    // what arrives during a run is seen when it ends
    b.run(240);
    expect(b.end('huge')).toMatchObject({ reason: 'rejected', error: { code: 'REQUEST_NEVER_FITS' } });
    expect(b.end('q3')).toMatchObject({ reason: 'dropped', error: { code: 'QUEUE_FULL' } });
    expect(b.end('q2')).toMatchObject({ reason: 'dropped' });
    expect(b.end('vip')).toBeUndefined();
    expect(b.of('drop').map(d => d.error.code)).toEqual(['REQUEST_INVALID']);
  });

  it('by a new instruction, unless the request is to survive it', () => {
    const b = new Bench();
    b.at(0, () => b.post({ type: 'request', request: request('old', { maxTokens: 30 }) }));
    b.at(0, () =>
      b.post({ type: 'request', request: request('kept', { maxTokens: 30, keepOnInstruction: true }) }),
    );
    b.at(400, () => {
      b.epoch = 1;
      b.post({ type: 'epoch', epoch: 1, endAll: false });
      b.post({ type: 'request', request: request('new') });
    });
    b.run(2000);
    expect(b.end('old')).toMatchObject({ reason: 'superseded' });
    expect(b.end('kept')!.reason).toBe('length');
    // The run in flight at 400 ms is thrown away: no chunk of the old instruction after it.
    expect(
      b
        .of('chunk')
        .filter(c => c.atMs > 400)
        .every(c => c.frame.epoch === 1),
    ).toBe(true);
    const born = b.of('token').find(t => t.id === 'new')!.frameStampNs;
    expect(b.of('chunk').find(c => c.frame.stampNs === born)!.frame.epoch).toBe(1);
  });

  it('of everything by a reset', () => {
    const b = new Bench();
    b.at(0, () =>
      b.post({ type: 'request', request: request('kept', { maxTokens: 30, keepOnInstruction: true }) }),
    );
    b.at(300, () => b.post({ type: 'epoch', epoch: 1, endAll: true }));
    b.run(320);
    expect(b.end('kept')).toMatchObject({ reason: 'superseded' });
  });
});

describe('failures', () => {
  const boom = (kind: string, nth: number) => {
    let seen = 0;
    return (run: { kind: string }, token: number) => {
      if (run.kind === kind && seen++ === nth) throw new Error('Failed to allocate memory');
      return token;
    };
  };

  it.each(['prefill', 'denoise'])('of a %s lose that frame only', kind => {
    const b = new Bench();
    b.executor.tamper = boom(kind, 1);
    b.at(0, () => b.post({ type: 'request', request: request('r', { maxTokens: 30 }) }));
    b.run(2500);
    expect(b.of('drop').map(d => d.error.code)).toEqual(['RUN_FAILED']);
    expect(b.of('chunk').length).toBeGreaterThan(4);
    expect(b.tokens('r')).toEqual(soloTokens([2, 100], [], 30));
  });

  it('of a decode step end the batch, announced, and language goes on', () => {
    const b = new Bench();
    b.executor.tamper = boom('decode', 2);
    for (const id of ['a', 'b']) b.at(0, () => b.post({ type: 'request', request: request(id) }));
    b.at(500, () => b.post({ type: 'request', request: request('c') }));
    b.run(2000);
    expect(b.end('a')).toMatchObject({ reason: 'failed', error: { code: 'RUN_FAILED' } });
    expect(b.end('b')!.reason).toBe('failed');
    expect(b.end('c')!.reason).toBe('length');
    expect(b.cache.active).toBe(0);
  });

  it('of a seed end that request', () => {
    const b = new Bench();
    b.executor.tamper = boom('seed', 0);
    b.at(0, () => b.post({ type: 'request', request: request('a', { seedIds: [44] }) }));
    b.at(0, () => b.post({ type: 'request', request: request('b', { seedIds: [45] }) }));
    b.run(2000);
    expect(b.end('a')!.reason).toBe('failed');
    expect(b.tokens('b')).toEqual(soloTokens([2, 100], [45], 8));
  });

  it('in the numbers of one row end that row only', () => {
    const b = new Bench();
    b.executor.tamper = (run, token, row) =>
      run.kind === 'decode' && row === 0 && b.executor.runs.filter(r => r.kind === 'decode').length === 3
        ? NaN
        : token;
    for (const id of ['a', 'b'])
      b.at(0, () => b.post({ type: 'request', request: request(id, { maxTokens: 6 }) }));
    b.run(1500);
    // NaN as a token is fed back as a key: the cache refuses it.
    expect(b.end('a')).toMatchObject({ reason: 'failed', error: { code: 'NON_FINITE' } });
    expect(b.end('b')).toMatchObject({ reason: 'length' });
    expect(b.tokens('b')).toEqual(soloTokens([2, 100], [], 6));
  });
});

it('stops after the present run when closed', () => {
  const b = new Bench();
  let completed = -1;
  b.scheduler.events$.subscribe({ complete: () => (completed = b.time.now()) });
  b.at(100, () => b.scheduler.close());
  b.run(1000);
  expect(completed).toBe(200);
  expect(b.executor.runs.map(r => r.kind)).toEqual(['prefill']);
});

it('gives every request its own tokens, gapless and announced once, in any mix of arrivals, cancels and epochs', () => {
  const action = fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('request' as const), tokens: fc.integer({ min: 1, max: 12 }), seed: fc.array(fc.integer({ min: 10, max: 99 }), { maxLength: 3 }), priority: fc.integer({ min: 0, max: 1 }), keep: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), pick: fc.nat(30) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('epoch' as const), all: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('tunables' as const), k: fc.integer({ min: 1, max: 6 }) }) },
  ); // prettier-ignore
  const script = fc.array(fc.tuple(fc.integer({ min: 0, max: 2500 }), action), { maxLength: 25 });
  fc.assert(
    fc.property(
      script,
      fc.constantFrom(0, 33, 700),
      fc.integer({ min: 1, max: 4 }),
      (steps, periodMs, maxRequests) => {
        const b = new Bench({ maxQueue: 5 }, { prefill: 40, denoise: 15 }, maxRequests, periodMs);
        const asked = new Map<string, LanguageRequest>();
        steps.forEach(([at, a], i) =>
          b.at(at, () => {
            if (a.do === 'request') {
              const r = request(String(50 - i), {
                maxTokens: a.tokens,
                seedIds: a.seed,
                priority: a.priority,
                keepOnInstruction: a.keep,
              });
              asked.set(r.id, r);
              b.post({ type: 'request', request: r });
            } else if (a.do === 'cancel') {
              b.post({ type: 'cancel', id: [...asked.keys()][a.pick] ?? 'nobody' });
            } else if (a.do === 'epoch') {
              b.epoch++;
              b.post({ type: 'epoch', epoch: b.epoch, endAll: a.all });
            } else {
              b.post({ type: 'tunables', tunables: tunables(a.k) });
            }
          }),
        );
        b.run(8_000);
        for (const r of asked.values()) {
          const tokens = b.of('token').filter(t => t.id === r.id);
          const end = b.end(r.id);
          expect(end).toBeDefined();
          expect(tokens.map(t => t.sequence)).toEqual(tokens.map((_, i) => i));
          expect(end!.sequence).toBe(tokens.length);
          expect(b.events.lastIndexOf(tokens.at(-1)!)).toBeLessThan(b.events.indexOf(end!));
          if (end!.reason === 'length') expect(tokens.length).toBe(r.maxTokens);
          const prompt = tokens[0] && b.prompts.get(tokens[0].frameStampNs);
          if (prompt)
            expect(tokens.map(t => t.tokenId)).toEqual(soloTokens(prompt, r.seedIds, tokens.length));
        }
        expect(b.cache.active).toBe(0);
        expect(b.of('chunk').length).toBeGreaterThanOrEqual(10);
      },
    ),
    { numRuns: 200 },
  );
});
