/** Messages and robots for tests of the inputs. */
import type { CameraInput, Robot } from '../../src/core/robot';
import { Ingest } from '../../src/ros/ingest';
import type { CameraMessage, Refused } from '../../src/ros/ingest';
import type { InputHealth } from '../../src/ros/input-health';
import type { JointStateMessage } from '../../src/ros/messages';
import { fromNs, toNs } from '../../src/ros/messages';

export const MS = 1_000_000n;
export const T0 = 100_000_000_000_000n;

export interface RobotOptions {
  readonly cameras?: readonly (Partial<CameraInput> & { readonly slot: string })[];
  readonly sync?: Partial<Robot['sync']>;
}

/** Cameras `base` and `wrist` unless told, joints pan, lift and elbow, which are also the actions. */
export function robotOf({ cameras = [{ slot: 'base' }, { slot: 'wrist' }], sync }: RobotOptions = {}): Robot {
  const joints = ['pan', 'lift', 'elbow'];
  return {
    name: 'r',
    cameras: cameras.map(camera => ({
      topic: `camera/${camera.slot}`,
      transport: 'raw',
      rotate: 0,
      onMissing: 'block',
      rateHz: null,
      ...camera,
    })),
    state: { topic: 'joint_states', joints },
    actions: joints.map(name => ({ name, joint: name, kind: 'position', min: -9, max: 9, maxRate: null })),
    platform: 'none',
    relativeTo: joints.map(() => null),
    rates: { trainHz: 20, executeSteps: null },
    sync: { toleranceMs: 50, timeoutMs: 300, stamps: 'header', ...sync },
  };
}

const header = (ns: bigint) => ({ stamp: fromNs(ns), frame_id: '' });

/** One pixel whose bytes come from the stamp, so that no two pictures are the same; or from `data`. */
export const picture = (ns: bigint, data = Uint8Array.of(1, 2, 3)): CameraMessage => ({
  kind: 'raw',
  message: {
    header: header(ns),
    height: 1,
    width: data.length / 3,
    encoding: 'rgb8',
    step: data.length,
    data,
  },
});

/** A picture that differs from all others. */
let shots = 0;
export const shot = (ns: bigint): CameraMessage => {
  shots += 1;
  return picture(ns, Uint8Array.of(shots, shots >> 8, shots >> 16));
};

export const joints = (ns: bigint, over: Partial<JointStateMessage> = {}): JointStateMessage => ({
  header: header(ns),
  name: ['elbow', 'lift', 'pan'],
  position: Float64Array.of(3, 2, 1),
  ...over,
});

export const stampOf = (camera: CameraMessage | undefined): bigint => toNs(camera!.message.header.stamp);

export function setUp(options: RobotOptions = {}) {
  const refused: Refused[] = [];
  const ingest = new Ingest(robotOf(options), 0, drop => refused.push(drop));
  const health = (name: string, nowMs: number): InputHealth =>
    ingest.health(nowMs).find(input => input.name === name)!;
  return { ingest, refused, health };
}

/**
 * A stream at 30 Hz from `fromMs` to `toMs`, arriving as it is stamped. `wrist`: offset of its stamps in ms (-Infinity:
 * zero stamps), or null: silent. Returns the slots of each set that was taken, and when.
 */
export function stream(
  ingest: Ingest,
  {
    fromMs = 0,
    toMs,
    wrist = 0 as number | null,
    nowNs = 0n,
  }: {
    readonly fromMs?: number;
    readonly toMs: number;
    readonly wrist?: number | null;
    /** ROS time at `T0`; 0: none. */
    readonly nowNs?: bigint;
  },
) {
  const sets: { atMs: number; slots: string[]; stamps: bigint[] }[] = [];
  for (let atMs = fromMs; atMs <= toMs; atMs += 33) {
    const ns = T0 + BigInt(atMs) * MS;
    const now = nowNs && nowNs + BigInt(atMs) * MS;
    ingest.jointState(joints(ns), atMs, now);
    ingest.camera('base', shot(ns), atMs, now);
    const wristNs = wrist === null ? null : wrist === -Infinity ? 0n : ns + BigInt(wrist) * MS;
    if (wristNs !== null) ingest.camera('wrist', shot(wristNs), atMs, now);
    const set = ingest.take(atMs);
    if (set !== null)
      sets.push({ atMs, slots: [...set.cameras.keys()], stamps: [...set.cameras.values()].map(stampOf) });
  }
  return sets;
}
