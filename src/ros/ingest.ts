/**
 * From sensor messages to the inputs of one observation. Takes plain decoded messages, so live topics and bags go
 * the same way.
 *
 * Stamps: they come from the sensors and are compared with each other only, never with the clock of this machine.
 * A zero stamp is refused: nothing can be paired with it. A stamp that is not newer than the last one of its input
 * is refused; one that lies more than a second back means that the source began anew, and is accepted.
 */
import type { ErrorCode } from '../core/errors';
import type { Robot } from '../core/robot';
import type { CompressedImageMessage, ImageMessage, JointStateMessage, TimeMessage } from './messages';
import { toNs } from './messages';
import { InputSync } from './sync';

export type CameraMessage =
  | { readonly kind: 'raw'; readonly message: ImageMessage }
  | { readonly kind: 'compressed'; readonly message: CompressedImageMessage };

/** What one observation is made of, before preprocessing. */
export interface FrameInputs {
  /** Stamp of the newest part. */
  readonly stampNs: bigint;
  /** [joints] in the order of the robot file. */
  readonly state: Float64Array;
  /** One picture per camera of the robot file, by slot. */
  readonly cameras: ReadonlyMap<string, CameraMessage>;
}

/** A refused message. */
export interface Refused {
  readonly code: ErrorCode;
  readonly message: string;
  readonly topic: string;
}

type Part = CameraMessage | Float64Array;

const STATE = 'state of the robot';
/** Messages that wait for their partners: pictures are big, states are many. */
const CAMERA_DEPTH = 8;
const STATE_DEPTH = 256;
/** Shorter silence than this is no problem, whatever the robot file says. */
const GRACE_MS = 1000;

export class Ingest {
  readonly #robot: Robot;
  readonly #refuse: (refused: Refused) => void;
  readonly #sync: InputSync<Part>;
  readonly #topics: ReadonlyMap<string, string>;
  readonly #arrivalMs = new Map<string, number>();
  #positions = new Map<string, number>();
  #lastSetMs: number;

  /** `nowMs` is the time of the start on the monotonic clock of the arrivals. */
  constructor(robot: Robot, nowMs: number, refuse: (refused: Refused) => void) {
    this.#robot = robot;
    this.#refuse = refuse;
    this.#lastSetMs = nowMs;
    this.#topics = new Map([
      ...robot.cameras.map(c => [c.slot, c.topic] as const),
      [STATE, robot.state.topic],
    ]);
    this.#sync = new InputSync<Part>(
      [
        ...robot.cameras.map(camera => ({ name: camera.slot, depth: CAMERA_DEPTH, reuse: false })),
        { name: STATE, depth: STATE_DEPTH, reuse: true },
      ],
      BigInt(Math.round(robot.sync.toleranceMs * 1e6)),
    );
  }

  camera(slot: string, camera: CameraMessage, arrivalMs: number): void {
    this.#push(slot, camera.message.header.stamp, camera, arrivalMs);
  }

  jointState(message: JointStateMessage, arrivalMs: number): void {
    const { name, position } = message;
    if (position.length < name.length) {
      this.#refuseState(`has ${name.length} names but only ${position.length} positions`);
      return;
    }
    const positions = new Map(name.map((joint, i) => [joint, position[i]!]));
    const missing = this.#robot.state.joints.filter(joint => !positions.has(joint));
    if (missing.length > 0) {
      this.#refuseState(`lacks ${missing.join(', ')}; it has ${name.join(', ') || 'no joint'}`);
      return;
    }
    const bad = this.#robot.state.joints.filter(joint => !Number.isFinite(positions.get(joint)));
    if (bad.length > 0) {
      this.#refuseState(`is not a finite number for ${bad.join(', ')}`);
      return;
    }
    const state = Float64Array.from(this.#robot.state.joints, joint => positions.get(joint)!);
    if (this.#push(STATE, message.header.stamp, state, arrivalMs)) this.#positions = positions;
  }

  /** The newest complete set that was not taken yet, or null. */
  take(nowMs: number): FrameInputs | null {
    const set = this.#sync.take();
    if (set === null) return null;
    this.#lastSetMs = nowMs;
    const cameras = new Map<string, CameraMessage>();
    for (const { slot } of this.#robot.cameras) cameras.set(slot, set.values.get(slot) as CameraMessage);
    return { stampNs: set.stampNs, state: set.values.get(STATE) as Float64Array, cameras };
  }

  /** [actions] newest measured position of each action dimension's joint, NaN where there is none. */
  measured(): Float64Array | null {
    if (this.#positions.size === 0) return null;
    return Float64Array.from(this.#robot.actions, action => this.#positions.get(action.joint) ?? NaN);
  }

  /** Why no complete set has come for a while, for people; null while all is well. */
  problem(nowMs: number): { readonly topic: string; readonly message: string } | null {
    const patienceMs = Math.max(GRACE_MS, this.#robot.sync.timeoutMs);
    for (const [name, topic] of this.#topics) {
      const arrivalMs = this.#arrivalMs.get(name);
      const silentMs = nowMs - (arrivalMs ?? this.#lastSetMs);
      if (silentMs <= patienceMs) continue;
      const since =
        arrivalMs === undefined ? 'no usable message yet' : `silent for ${(silentMs / 1000).toFixed(1)} s`;
      return { topic, message: `${topic}: ${since}; no new action chunks without it` };
    }
    const waiting = nowMs - this.#lastSetMs > patienceMs && !this.#sync.complete();
    return waiting ? this.#mismatch() : null;
  }

  /** For a reset or a jump of the clock. */
  clear(): void {
    this.#sync.clear();
  }

  /** All inputs arrive, but their stamps do not fit. */
  #mismatch(): { readonly topic: string; readonly message: string } {
    const stamps = [...this.#topics].map(([name, topic]) => ({
      topic,
      ns: this.#sync.newestStampNs(name) ?? 0n,
    }));
    const newest = stamps.reduce((a, b) => (b.ns > a.ns ? b : a));
    const oldest = stamps.reduce((a, b) => (b.ns < a.ns ? b : a));
    const seconds = (Number(newest.ns - oldest.ns) / 1e9).toFixed(3);
    return {
      topic: oldest.topic,
      message:
        `${oldest.topic}: its stamps are ${seconds} s behind those of ${newest.topic}; ` +
        `they must lie within ${this.#robot.sync.toleranceMs} ms (synchronise the clocks)`,
    };
  }

  #push(name: string, stamp: TimeMessage, part: Part, arrivalMs: number): boolean {
    const topic = this.#topics.get(name)!;
    const stampNs = toNs(stamp);
    if (stampNs <= 0n) {
      this.#refuse({
        code: 'STAMP_INVALID',
        topic,
        message: `${topic}: the stamp is zero; it must be set by the driver`,
      });
      return false;
    }
    const before = this.#sync.newestStampNs(name);
    const result = this.#sync.push(name, stampNs, part);
    if (result !== 'accepted') {
      const seconds = Number((before ?? 0n) - stampNs) / 1e9;
      const what = result === 'backwards' ? 'the message is not used' : 'taken as a new start of this source';
      this.#refuse({
        code: 'STAMP_INVALID',
        topic,
        message: `${topic}: the stamp runs back by ${seconds} s; ${what}`,
      });
    }
    if (result === 'backwards') return false;
    this.#arrivalMs.set(name, arrivalMs);
    return true;
  }

  #refuseState(what: string): void {
    const { topic } = this.#robot.state;
    this.#refuse({ code: 'STATE_INVALID', topic, message: `${topic}: the joint state ${what}` });
  }
}
