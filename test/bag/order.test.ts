import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { openBag } from '../../src/bag/open';
import { inOrder } from '../../src/bag/order';
import type { BagMessage } from '../../src/bag/types';
import { START_NS, lines, readBag, writeBags } from './bags';
import type { Line } from './bags';

const MS = 1_000_000n;
const DAY_NS = 86_400_000n * MS;

async function* inBatches(times: readonly number[], size: number): AsyncGenerator<BagMessage[]> {
  for (let i = 0; i < times.length; i += size)
    yield times
      .slice(i, i + size)
      .map((ms, k) => ({ topic: `${i + k}`, logNs: BigInt(ms) * MS, data: new Uint8Array(10) }));
}

/** Times in ms, and how many ran backwards. */
async function ordered(
  times: readonly number[],
  size = 3,
  windowBytes = 1e6,
): Promise<[number[], number, string[]]> {
  const out: number[] = [];
  const topics: string[] = [];
  let backwards = 0;
  for await (const batch of inOrder(inBatches(times, size), () => backwards++, windowBytes))
    for (const { logNs, topic } of batch) {
      out.push(Number(logNs / MS));
      topics.push(topic);
    }
  return [out, backwards, topics];
}

test('what is out of order by less than a second is put in order; equal times keep their order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(50), fc.nat(499))),
      fc.integer({ min: 1, max: 7 }),
      async (steps, size) => {
        let now = 0;
        const times = steps.map(([step, late]) => (now += step) + late);
        const [out, backwards, topics] = await ordered(times, size);
        const expected = times.map((ms, i) => [ms, i] as const).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
        expect(out).toEqual(expected.map(([ms]) => ms));
        expect(topics).toEqual(expected.map(([, i]) => `${i}`));
        expect(backwards).toBe(0);
      },
    ),
  );
});

test('whatever the times, every message comes once, and those that run backwards are counted', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(5000)), async times => {
      const [out, backwards] = await ordered(times);
      expect([...out].sort((a, b) => a - b)).toEqual([...times].sort((a, b) => a - b));
      let newest = -1;
      let count = 0;
      for (const ms of out) {
        if (ms < newest) count++;
        newest = Math.max(newest, ms);
      }
      expect(backwards).toBe(count);
    }),
  );
});

test('what comes more than a second late is given in the order of the file', async () => {
  const [out, backwards] = await ordered([0, 5000, 5100, 1000, 1100, 5200]);
  expect(out).toEqual([0, 5000, 5100, 1000, 1100, 5200]);
  expect(backwards).toBe(2);
});

test('no more bytes are held back than allowed', async () => {
  const given: number[] = [];
  let produced = 0;
  async function* source(): AsyncGenerator<BagMessage[]> {
    for await (const batch of inBatches(
      Array.from({ length: 100 }, (_, i) => i),
      1,
    )) {
      produced++;
      yield batch;
    }
  }
  for await (const batch of inOrder(source(), () => 0, 50)) {
    given.push(...batch.map(() => 1));
    expect(produced - given.length).toBeLessThanOrEqual(5);
  }
  expect(given).toHaveLength(100);
});

describe('bags', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bag-order-'));
  const at = (name: string): string => join(folder, name);
  const messages = lines(60);
  const moved = (i: number, by: bigint): Line[] =>
    messages.map((line, k) => (k === i ? [line[0], line[1] + by, line[2]] : line));
  // As recorders do it: blocks of topics, each a little behind the other.
  const overlapping = [...messages].sort((a, b) => Number(blockOf(a) - blockOf(b)));
  function blockOf([topic, ns]: Line): bigint {
    return (ns - START_NS) / (200n * MS) + (topic === '/b' ? 1n : 0n);
  }
  const zero: Line[] = messages.map((line, k) => (k === 7 ? [line[0], 0n, line[2]] : line));

  beforeAll(() =>
    writeBags([
      { kind: 'mcap', path: at('overlapping.mcap'), messages: overlapping },
      {
        kind: 'mcap',
        path: at('backwards.mcap'),
        messages: [...messages, ...messages.slice(0, 20)].map((l, i) =>
          i < 60 ? [l[0], l[1] + 5000n * MS, l[2]] : l,
        ),
      },
      { kind: 'mcap', path: at('zero.mcap'), messages: zero },
      { kind: 'mcap', path: at('zero-no-chunks.mcap'), chunked: false, indexed: false, messages: zero },
      { kind: 'sqlite', path: at('zero.db3'), messages: zero },
      { kind: 'mcap', path: at('future.mcap'), messages: moved(59, 3650n * DAY_NS) },
      {
        kind: 'mcap',
        path: at('clock-set.mcap'),
        messages: messages.map((l, i) => (i < 10 ? [l[0], BigInt(i) * MS, l[2]] : l)),
      },
      {
        kind: 'mcap',
        path: at('three-days.mcap'),
        messages: messages.map((l, i) => [l[0], l[1] + BigInt(i) * (DAY_NS / 20n), l[2]]),
      },
    ]),
  );
  afterAll(() => rmSync(folder, { recursive: true }));

  test('chunks that overlap a little are merged', async () => {
    const read = await readBag(at('overlapping.mcap'));
    expect(read.lines).not.toEqual(overlapping);
    expect(read.lines).toEqual(messages);
    expect(read.faults).toEqual([]);
  });

  test('a part that runs backwards is given as it is, with one fault', async () => {
    const read = await readBag(at('backwards.mcap'));
    expect(read.lines).toHaveLength(80);
    expect(read.lines.slice(60)).toEqual(messages.slice(0, 20));
    expect(read.faults).toMatchObject([{ code: 'BAG_DISORDER', details: { messages: 20 } }]);
  });

  test.each([
    ['zero.mcap', 7],
    ['zero-no-chunks.mcap', 7],
    ['zero.db3', 7],
    ['future.mcap', 59],
  ])(
    '%s: a stamp far from all others is left out, and does not count for the start and the end',
    async (name, odd) => {
      const read = await readBag(at(name));
      const near = messages.filter((_, i) => i !== odd);
      expect(read.lines).toEqual(near);
      expect([read.startNs, read.endNs]).toEqual([near[0]![1], near.at(-1)![1]]);
      expect(read.faults).toMatchObject([{ code: 'BAG_DISORDER', details: { messages: 1 } }]);
      expect(read.faults[0]!.message).toMatch(
        /^1 message left out: their stamps are days apart .* between 2023-11-14T/,
      );
    },
  );

  test('a clock that was set while recording: the longer part is read', async () => {
    const read = await readBag(at('clock-set.mcap'));
    expect(read.lines).toEqual(messages.slice(10));
    expect(read.faults).toMatchObject([{ code: 'BAG_DISORDER', details: { messages: 10 } }]);
  });

  test.each(['zero.mcap', 'zero.db3', 'clock-set.mcap'])(
    '%s: what is left out is told when the bag is opened, and when a part of it is played',
    async name => {
      const bag = await openBag(at(name));
      const { startNs, endNs, faults, topics } = bag;
      const left = messages.length - (await readBag(at(name))).lines.length;
      expect(faults).toMatchObject([{ code: 'BAG_DISORDER', details: { messages: left } }]);
      expect(faults[0]!.message).toMatch(
        new RegExp(
          `which lie between 2023-11-14T.* and 2023-11-14T.* \\(${60 - left} of 60\\); left out are ${left} (at|between) 1970-01-01T`,
        ),
      );
      // What is played, and not what lies in the file.
      expect([...topics.values()].reduce((sum, { count }) => sum + count!, 0)).toBe(60 - left);
      await bag.close();
      const played = await readBag(at(name), { fromNs: startNs, toNs: endNs! + 1n });
      expect(played.lines).toHaveLength(60 - left);
      expect(played.faults).toEqual(faults);
      const far = await readBag(at(name), { fromNs: null, toNs: startNs, far: true });
      expect(far.lines).toHaveLength(left);
    },
  );

  test('a recording of three days is one recording', async () => {
    const read = await readBag(at('three-days.mcap'));
    expect(read.lines).toHaveLength(60);
    expect(read.faults).toEqual([]);
  });
});
