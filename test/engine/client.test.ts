/** The engine as a process: pull protocol, death, hang and stop, with the real demo engine. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { filter, firstValueFrom, take, timeout, toArray } from 'rxjs';
import type * as ClientModule from '../../src/engine/client';
import type { EngineOptions, FromEngine } from '../../src/engine/protocol';
import { engineDir, ROOT } from '../support/engines';
import { standingInput } from '../support/standing';

// The compiled client: it starts the compiled process beside it.
// eslint-disable-next-line @typescript-eslint/no-require-imports
const { createEngineClient } = require(join(ROOT, 'dist/engine/client.js')) as typeof ClientModule;

const OPTIONS: EngineOptions = {
  engineDir: engineDir('demo'), cameras: ['base_0_rgb'], robot: null, threads: 1, seed: 1n, denoiseSteps: 10, maxRequests: 4, maxQueue: 8, maxTokens: 64,
  providers: ['cpu'], requiredProvider: null, maxSeedTokens: 16, attention: 'bidirectional', longPrompt: 'shorten', noiseFile: null, frameLog: null, mode: 'oxygen', ageingMs: 5000,
  tunables: { tokensPerFrame: { kind: 'fixed', steps: 5 }, replanRateHz: 0, executeMs: 0, standing: [] },
}; // prettier-ignore

/** As ONNX Runtime 1.30 says it. */
const GPU_ERROR =
  'CUDA failure 700: an illegal memory access was encountered ; GPU=0 ; hostname=robot ; file=gpu_data_transfer.cc ; line=91';

const REQUEST = {
  text: 'Scene: ',
  temperature: 1.5,
  topK: 0,
  topP: 1,
  samplingSeed: 3,
  priority: 0,
  deadlineInMs: null,
  keepOnInstruction: true,
};

/** For the script of another process. */
const plain = ({ seed, ...options }: EngineOptions): string =>
  `{ ...${JSON.stringify(options)}, seed: ${seed}n }`;

type Event = ClientModule.EngineEvent;

class Robot {
  readonly log: string[] = [];
  readonly client: ClientModule.EngineClient;
  readonly events: Event[] = [];
  #stamp = 1n;

  constructor(options: Partial<EngineOptions> = {}) {
    this.client = createEngineClient({ ...OPTIONS, ...options }, line => this.log.push(line));
    this.client.events$.subscribe(e => {
      this.events.push(e);
      if (e.type === 'want-frame') this.answer();
    });
  }

  answer(): void {
    const images = new Uint8Array(84 * 84 * 3).fill(Number(this.#stamp % 200n));
    const observation = {
      stampNs: this.#stamp++, epoch: 0, instruction: 'reach the red block', state: Float64Array.of(0, 1, -1.5, -1), cameras: ['base_0_rgb'], images,
    }; // prettier-ignore
    this.client.send({ type: 'frame', observation });
  }

  ask(id: string, maxTokens = 40): boolean {
    return this.client.send({
      type: 'request',
      request: { ...REQUEST, id, maxTokens },
    });
  }

  next<T extends Event['type']>(
    type: T,
    test: (e: Extract<Event, { type: T }>) => boolean = () => true,
  ): Promise<Extract<Event, { type: T }>> {
    const is = (e: Event): e is Extract<Event, { type: T }> =>
      e.type === type && test(e as Extract<Event, { type: T }>);
    return firstValueFrom(this.client.events$.pipe(filter(is), timeout(20_000)));
  }
}

let robot: Robot;
afterEach(() => robot.client.stop());

it('pulls frames one at a time, sends each chunk, and streams several requests', async () => {
  robot = new Robot();
  const info = await robot.client.start();
  expect(info).toMatchObject({ name: 'demo', actionDims: 4, stateDim: 4, horizon: 10, provider: 'cpu', imageHeight: 84, resize: 'pillow' });
  const done = firstValueFrom(robot.client.events$.pipe(filter(e => e.type === 'done'), take(3), toArray()));
  for (const id of ['10', '9', 'x']) robot.ask(id);
  await done;
  const order = robot.events.filter(e => e.type === 'want-frame' || e.type === 'chunk').map(e => e.type);
  order.slice(0, 10).forEach((type, i) => expect(type).toBe(i % 2 === 0 ? 'want-frame' : 'chunk'));
  for (const id of ['10', '9', 'x']) {
    const tokens = robot.events.filter(e => e.type === 'token' && e.id === id);
    expect(tokens.map(t => (t as { sequence: number }).sequence)).toEqual(tokens.map((_, i) => i));
  }
  const chunk = robot.events.find(e => e.type === 'chunk') as Extract<FromEngine, { type: 'chunk' }>;
  expect(chunk.chunk.values).toHaveLength(40);
  expect(chunk.chunk.values.every(Number.isFinite)).toBe(true);
  // every begin has its end
  const ready = robot.events.findIndex(e => e.type === 'ready');
  const runs = robot.events.slice(ready).filter(e => e.type === 'begin' || e.type === 'end');
  runs.forEach((r, i) => expect(r.type).toBe(i % 2 === 0 ? 'begin' : 'end'));
}); // prettier-ignore

it.each<[string, NodeJS.Signals, RegExp]>([
  ['killed', 'SIGKILL', /SIGKILL/],
  ['frozen', 'SIGSTOP', /hangs|silent/],
])('comes back by itself when it is %s; open requests end failed, once', async (_, signal, reason) => {
  robot = new Robot();
  await robot.client.start();
  for (const id of ['a', 'b']) robot.ask(id, 64);
  await robot.next('token', t => t.id === 'b');
  const first = robot.client.pid as number;
  const down = robot.next('down');
  const up = robot.next('up');
  process.kill(first, signal);
  expect((await down).reason).toMatch(reason);
  await up;
  expect(robot.client.pid).not.toBe(first);
  expect(robot.client.restarts).toBe(1);
  await robot.next('chunk');
  const ends = robot.events.filter(e => e.type === 'done') as Extract<FromEngine, { type: 'done' }>[];
  for (const id of ['a', 'b']) {
    const mine = ends.filter(e => e.id === id);
    expect(mine).toHaveLength(1);
    if (mine[0]?.reason === 'failed') {
      const tokens = robot.events.filter(e => e.type === 'token' && e.id === id);
      expect(mine[0]).toMatchObject({ sequence: tokens.length, error: { code: 'ENGINE_DOWN' } });
    }
  }
  expect(ends.some(e => e.reason === 'failed')).toBe(true);
});

describe('runs that fail until the process ends', () => {
  let dir: string;
  beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'oxygen-failing-runs-'))));
  afterEach(() => rmSync(dir, { recursive: true }));

  it.each<[string, string, RegExp]>([
    ['an error of the GPU, at once', GPU_ERROR, /^RUN_FAILED: the \w+ graph failed: CUDA failure 700: .* so the engine process ends/],
    ['anything, after some frames', 'enqueue failed.', /^RUN_FAILED: .*enqueue failed.*runs of 5 frames in a row/],
  ])('%s: the next process gives chunks again', async (_, text, reason) => {
    const FAILING_RUNS = JSON.stringify({ FROM: 100, TEXT: text, MARK: join(dir, 'mark') });
    const script = `
      const { createEngineClient } = require(${JSON.stringify(join(ROOT, 'dist/engine/client.js'))});
      const client = createEngineClient(${plain(OPTIONS)}, () => undefined);
      const events = [];
      let stampNs = 1n;
      const images = new Uint8Array(84 * 84 * 3);
      const frame = () => ({ stampNs: stampNs++, epoch: 0, instruction: 'reach', state: Float64Array.of(0, 1, -1.5, -1), cameras: ['base_0_rgb'], images });
      client.events$.subscribe(e => {
        events.push(e);
        if (e.type === 'want-frame') client.send({ type: 'frame', observation: frame() });
        if (e.type !== 'chunk' || client.restarts === 0) return;
        const { restarts, givenUp } = client;
        const of = type => events.filter(e => e.type === type);
        client.stop().then(() => {
          const downs = of('down').map(e => e.reason);
          console.log(JSON.stringify({ restarts, givenUp, downs, drops: of('drop'), ends: of('done').map(e => e.id) }));
        });
      });
      client.start().then(() => client.send({ type: 'request', request: { ...${JSON.stringify(REQUEST)}, id: 'a', maxTokens: 64 } }));
    `;
    const env = { ...process.env, FAILING_RUNS, NODE_OPTIONS: `--require ${join(__dirname, 'failing-runs.js')}` };
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { timeout: 60_000, env });
    const told = JSON.parse(stdout) as { drops: { code: string; message: string }[]; ends: string[] };
    expect(told).toMatchObject({ restarts: 1, givenUp: false, downs: [expect.stringMatching(reason)] });
    expect(told.ends).toEqual(['a']);
    expect(told.drops.every(({ code, message }) => code === 'RUN_FAILED' && message.includes(text))).toBe(true);
  }); // prettier-ignore
});

it('standing requests: told while the process loads, known to the next process, and each that spoke has one end', async () => {
  robot = new Robot();
  const scene = standingInput('scene', { keepOnInstruction: true });
  const standing = [scene, { ...scene, name: 'endless', text: 'x'.repeat(500) }];
  const started = robot.client.start();
  const drop = robot.next('drop');
  expect(robot.client.send({ type: 'tunables', tunables: { ...OPTIONS.tunables, standing } })).toBe(false);
  await started;
  expect(await drop).toMatchObject({ code: 'REQUEST_INVALID', message: expect.stringMatching(/endless/) as string });
  await robot.next('token', t => t.id === 'scene/1' && t.sequence === 1);
  const up = robot.next('up');
  process.kill(robot.client.pid as number, 'SIGKILL');
  await up;
  const again = await robot.next('done', d => d.id === 'scene/1');
  expect(again).toMatchObject({ reason: 'length', sequence: 8 });
  expect(again.totalMs).toBeGreaterThanOrEqual(again.firstTokenMs as number);
  const begun = robot.events.flatMap(e => (e.type === 'token' && e.sequence === 0 ? [e.id] : []));
  const ends = robot.events.filter(e => e.type === 'done') as Extract<FromEngine, { type: 'done' }>[];
  // After the restart they count from 0 again.
  for (const id of ['scene/0', 'scene/1']) {
    expect(begun.filter(one => one === id)).toHaveLength(2);
    expect(ends.filter(e => e.id === id)).toHaveLength(2);
  }
  for (const e of ends.filter(one => one.reason === 'failed')) {
    expect(e.error?.code).toBe('ENGINE_DOWN');
    expect(e.totalMs).toBeGreaterThanOrEqual(e.firstTokenMs as number);
  }
}); // prettier-ignore

it('refuses to start with a wrong engine folder, naming it', async () => {
  robot = new Robot({ engineDir: '/nowhere' });
  await expect(robot.client.start()).rejects.toMatchObject({
    code: 'ENGINE_NOT_FOUND',
    message: expect.stringContaining('/nowhere') as string,
  });
});

it.each([
  ['a seed that is too long', { text: 'Scene: '.repeat(50) }],
  ['max_tokens 0', { maxTokens: 0 }],
  ['huge max_tokens', { maxTokens: 1e9 }],
])('rejects %s with a code', async (_, change) => {
  robot = new Robot();
  await robot.client.start();
  const done = robot.next('done');
  const request = { id: 'bad', text: '', maxTokens: 5, temperature: 0, topK: 0, topP: 1, samplingSeed: 0, priority: 0, deadlineInMs: null, keepOnInstruction: false, ...change };
  robot.client.send({ type: 'request', request });
  expect(await done).toMatchObject({ id: 'bad', reason: 'rejected', sequence: 0, error: { code: 'REQUEST_INVALID' } });
}); // prettier-ignore

it('drops a frame with a bad state and takes the next one', async () => {
  robot = new Robot();
  let bad = true;
  const { client } = robot;
  robot.answer = () => {
    const state = Float64Array.of(0, bad ? NaN : 1, -1.5, -1);
    const stampNs = bad ? 1n : 2n;
    bad = false;
    const observation = {
      stampNs,
      epoch: 0,
      instruction: 'reach',
      state,
      cameras: ['base_0_rgb'],
      images: new Uint8Array(84 * 84 * 3),
    };
    client.send({ type: 'frame', observation });
  };
  const drop = robot.next('drop');
  const chunk = robot.next('chunk');
  await client.start();
  expect(await drop).toMatchObject({ code: 'STATE_INVALID' });
  expect((await chunk).chunk.observationStampNs).toBe(2n);
});

it('stops within two seconds, in the middle of its work', async () => {
  robot = new Robot();
  await robot.client.start();
  robot.ask('a', 64);
  await robot.next('token');
  const pid = robot.client.pid as number;
  const start = performance.now();
  await robot.client.stop();
  expect(performance.now() - start).toBeLessThan(2000);
  expect(() => process.kill(pid, 0)).toThrow();
});

it('a process that cannot be started is down, tried again, given up; the end waits for nothing', async () => {
  const script = join(ROOT, 'dist/engine/client.js');
  const spoilt = `
    const { createEngineClient } = require(${JSON.stringify(script)});
    const log = [];
    const client = () => createEngineClient({ tunables: {} }, line => log.push(line));
    process.execPath = '/nowhere/node';
    (async () => {
      const first = client();
      const told = await first.start().catch(({ code, message }) => ({ code, message }));
      await first.stop();
      const early = client();
      const unheard = early.start().catch(({ code }) => code);
      await early.stop();
      console.log(JSON.stringify({ told, early: await unheard, pid: String(first.pid), log }));
    })();
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', spoilt], { timeout: 20_000 });
  expect(JSON.parse(stdout)).toEqual({
    told: {
      code: 'ENGINE_DOWN',
      message: expect.stringMatching(/could not be started: spawn .* ENOENT/) as string,
    },
    early: 'ENGINE_DOWN',
    pid: 'undefined',
    log: [],
  });
});

it('one that cannot be started again is tried again, until it can', async () => {
  const script = join(ROOT, 'dist/engine/client.js');
  const spoilt = `
    const { createEngineClient } = require(${JSON.stringify(script)});
    const log = [];
    const client = createEngineClient(${plain(OPTIONS)}, line => log.push(line));
    const downs = [];
    client.events$.subscribe(e => e.type === 'down' && downs.push(e.reason));
    (async () => {
      await client.start();
      const path = process.execPath;
      process.execPath = '/nowhere/node';
      process.kill(client.pid, 'SIGKILL');
      while (downs.length < 2) await new Promise(r => setTimeout(r, 10));
      process.execPath = path;
      await new Promise(r => client.events$.subscribe(e => e.type === 'up' && r()));
      await client.stop();
      console.log(JSON.stringify({ downs, restarts: client.restarts, log }));
    })();
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', spoilt], { timeout: 30_000 });
  const { downs, restarts, log } = JSON.parse(stdout) as { downs: string[]; restarts: number; log: string[] };
  expect(downs[0]).toMatch(/was ended by SIGKILL/);
  expect(downs[1]).toMatch(/could not be started: spawn .* ENOENT/);
  expect(restarts).toBe(2);
  expect(log.join('\n')).toMatch(/could not be started.*; starting again in 500 ms/);
});
