import fc from 'fast-check';
import type { ErrorCode } from '../../src/core/errors';
import type { CameraMessage } from '../../src/ros/ingest';
import type { JointStateMessage, TimeMessage } from '../../src/ros/messages';
import { fromNs, toNs } from '../../src/ros/messages';
import { MS, T0, joints, picture, setUp, shot, stampOf, stream } from './inputs';

const oneCamera = { cameras: [{ slot: 'base' }] };

describe('joint states (O-08)', () => {
  test('go into the order of the robot file; extra joints and arrays of other lengths do no harm', () => {
    const { ingest } = setUp(oneCamera);
    ingest.camera('base', picture(T0), 0, 0n);
    const name = ['gripper', 'elbow', 'lift', 'pan'];
    const message = { name, position: Float64Array.of(NaN, 3, 2, 1), velocity: [1], effort: [] };
    ingest.jointState(joints(T0, message), 0, 0n);
    expect(ingest.take(0)!.state).toEqual(Float64Array.of(1, 2, 3));
    expect(ingest.measured(0)).toEqual(Float64Array.of(1, 2, 3));
  });

  test.each<[string, Partial<JointStateMessage>, RegExp]>([
    ['a short position array', { position: Float64Array.of(1, 2) }, /3 names but only 2 positions/],
    ['a long position array', { position: Float64Array.of(1, 2, 3, 4) }, /3 names but 4 positions/],
    ['a missing joint', { name: ['elbow', 'lift', 'pain'] }, /lacks pan; it has elbow, lift, pain/],
    [
      'no joints at all',
      { name: [], position: new Float64Array(0) },
      /lacks pan, lift, elbow; it has no joint/,
    ],
    ['NaN', { position: Float64Array.of(3, NaN, 1) }, /not a finite number for lift/],
    [
      'a joint listed twice',
      { name: ['elbow', 'lift', 'pan', 'lift'], position: Float64Array.of(3, 2, 1, 7) },
      /lists lift twice/,
    ],
  ])('refused: %s', (_, over, message) => {
    const { ingest, refused } = setUp(oneCamera);
    ingest.camera('base', picture(T0), 0, 0n);
    ingest.jointState(joints(T0, over), 0, 0n);
    expect(ingest.take(0)).toBeNull();
    expect(ingest.measured(0)).toBeNull();
    expect(refused).toEqual([
      { code: 'STATE_INVALID', topic: 'joint_states', message: expect.stringMatching(message) },
    ]);
  });

  test('a pose older than the timeout is none: nobody may start from it', () => {
    const { ingest } = setUp(oneCamera);
    ingest.jointState(joints(T0), 1000, 0n);
    expect(ingest.measured(1300)).toEqual(Float64Array.of(1, 2, 3));
    expect(ingest.measured(1301)).toBeNull();
    ingest.jointState(joints(T0 + MS, { position: Float64Array.of(6, 5, NaN) }), 1400, 0n);
    expect(ingest.measured(1400)).toBeNull();
    ingest.jointState(joints(T0 + MS), 1400, 0n);
    expect(ingest.measured(1400)).not.toBeNull();
  });
});

describe('pairing (O-05)', () => {
  test('O-05 c: 40 ms behind pairs with a tolerance of 50 ms', () => {
    const { ingest } = setUp();
    const sets = stream(ingest, { toMs: 1000, wrist: -40 });
    expect(sets.length).toBeGreaterThan(20);
    for (const { stamps } of sets) expect(stamps[0]! - stamps[1]!).toBeLessThanOrEqual(50n * MS);
  });

  test('O-05 c, d: alone, 40 ms make a pair, 60 ms do not', () => {
    for (const apartMs of [40n, 60n]) {
      const { ingest } = setUp();
      ingest.jointState(joints(T0), 0, 0n);
      ingest.camera('base', picture(T0), 0, 0n);
      ingest.camera('wrist', picture(T0 - apartMs * MS), 0, 0n);
      expect(ingest.take(0) !== null).toBe(apartMs === 40n);
    }
  });

  test('O-05 d: 60 ms behind never pairs with that neighbour, but with the one before', () => {
    const { ingest } = setUp();
    const sets = stream(ingest, { toMs: 1000, wrist: -60 });
    expect(sets.length).toBeGreaterThan(10);
    for (const { stamps } of sets) {
      const apart = stamps[0]! - stamps[1]!;
      expect(apart < 0n ? -apart : apart).toBeLessThanOrEqual(50n * MS);
    }
  });

  test('a picture serves one observation, a state may serve several', () => {
    const { ingest } = setUp(oneCamera);
    ingest.jointState(joints(T0), 0, 0n);
    ingest.camera('base', picture(T0), 0, 0n);
    expect(ingest.take(0)).not.toBeNull();
    expect(ingest.take(0)).toBeNull();
    ingest.camera('base', picture(T0 + 10n * MS), 0, 0n);
    expect(ingest.take(0)!.state).toEqual(Float64Array.of(1, 2, 3));
  });

  test('a complete set that has become old is no observation', () => {
    const { ingest } = setUp(oneCamera);
    ingest.camera('base', picture(T0), 0, 0n);
    ingest.jointState(joints(T0), 0, 0n);
    ingest.jointState(joints(T0 + 400n * MS), 400, 0n);
    expect(ingest.take(400)).toBeNull();
  });

  test('memory stays flat over 1,000 frames that do not pair, and each is counted', () => {
    const { ingest, health } = setUp();
    expect(stream(ingest, { toMs: 33_000, wrist: -12_000_000 })).toEqual([]);
    // 1,001 of each came; what is not counted as replaced waits.
    const waiting = ['base', 'wrist', 'state'].map(name => {
      const { received, replaced, refused } = health(name, 33_000);
      return received - replaced - refused;
    });
    expect(waiting).toEqual([8, 8, 256]);
  });

  test('whatever comes: sets are complete, within the tolerance, and each picture is newer than the last used', () => {
    const event = fc.record({
      input: fc.constantFrom('base', 'wrist', 'state'),
      stepMs: fc.integer({ min: 1, max: 60 }),
      jitterMs: fc.integer({ min: -30, max: 30 }),
      take: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 80 }), events => {
        const { ingest } = setUp();
        let now = T0;
        const used = new Map<string, bigint>();
        for (const { input, stepMs, jitterMs, take } of events) {
          now += BigInt(stepMs) * MS;
          const ns = now + BigInt(jitterMs) * MS;
          if (input === 'state') ingest.jointState(joints(ns), 0, 0n);
          else ingest.camera(input, picture(ns), 0, 0n);
          const set = take ? ingest.take(0) : null;
          if (set === null) continue;
          const stamps = ['base', 'wrist'].map(slot => stampOf(set.cameras.get(slot)));
          const span = stamps[0]! > stamps[1]! ? stamps[0]! - stamps[1]! : stamps[1]! - stamps[0]!;
          expect(span <= 50n * MS).toBe(true);
          ['base', 'wrist'].forEach((slot, i) => {
            expect(stamps[i]! > (used.get(slot) ?? 0n)).toBe(true);
            used.set(slot, stamps[i]!);
          });
        }
      }),
    );
  });
});

describe('stamps', () => {
  const shoot = (stampsMs: readonly number[], nowNs = 0n) => {
    const { ingest, refused, health } = setUp(oneCamera);
    for (const ms of stampsMs) ingest.camera('base', shot(T0 + BigInt(ms) * MS), 0, nowNs);
    ingest.jointState(joints(T0 + BigInt(stampsMs.at(-1)!) * MS), 0, 0n);
    return { ingest, refused, health };
  };

  test('repeated and older ones are refused, a far older one is a new start (bag in a loop)', () => {
    const { ingest, refused } = shoot([0, 0, -10, -2000]);
    expect(refused.map(r => [r.code, r.message])).toEqual([
      ['STAMP_INVALID', expect.stringMatching(/the stamp does not advance/)],
      ['STAMP_INVALID', expect.stringMatching(/runs back by 0\.01 s; the message is not used/)],
      ['STAMP_INVALID', expect.stringMatching(/runs back by 2 s; taken as a new start/)],
    ]);
    expect(ingest.take(0)!.stampNs).toBe(T0 - 2000n * MS);
  });

  test('more than a second in the future is refused, and by how much is said', () => {
    const { refused } = shoot([1000, 1001, 60_000], T0);
    expect(refused).toEqual(
      ['1.001', '60.000'].map(seconds => ({
        code: 'STAMP_INVALID',
        topic: 'camera/base',
        message: `camera/base: the stamp lies ${seconds} s in the future; synchronise the clocks`,
      })),
    );
  });

  test('without ROS time nothing is in the future; after a jump far ahead the source comes back by itself', () => {
    const { ingest, refused } = shoot([0, 3_600_000, 33, 66]);
    expect(refused.map(r => r.message)).toEqual([expect.stringMatching(/taken as a new start/)]);
    expect(ingest.take(0)!.stampNs).toBe(T0 + 66n * MS);
  });

  test('zero is refused by name', () => {
    const { ingest, refused } = setUp();
    expect(stream(ingest, { toMs: 300, wrist: -Infinity })).toEqual([]);
    expect(refused).toHaveLength(10);
    expect(refused[0]).toMatchObject({
      code: 'STAMP_INVALID',
      message: expect.stringMatching(/^camera\/wrist: the stamp is zero; it must be set by the driver/),
    });
  });

  test.each([
    ['zero (O-05 a)', -Infinity],
    ['12,000 s behind (O-05 b)', -12_000_000],
    ['12,000 s ahead', 12_000_000],
  ])('sync.stamps: arrival pairs a camera whose stamps are %s', (_, wrist) => {
    const { ingest, refused } = setUp({ sync: { stamps: 'arrival' } });
    const sets = stream(ingest, { toMs: 990, wrist, nowNs: T0 });
    expect(sets).toHaveLength(31);
    expect(refused).toEqual([]);
  });

  test('sync.stamps: arrival needs ROS time, and takes the order of arrival while it stands still', () => {
    const { ingest, refused } = setUp({ ...oneCamera, sync: { stamps: 'arrival' } });
    ingest.camera('base', shot(T0), 0, 0n);
    expect(refused).toEqual([
      {
        code: 'STAMP_INVALID',
        topic: 'camera/base',
        message: expect.stringMatching(/ROS time does not run/),
      },
    ]);
    ingest.jointState(joints(T0), 0, T0);
    for (let i = 0; i < 3; i++) ingest.camera('base', shot(0n), 0, T0);
    expect([0, 1, 2].map(() => ingest.take(0)!.stampNs)).toEqual([T0, T0 + 1n, T0 + 2n]);
    // A jump of ROS time back is a new start.
    ingest.camera('base', shot(0n), 0, T0 - 5000n * MS);
    ingest.jointState(joints(0n), 0, T0 - 5000n * MS);
    expect(ingest.take(0)!.stampNs).toBe(T0 - 5000n * MS);
  });
});

describe('pictures are checked when they come', () => {
  const compressed = (format: string, data: Uint8Array): CameraMessage => ({
    kind: 'compressed',
    message: { header: { stamp: fromNs(T0) }, format, data },
  });
  const raw = (over: object): CameraMessage => {
    const { message } = picture(T0);
    return { kind: 'raw', message: { ...message, ...over } as never };
  };
  test.each<[string, CameraMessage, ErrorCode, RegExp]>([
    [
      '32FC1',
      raw({ encoding: '32FC1' }),
      'IMAGE_ENCODING',
      /"32FC1" is not supported; supported are rgb8, bgr8/,
    ],
    ['16UC1', raw({ encoding: '16UC1' }), 'IMAGE_ENCODING', /"16UC1"/],
    ['short data', raw({ height: 2 }), 'IMAGE_SIZE', /6 bytes, not 3/],
    ['a short step', raw({ width: 2 }), 'IMAGE_SIZE', /step of 3/],
    [
      'depth',
      compressed('16UC1; compressedDepth png', Uint8Array.of(1)),
      'IMAGE_ENCODING',
      /compressedDepth/,
    ],
    ['no bytes', compressed('jpeg', new Uint8Array(0)), 'IMAGE_CORRUPT', /no data/],
    ['another file', compressed('jpeg', Uint8Array.of(1, 2, 3)), 'IMAGE_CORRUPT', /neither JPEG nor PNG/],
  ])('refused: %s', (_, message, code, text) => {
    const { ingest, refused, health } = setUp(oneCamera);
    ingest.camera('base', message, 100, 0n);
    ingest.jointState(joints(T0), 100, 0n);
    expect(refused).toEqual([{ code, topic: 'camera/base', message: expect.stringMatching(text) }]);
    expect(refused[0]!.message.startsWith('camera/base: ')).toBe(true);
    expect(ingest.take(100)).toBeNull();
    expect(health('base', 200)).toMatchObject({
      word: 'NotReceived',
      blocking: true,
      received: 1,
      refused: 1,
      message: expect.stringMatching(text),
    });
  });
});

describe('on_missing: mask', () => {
  const masked = {
    cameras: [{ slot: 'base' }, { slot: 'wrist', onMissing: 'mask' as const }],
  };
  const slotsFrom = (sets: ReturnType<typeof stream>, fromMs: number): string[] =>
    [...new Set(sets.filter(({ atMs }) => atMs >= fromMs).map(({ slots }) => slots.join()))]; // prettier-ignore

  test('a camera that stops is left out after the timeout, and comes back by itself', () => {
    const { ingest, health } = setUp(masked);
    expect(slotsFrom(stream(ingest, { toMs: 1000 }), 0)).toEqual(['base,wrist']);
    const gap = stream(ingest, { fromMs: 1023, toMs: 3000, wrist: null });
    // Nothing in the first 300 ms: it may only be late.
    expect(gap[0]!.atMs).toBeGreaterThan(1290);
    expect(gap[0]!.atMs).toBeLessThan(1360);
    expect(slotsFrom(gap, 0)).toEqual(['base']);
    expect(gap.length).toBeGreaterThan(50);
    expect(health('wrist', 3000)).toMatchObject({
      word: 'Timeout',
      blocking: false,
      message: expect.stringMatching(/^camera\/wrist: silent for 2\.0 s; the other cameras go on without it/),
    });
    const back = stream(ingest, { fromMs: 3023, toMs: 3300 });
    expect(slotsFrom(back, 0)).toEqual(['base,wrist']);
  });

  test.each<[string, number | null]>([
    ['never comes', null],
    ['has zero stamps', -Infinity],
    ['is on another clock', -12_000_000],
  ])('a camera that %s is left out', (_, wrist) => {
    const { ingest, health } = setUp(masked);
    const sets = stream(ingest, { toMs: 1000, wrist });
    expect(slotsFrom(sets, 0)).toEqual(['base']);
    expect(sets.length).toBeGreaterThan(20);
    expect(health('wrist', 1000)).toMatchObject({ blocking: false });
    expect(health('wrist', 1000).word).not.toBe('OK');
  });

  test('without any camera there is no observation, and then it is the cameras that block', () => {
    const cameras = [
      { slot: 'base', onMissing: 'mask' as const },
      { slot: 'wrist', onMissing: 'mask' as const },
    ];
    const { ingest, health } = setUp({ cameras });
    for (let atMs = 0; atMs < 1000; atMs += 33) {
      ingest.jointState(joints(T0 + BigInt(atMs) * MS), atMs, 0n);
      expect(ingest.take(atMs)).toBeNull();
    }
    expect(health('base', 1000)).toMatchObject({ word: 'NotReceived', blocking: true });
    ingest.camera('wrist', shot(T0 + 990n * MS), 1000, 0n);
    expect([...ingest.take(1000)!.cameras.keys()]).toEqual(['wrist']);
    expect(health('base', 1000).blocking).toBe(false);
  });

  test('O-04 d: a camera that blocks and stops means no observation after the timeout', () => {
    const { ingest } = setUp();
    stream(ingest, { toMs: 1000 });
    expect(stream(ingest, { fromMs: 1023, toMs: 3000, wrist: null })).toEqual([]);
    expect(stream(ingest, { fromMs: 3023, toMs: 3300 }).length).toBeGreaterThan(5);
  });
});

test('stamps survive the way through messages', () => {
  const stamp: TimeMessage = { sec: 1_700_000_000, nanosec: 123_456_789 };
  expect(fromNs(toNs(stamp))).toEqual(stamp);
  expect(fromNs(-1n)).toEqual({ sec: -1, nanosec: 999_999_999 });
});
