import fc from 'fast-check';
import type { Robot } from '../../src/core/robot';
import { Ingest } from '../../src/ros/ingest';
import type { CameraMessage, Refused } from '../../src/ros/ingest';
import type { JointStateMessage, TimeMessage } from '../../src/ros/messages';
import { fromNs, toNs } from '../../src/ros/messages';

const MS = 1_000_000n;
const T0 = 100_000_000_000_000n;

const robot = (cameras: readonly string[], joints = ['pan', 'lift', 'elbow']): Robot => ({
  name: 'r',
  cameras: cameras.map(slot => ({ slot, topic: `camera/${slot}`, transport: 'raw', rotate: 0 })),
  state: { topic: 'joint_states', joints },
  actions: joints.map(name => ({ name, joint: name, kind: 'position', min: -9, max: 9, maxRate: null })),
  platform: 'none',
  relativeTo: joints.map(() => null),
  rates: { trainHz: 20, executeSteps: null },
  sync: { toleranceMs: 50, timeoutMs: 300 },
});

const header = (ns: bigint) => ({ stamp: fromNs(ns), frame_id: '' });
const picture = (ns: bigint): CameraMessage => ({
  kind: 'raw',
  message: {
    header: header(ns),
    height: 1,
    width: 1,
    encoding: 'rgb8',
    is_bigendian: 0,
    step: 3,
    data: new Uint8Array(3),
  },
});
const joints = (ns: bigint, over: Partial<JointStateMessage> = {}): JointStateMessage => ({
  header: header(ns),
  name: ['elbow', 'lift', 'pan'],
  position: Float64Array.of(3, 2, 1),
  ...over,
});

function setUp(cameras: readonly string[] = ['base', 'wrist']) {
  const refused: Refused[] = [];
  return { ingest: new Ingest(robot(cameras), 0, drop => refused.push(drop)), refused };
}
const stampOf = (camera: CameraMessage | undefined): bigint => toNs(camera!.message.header.stamp);

describe('joint states (O-08)', () => {
  test('go into the order of the robot file; extra joints do no harm', () => {
    const { ingest } = setUp(['base']);
    ingest.camera('base', picture(T0), 0);
    const name = ['gripper', 'elbow', 'lift', 'pan'];
    ingest.jointState(joints(T0, { name, position: Float64Array.of(9, 3, 2, 1) }), 0);
    expect(ingest.take(0)!.state).toEqual(Float64Array.of(1, 2, 3));
    expect(ingest.measured()).toEqual(Float64Array.of(1, 2, 3));
  });

  test.each<[string, Partial<JointStateMessage>, RegExp]>([
    ['a short position array', { position: Float64Array.of(1, 2) }, /3 names but only 2 positions/],
    ['a missing joint', { name: ['elbow', 'lift', 'pain'] }, /lacks pan; it has elbow, lift, pain/],
    [
      'no joints at all',
      { name: [], position: new Float64Array(0) },
      /lacks pan, lift, elbow; it has no joint/,
    ],
    ['NaN', { position: Float64Array.of(3, NaN, 1) }, /not a finite number for lift/],
  ])('refused: %s', (_, over, message) => {
    const { ingest, refused } = setUp(['base']);
    ingest.camera('base', picture(T0), 0);
    ingest.jointState(joints(T0, over), 0);
    expect(ingest.take(0)).toBeNull();
    expect(ingest.measured()).toBeNull();
    expect(refused).toEqual([
      { code: 'STATE_INVALID', topic: 'joint_states', message: expect.stringMatching(message) },
    ]);
  });
});

describe('pairing (O-05)', () => {
  /** Base camera and state at 30 Hz, wrist camera with an offset; returns the sets taken after each picture. */
  function run(offsetMs: number, frames: number) {
    const { ingest, refused } = setUp();
    const sets = [];
    for (let n = 0; n < frames; n++) {
      const ns = T0 + BigInt(n) * 33n * MS;
      ingest.jointState(joints(ns), n * 33);
      ingest.camera('base', picture(ns), n * 33);
      const wristNs = offsetMs === Infinity ? 0n : ns - BigInt(offsetMs) * MS;
      ingest.camera('wrist', picture(wristNs), n * 33);
      const set = ingest.take(n * 33);
      if (set) sets.push(set);
    }
    return { ingest, refused, sets };
  }

  test('40 ms behind pairs with a tolerance of 50 ms', () => {
    const { sets } = run(40, 30);
    expect(sets.length).toBeGreaterThan(20);
    for (const { cameras } of sets) {
      expect(stampOf(cameras.get('base')) - stampOf(cameras.get('wrist'))).toBeLessThanOrEqual(50n * MS);
    }
  });

  test('60 ms behind does not pair with that neighbour, but with the one before', () => {
    const { sets } = run(60, 30);
    for (const { cameras } of sets) {
      const apart = stampOf(cameras.get('base')) - stampOf(cameras.get('wrist'));
      expect(apart < 0n ? -apart : apart).toBeLessThanOrEqual(50n * MS);
    }
  });

  test('12 000 s behind: nothing pairs, memory is bounded, the topic and its offset are named', () => {
    const { ingest, sets } = run(12_000_000, 1000);
    expect(sets).toHaveLength(0);
    const problem = ingest.problem(33_000);
    expect(problem!.topic).toBe('camera/wrist');
    expect(problem!.message).toMatch(/12000\.000 s behind those of/);
  });

  test('zero stamps are refused by name', () => {
    const { ingest, refused, sets } = run(Infinity, 10);
    expect(sets).toHaveLength(0);
    expect(refused).toHaveLength(10);
    expect(refused[0]).toMatchObject({
      code: 'STAMP_INVALID',
      message: 'camera/wrist: the stamp is zero; it must be set by the driver',
    });
    expect(ingest.problem(1100)!.message).toMatch(/camera\/wrist: no usable message yet/);
  });

  test('a silent input is named within two seconds, and no longer once it is back', () => {
    const { ingest } = setUp();
    const feed = (ns: bigint, atMs: number, wrist: boolean) => {
      ingest.jointState(joints(ns), atMs);
      ingest.camera('base', picture(ns), atMs);
      if (wrist) ingest.camera('wrist', picture(ns), atMs);
      ingest.take(atMs);
    };
    for (let n = 0; n < 100; n++) feed(T0 + BigInt(n) * 33n * MS, n * 33, n < 40);
    expect(ingest.problem(3300)!.message).toMatch(/camera\/wrist: silent for 2\.0 s/);
    feed(T0 + 4000n * MS, 4000, true);
    expect(ingest.problem(4001)).toBeNull();
  });

  test('O-04 d: a camera that never publishes is named within two seconds, and no observation is made without it', () => {
    const { ingest } = setUp();
    for (let n = 0; n < 60; n++) {
      ingest.jointState(joints(T0 + BigInt(n) * 33n * MS), n * 33);
      ingest.camera('base', picture(T0 + BigInt(n) * 33n * MS), n * 33);
      expect(ingest.take(n * 33)).toBeNull();
    }
    expect(ingest.problem(1980)).toEqual({
      topic: 'camera/wrist',
      message: expect.stringMatching(/camera\/wrist: no usable message yet; no new action chunks without it/),
    });
  });

  test('a picture serves one observation, a state may serve several', () => {
    const { ingest } = setUp(['base']);
    ingest.jointState(joints(T0), 0);
    ingest.camera('base', picture(T0), 0);
    expect(ingest.take(0)).not.toBeNull();
    expect(ingest.take(0)).toBeNull();
    ingest.camera('base', picture(T0 + 10n * MS), 0);
    expect(ingest.take(0)!.state).toEqual(Float64Array.of(1, 2, 3));
  });

  test('repeated and older stamps are refused, a far older one is a new start (bag in a loop)', () => {
    const { ingest, refused } = setUp(['base']);
    ingest.camera('base', picture(T0), 0);
    ingest.camera('base', picture(T0), 0);
    ingest.camera('base', picture(T0 - 10n * MS), 0);
    ingest.camera('base', picture(T0 - 2000n * MS), 0);
    ingest.jointState(joints(T0 - 2000n * MS), 0);
    expect(refused.map(r => r.code)).toEqual(Array(3).fill('STAMP_INVALID'));
    expect(ingest.take(0)!.stampNs).toBe(T0 - 2000n * MS);
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
          if (input === 'state') ingest.jointState(joints(ns), 0);
          else ingest.camera(input, picture(ns), 0);
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

test('stamps survive the way through messages', () => {
  const stamp: TimeMessage = { sec: 1_700_000_000, nanosec: 123_456_789 };
  expect(fromNs(toNs(stamp))).toEqual(stamp);
  expect(fromNs(-1n)).toEqual({ sec: -1, nanosec: 999_999_999 });
});
