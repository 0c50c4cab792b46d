/** Virtual time: order, standing still, and what waits for what. */
import fc from 'fast-check';
import { RealWorld, VirtualWorld } from '../../src/replay/world';

const later = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

test('events happen in the order of their times, those of one time in the order in which they were asked for', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(5), { maxLength: 30 }), async times => {
      const world = new VirtualWorld();
      const seen: [number, number][] = [];
      times.forEach((ns, i) => world.at(ns, () => seen.push([world.nowNs, i])));
      await world.advance(10);
      expect(seen).toEqual(times.map((ns, i) => [ns, i]).sort(([a, i], [b, j]) => a! - b! || i! - j!));
      expect(world.nowNs).toBe(10);
    }),
  );
});

test('an event in the past happens now, one beyond the end waits, and one that is taken back does not happen', async () => {
  const world = new VirtualWorld();
  const seen: string[] = [];
  await world.advance(100);
  world.at(50, () => seen.push(`past at ${world.nowNs}`));
  world.at(201, () => seen.push(`beyond at ${world.nowNs}`));
  world.at(150, () => seen.push('taken back'))();
  await world.advance(200);
  expect(seen).toEqual(['past at 100']);
  await world.advance(300);
  expect(seen).toEqual(['past at 100', 'beyond at 201']);
});

test('what an event begins at its own time is done before time goes on', async () => {
  const world = new VirtualWorld();
  const seen: string[] = [];
  world.at(10, () => {
    seen.push('a');
    world.soon(() => {
      seen.push(`b at ${world.nowNs}`);
      world.soon(() => seen.push(`c at ${world.nowNs}`));
    });
  });
  world.at(11, () => seen.push('d'));
  await world.advance(20);
  expect(seen).toEqual(['a', 'b at 10', 'c at 10', 'd']);
});

test('time stands still while something is held, however long that takes and whatever follows of it', async () => {
  const world = new VirtualWorld();
  const seen: string[] = [];
  world.at(10, () => {
    void (async () => {
      await world.hold(later(20));
      await null;
      await world.hold(later(1));
      for (let i = 0; i < 50; i++) await null;
      seen.push(`held until ${world.nowNs}`);
      await world.pass(1e-6 * 5);
      await null;
      seen.push(`passed at ${world.nowNs}`);
    })();
  });
  world.at(12, () => seen.push('12'));
  world.at(16, () => seen.push('16'));
  await world.advance(100);
  expect(seen).toEqual(['held until 10', '12', 'passed at 15', '16']);
});

test('time has whole nanoseconds, whatever rate somebody has', async () => {
  await fc.assert(
    fc.asyncProperty(fc.double({ min: 0.1, max: 1000, noNaN: true }), async hz => {
      const world = new VirtualWorld();
      const seen: number[] = [];
      const again = (): void => {
        seen.push(world.nowNs);
        if (seen.length < 4) world.at(world.nowNs + 1e9 / hz, again);
      };
      world.at(1e9 / hz, again);
      void world.pass(1e3 / hz);
      await world.advance(5e10);
      expect(seen.map(BigInt)).toHaveLength(4);
    }),
    { numRuns: 30 },
  );
});

test('held work that fails lets time go on', async () => {
  const world = new VirtualWorld();
  const failed: string[] = [];
  world.at(
    1,
    () =>
      void world
        .hold(later(1).then(() => Promise.reject(new Error('no'))))
        .catch(e => failed.push(String(e))),
  );
  await world.advance(5);
  expect([failed, world.nowNs]).toEqual([['Error: no'], 5]);
});

test('waiting lets time go on as far as the work needs it, and no farther', async () => {
  const world = new VirtualWorld();
  let far = false;
  world.at(1000, () => {
    far = true;
  });
  expect(await world.wait(world.pass(1e-6 * 7).then(() => 'done'))).toBe('done');
  expect([world.nowNs, far]).toEqual([7, false]);
  // Nothing else is there to wait for: what is far comes.
  const work = async (): Promise<void> => {
    while (!far) await later(1);
    throw new Error('no');
  };
  await expect(world.wait(work())).rejects.toThrow('no');
});

test('whose work it is: runs of the engine, and all else', async () => {
  const turns: string[] = [];
  const world = new VirtualWorld(owner => turns.push(owner));
  world.at(1, () => undefined);
  world.at(2, () => undefined, 'engine');
  void world.pass(1e-6 * 3);
  await world.advance(5);
  expect(turns).toEqual(['node', 'node', 'engine', 'node', 'engine', 'node']);
});

test('waiting takes no turns of this machine while there is nothing to do, and wakes for an event', async () => {
  const world = new VirtualWorld();
  const immediate = jest.spyOn(globalThis, 'setImmediate');
  const seen: number[] = [];
  try {
    const work = later(100).then(async () => {
      world.at(5, () => seen.push(world.nowNs));
      await later(20);
      await world.pass(1e-6 * 7);
    });
    await world.wait(work);
    // A few at the beginning and for each event.
    expect(immediate.mock.calls.length).toBeLessThan(20);
  } finally {
    immediate.mockRestore();
  }
  expect([seen, world.nowNs]).toEqual([[5], 12]);
});

test.each([
  ['virtual', () => new VirtualWorld()],
  ['real', () => new RealWorld()],
] as const)('%s time: what an event throws ends the waiting, and is no crash', async (_, make) => {
  for (const ask of ['at', 'soon'] as const) {
    const world = make();
    const call = (): void => {
      throw new Error(`no ${ask}`);
    };
    if (ask === 'at') world.at(1e6, call);
    else world.soon(call);
    // Of real time nobody waits for the end.
    await expect(world.advance(3600e9)).rejects.toThrow(`no ${ask}`);
  }
});

test('real time: what was thrown while nobody waited is not lost', async () => {
  const world = new RealWorld();
  world.soon(() => {
    throw new Error('no');
  });
  await later(5);
  await expect(world.advance(0)).rejects.toThrow('no');
});

test('real time is that of the clock, from its beginning on', async () => {
  const world = new RealWorld();
  await later(30);
  world.begin();
  const seen: number[] = [];
  world.at(10e6, () => seen.push(world.nowNs));
  world.at(15e6, () => seen.push(-1))();
  await world.advance(30e6);
  expect(world.nowNs).toBeGreaterThanOrEqual(29e6);
  expect(seen).toHaveLength(1);
  expect(seen[0]).toBeGreaterThanOrEqual(9e6);
  expect(await world.wait(Promise.resolve(3))).toBe(3);
});
