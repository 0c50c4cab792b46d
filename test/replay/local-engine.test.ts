/** The engine inside the process of a replay: its end is not overheard. */
import { OxygenError } from '../../src/core/errors';
import type { EngineInfo, EngineOptions, FromEngine } from '../../src/engine/protocol';
import { LocalEngine } from '../../src/replay/engine';
import { VirtualWorld } from '../../src/replay/world';
import { COSTS } from './fixed-costs';

type Post = (messages: readonly FromEngine[]) => void;
interface Run {
  readonly post: Post;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}
const runs: Run[] = [];

jest.mock('../../src/engine/host', () => ({
  EngineHost: class {
    readonly #post: Post;
    constructor(post: Post) {
      this.#post = post;
    }
    run(): Promise<void> {
      return new Promise((resolve, reject) => runs.push({ post: this.#post, resolve, reject }));
    }
    onMessage(): void {
      runs.at(-1)!.resolve();
    }
  },
}));

const table = { ...COSTS, denoise: 1 };

function started(): { world: VirtualWorld; engine: LocalEngine; start: Promise<EngineInfo>; run: Run } {
  const world = new VirtualWorld();
  const engine = new LocalEngine({} as EngineOptions, world, { table, askMs: 0 });
  const start = engine.start();
  return { world, engine, start, run: runs.at(-1)! };
}
const ready = ({ post }: Run): void => post([{ type: 'ready', info: {} as EngineInfo }]);

test('one that dies in the middle ends the replay with its reason, and takes nothing any more', async () => {
  const { world, engine, start, run } = started();
  ready(run);
  await world.wait(start);
  expect(engine.send({ type: 'no-frame' })).toBe(true);
  run.reject(new OxygenError('RUN_FAILED', 'the graph broke'));
  await new Promise(setImmediate);
  await expect(world.advance(1e9)).rejects.toMatchObject({ code: 'RUN_FAILED', message: 'the graph broke' });
  expect(engine.send({ type: 'no-frame' })).toBe(false);
  await engine.stop();
});

test('one that cannot be loaded says so at its start, and only there', async () => {
  const { world, start, run } = started();
  run.reject(new Error('no graph'));
  await expect(world.wait(start)).rejects.toMatchObject({ code: 'ENGINE_INVALID', message: 'no graph' });
  await world.advance(1e9);
});

test('one that is stopped ends without a word', async () => {
  const { world, engine, start, run } = started();
  ready(run);
  await world.wait(start);
  await engine.stop();
  await world.advance(1e9);
});
