/** However the engine ends, what it holds is given back. */
import { Subject } from 'rxjs';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SchedulerEvent } from '../../src/core/scheduler-io';
import { FrameLog } from '../../src/engine/frame-log';
import { EngineHost } from '../../src/engine/host';
import type { EngineOptions } from '../../src/engine/protocol';

let events$: Subject<SchedulerEvent>;
const release = jest.fn(() => Promise.resolve());
const manifest = { model: { vision: {} }, special: {}, target: 'cpu' };

jest.mock('../../src/engine/open-engine', () => ({
  openEngine: () =>
    Promise.resolve({ engine: { manifest, target: 'cpu', release }, provider: 'cpu', notes: [] }),
}));
jest.mock('../../src/engine/policy-io', () => ({ PolicyIo: class {} }));
jest.mock('../../src/engine/warm-up', () => ({ warmUp: () => Promise.resolve() }));
jest.mock('../../src/engine/deployment', () => ({
  deploy: () => ({ scheduler: { events$, post: () => undefined }, cache: { shape: {} }, costs: null }),
}));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oxygen-host-'));
  events$ = new Subject();
  release.mockClear();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const options = (): EngineOptions =>
  ({
    tunables: { standing: [] },
    cameras: [],
    noiseFile: null,
    frameLog: join(folder, 'log.jsonl'),
    attention: 'engine',
  }) as unknown as EngineOptions;

test.each([
  ['it is told to', () => events$.complete(), null],
  ['its scheduler broke', () => events$.error(new Error('a bug')), 'a bug'],
] as const)('when %s: sessions are released and the frame log is closed', async (_, end, reason) => {
  const close = jest.spyOn(FrameLog.prototype, 'close');
  const run = new EngineHost(() => undefined).run(options()).then(
    () => null,
    (error: unknown) => (error as Error).message,
  );
  while (!events$.observed) await new Promise(setImmediate);
  expect(readdirSync(folder)).toEqual(['log.jsonl']);
  expect(release).not.toHaveBeenCalled();
  end();
  expect(await run).toBe(reason);
  expect(release).toHaveBeenCalledTimes(1);
  expect(close).toHaveBeenCalledTimes(1);
  close.mockRestore();
});
