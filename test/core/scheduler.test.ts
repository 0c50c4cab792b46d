/** The RxJS wiring in virtual time: no clock, no model; invariants are checked at every event. */
import type { LanguageRequest } from '../../src/core/types';
import { Bench, fixed, request } from './bench';
import { soloTokens } from './fake-executor';

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
  const b = new Bench({}, {}, 4, { periodMs: 1000 });
  b.at(0, () => b.post({ type: 'request', request: request('long', { maxTokens: 30 }) }));
  b.run(1500);
  expect(b.end('long')).toMatchObject({ reason: 'length', sequence: 30 });
  expect(b.end('long')!.atMs).toBe(250 + 29 * 10);
  expect(b.of('chunk').map(c => c.atMs)).toEqual([250, 1250]);
});

it('caps the replan rate without slowing language', () => {
  const b = new Bench({}, { prefill: 20, denoise: 10 });
  b.at(1, () => b.tune({ tokensPerFrame: fixed(5), replanRateHz: 2 }));
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
