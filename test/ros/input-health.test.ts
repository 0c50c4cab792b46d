/** What /diagnostics says of each input. Times are ms on the clock of the arrivals. */
import { MS, T0, joints, picture, setUp, shot, stream } from './inputs';

const oneCamera = { cameras: [{ slot: 'base' }] };

test('all well: OK, with rate, age and offset', () => {
  const { ingest, health } = setUp();
  stream(ingest, { toMs: 3000, wrist: -5 });
  expect(health('base', 3010)).toEqual({
    name: 'base',
    topic: 'camera/base',
    word: 'OK',
    blocking: false,
    message: 'OK',
    rateHz: expect.closeTo(30, 0) as number,
    ageMs: 40,
    offsetMs: 0,
    received: 91,
    refused: 0,
    replaced: 0,
  });
  expect(health('wrist', 3010).offsetMs).toBe(-5);
  expect(ingest.health(3010).map(({ name, word }) => [name, word])).toEqual([
    ['base', 'OK'],
    ['wrist', 'OK'],
    ['state', 'OK'],
  ]);
});

test('O-04 d: a camera that never publishes is named within two seconds, and blocks', () => {
  const { ingest, health } = setUp();
  expect(stream(ingest, { toMs: 1980, wrist: null })).toEqual([]);
  expect(health('wrist', 1980)).toMatchObject({
    topic: 'camera/wrist',
    word: 'NotReceived',
    blocking: true,
    rateHz: 0,
    ageMs: null,
    offsetMs: null,
    message:
      'camera/wrist: no usable message yet (2.0 s); is its driver running?; no new action chunks without it',
  });
  expect(health('base', 1980).word).toBe('OK');
});

test('a silent input is named, and no longer once it is back', () => {
  const { ingest, health } = setUp();
  stream(ingest, { toMs: 1000 });
  stream(ingest, { fromMs: 1023, toMs: 3000, wrist: null });
  expect(health('wrist', 3000)).toMatchObject({
    word: 'Timeout',
    blocking: true,
    message: 'camera/wrist: silent for 2.0 s; no new action chunks without it',
  });
  expect(health('base', 3000).word).toBe('OK');
  stream(ingest, { fromMs: 3023, toMs: 3060 });
  expect(health('wrist', 3060).word).toBe('OK');
});

test('the timeout is that of the robot file', () => {
  const { ingest, health } = setUp({ ...oneCamera, sync: { timeoutMs: 700 } });
  ingest.camera('base', shot(T0), 0, 0n);
  expect([700, 701].map(ms => health('base', ms).word)).toEqual(['OK', 'Timeout']);
});

describe('stamps', () => {
  test('O-05 a: zero stamps: the topic and its offset within two seconds', () => {
    const { ingest, health } = setUp();
    stream(ingest, { toMs: 1000, wrist: -Infinity });
    expect(health('wrist', 1000)).toMatchObject({
      word: 'BadStamps',
      blocking: true,
      received: 31,
      refused: 31,
      message: expect.stringMatching(
        /^camera\/wrist: no usable message yet 1\.0 s: the stamp is zero; .* \(100000\.990 s behind those of /,
      ),
    });
    expect(health('base', 1000).word).toBe('OK');
  });

  test.each([
    ['O-05 b: behind', -12_000_000, /camera\/wrist: its stamps are 12000\.000 s behind those of/],
    ['ahead, while ROS time is not known', 12_000_000, /its stamps are 12000\.000 s ahead of those of/],
  ])('%s: the topic and its offset within two seconds', (_, wrist, text) => {
    const { ingest, health } = setUp();
    stream(ingest, { toMs: 1000, wrist });
    expect(health('wrist', 1000)).toMatchObject({
      word: 'BadStamps',
      blocking: true,
      offsetMs: wrist,
      message: expect.stringMatching(text),
    });
    expect(health('wrist', 1000).message).toMatch(
      /must lie within 50 ms \(synchronise the clocks, or set sync\.stamps to arrival\); no new action chunks/,
    );
    expect(['base', 'state'].map(name => health(name, 1000).word)).toEqual(['OK', 'OK']);
  });

  test('in the future: by how much', () => {
    const { ingest, health, refused } = setUp();
    stream(ingest, { toMs: 1000, wrist: 12_000_000, nowNs: T0 });
    expect(refused).toHaveLength(31);
    expect(health('wrist', 1000)).toMatchObject({
      word: 'BadStamps',
      message: expect.stringMatching(/the stamp lies 12000\.000 s in the future/),
    });
  });

  test('one message of another time between good ones does no harm', () => {
    const { ingest, health } = setUp();
    stream(ingest, { toMs: 1000, nowNs: T0 });
    ingest.camera('wrist', shot(T0 + 9_000_000n * MS), 1001, T0 + 1001n * MS);
    expect(health('wrist', 1001)).toMatchObject({ word: 'OK', refused: 1 });
  });

  test('that do not advance are frozen after the timeout', () => {
    const { ingest, health } = setUp(oneCamera);
    for (let atMs = 0; atMs <= 1000; atMs += 33) {
      ingest.jointState(joints(T0 + BigInt(atMs) * MS), atMs, 0n);
      ingest.camera('base', shot(T0), atMs, 0n);
    }
    expect(health('base', 1000)).toMatchObject({
      word: 'Frozen',
      blocking: true,
      refused: 30,
      message: expect.stringMatching(/no usable message for 1\.0 s: the stamp does not advance/),
    });
    ingest.camera('base', shot(T0 + 1000n * MS), 1001, 0n);
    expect(health('base', 1001).word).toBe('OK');
  });

  test('within the timeout of each other, but never within the tolerance: the farthest is named', () => {
    const { ingest, health } = setUp();
    for (let atMs = 0; atMs <= 3000; atMs += 200) {
      const ns = T0 + BigInt(atMs) * MS;
      for (let ms = 0n; ms < 200n; ms += 20n) ingest.jointState(joints(ns + ms * MS), atMs, 0n);
      ingest.camera('base', shot(ns), atMs, 0n);
      ingest.camera('wrist', shot(ns + 100n * MS), atMs, 0n);
      expect(ingest.take(atMs)).toBeNull();
    }
    const bad = ingest.health(3001).filter(({ word }) => word !== 'OK');
    expect(bad).toMatchObject([
      { name: 'base', word: 'BadStamps', blocking: true, message: expect.stringMatching(/0\.100 s behind/) },
    ]);
    expect(health('base', 3001).offsetMs).toBe(-100);
  });
});

describe('rates', () => {
  const run = (periodMs: number, rateHz: number | null) => {
    const { ingest, health } = setUp({ cameras: [{ slot: 'base', rateHz }], sync: { timeoutMs: 900 } });
    const words: string[] = [];
    for (let atMs = 0; atMs <= 4000; atMs += periodMs) {
      ingest.camera('base', shot(T0 + BigInt(atMs) * MS), atMs, 0n);
      words.push(health('base', atMs).word);
    }
    return { words, health: health('base', 4000) };
  };
  test.each([
    [33, 30, 'OK'],
    [40, 30, 'OK'], // 83 %
    [50, 30, 'WarnRate'], // 67 %
    [80, 30, 'ErrorRate'], // 42 %
    [500, 30, 'ErrorRate'],
    [500, null, 'OK'],
  ])('every %i ms where %s Hz are expected: %s, and only after two seconds', (periodMs, rateHz, word) => {
    const { words, health } = run(periodMs, rateHz);
    expect(health).toMatchObject({ word, blocking: false });
    expect(health.rateHz).toBeCloseTo(1000 / periodMs, 1);
    expect(words.slice(0, Math.floor(2000 / periodMs)).every(early => early === 'OK')).toBe(true);
    if (word !== 'OK')
      expect(health.message).toBe(
        `camera/base: ${(1000 / periodMs).toFixed(1)} Hz, where the robot file expects 30 Hz`,
      );
  });

  test('the rate falls while nothing comes; a thousand a second is counted too', () => {
    const { ingest, health } = setUp(oneCamera);
    for (let ms = 0; ms < 3000; ms++) ingest.jointState(joints(T0 + BigInt(ms) * MS), ms, 0n);
    expect(health('state', 3000).rateHz).toBeCloseTo(1000, 0);
    expect(health('state', 3700).rateHz).toBeLessThan(300);
    expect(health('state', 5000).rateHz).toBe(0);
  });
});

describe('the same picture again and again', () => {
  const run = (pictureAt: (n: number) => Uint8Array<ArrayBuffer>) => {
    const { ingest, health } = setUp(oneCamera);
    const at = (n: number) => {
      ingest.jointState(joints(T0 + BigInt(n * 33) * MS), n * 33, 0n);
      ingest.camera('base', picture(T0 + BigInt(n * 33) * MS, pictureAt(n)), n * 33, 0n);
      return health('base', n * 33);
    };
    return Array.from({ length: 120 }, (_, n) => at(n));
  };
  const still = new Uint8Array(640 * 480 * 3).fill(7);

  test('is frozen after three seconds, but blocks nothing', () => {
    const healths = run(() => still);
    expect(healths.findIndex(({ word }) => word === 'Frozen')).toBe(91); // 3003 ms
    expect(healths.at(-1)).toMatchObject({
      blocking: false,
      message: expect.stringMatching(/^camera\/base: the same picture for 3\.9 s, though its stamps advance/),
    });
  });

  test('noise, a moved object or another size is no freeze', () => {
    const changed = (
      change: (data: Uint8Array<ArrayBuffer>, n: number) => Uint8Array<ArrayBuffer>,
    ): string[] => run(n => change(still.slice(), n)).map(({ word }) => word);
    const moved = changed((data, n) => data.fill(n, n * 3000, n * 3000 + 3000));
    expect(new Set(moved)).toEqual(new Set(['OK']));
    expect(new Set(changed((data, n) => data.subarray((n % 2) * 3)))).toEqual(new Set(['OK']));
  });
});

describe('pictures that cannot be decoded', () => {
  const failure = (slot: string) => ({ slot, code: 'IMAGE_CORRUPT' as const, message: 'cut short' });
  const both = ['base', 'wrist'];

  test('one in between does nothing; three in a row are told, until the next good one', () => {
    const { ingest, health } = setUp();
    stream(ingest, { toMs: 300 });
    const after = (failures: readonly string[]): string => {
      expect(ingest.decoded(both, failures.map(failure))).toBe(failures.length === 0);
      return health('wrist', 300).word;
    };
    expect(after(['wrist'])).toBe('OK');
    expect(after([])).toBe('OK');
    expect([after(['wrist']), after(['wrist']), after(['wrist'])]).toEqual(['OK', 'OK', 'Timeout']);
    expect(health('wrist', 300)).toMatchObject({
      blocking: true,
      refused: 4,
      message: expect.stringMatching(
        /its last 3 pictures cannot be decoded: cut short; no new action chunks/,
      ),
    });
    expect(after([])).toBe('OK');
  });

  test('on_missing: mask: the observation goes on without them from the third on, but not without any picture', () => {
    const { ingest, health } = setUp({
      cameras: both.map(slot => ({ slot, onMissing: 'mask' as const })),
    });
    stream(ingest, { toMs: 300 });
    const goesOn = (...slots: string[]): boolean => ingest.decoded(both, slots.map(failure));
    expect([goesOn('wrist'), goesOn('wrist'), goesOn('wrist'), goesOn('wrist')]).toEqual([
      ...[false, false],
      ...[true, true],
    ]);
    expect(health('wrist', 300)).toMatchObject({ word: 'Timeout', blocking: false });
    expect(goesOn('wrist', 'base')).toBe(false);
  });
});

test('frames that newer ones replace before use are counted', () => {
  const { ingest, health } = setUp(oneCamera);
  for (let n = 0; n < 10; n++) {
    ingest.jointState(joints(T0 + BigInt(n * 33) * MS), n * 33, 0n);
    ingest.camera('base', shot(T0 + BigInt(n * 33) * MS), n * 33, 0n);
  }
  expect(ingest.take(300)!.stampNs).toBe(T0 + 297n * MS);
  expect(health('base', 300)).toMatchObject({ received: 10, replaced: 9, refused: 0 });
  expect(health('state', 300)).toMatchObject({ received: 10, replaced: 9 });
  // Waiting ones are lost with a reset.
  ingest.camera('base', shot(T0 + 330n * MS), 330, 0n);
  ingest.clear();
  expect(health('base', 330).replaced).toBe(10);
});
