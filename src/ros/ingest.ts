/**
 * From sensor messages to the inputs of one observation. Takes plain decoded messages, so live topics and bags go
 * the same way.
 *
 * Stamps: they come from the sensors and are compared with each other; with the clock of this machine only to refuse
 * what lies in the future. A zero stamp is refused: nothing can be paired with it. A stamp that is not newer than the
 * last one of its input is refused; one that lies more than a second back means that the source began anew, and is
 * accepted. `sync.stamps: arrival` in the robot file puts the time of arrival in place of all of them.
 */
import { toOxygenError } from '../core/errors';
import type { ErrorCode } from '../core/errors';
import type { OnMissing, Robot } from '../core/robot';
import type { PreprocessFailure } from '../ingest/preprocess';
import { checkCompressed, checkRaw } from '../model/image-checks';
import { isApart, isSilent, judge, UNDECODABLE_LIMIT } from './input-health';
import type { InputHealth, Offset } from './input-health';
import { InputRecord } from './input-record';
import type { RefusalKind } from './input-record';
import { jointPositions } from './joint-state';
import type { CompressedImageMessage, ImageMessage, JointStateMessage, TimeMessage } from './messages';
import { toNs } from './messages';
import { arrivalFault, arrivalStamp, headerFault } from './stamps';
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
  /** Pictures by slot: all cameras of the robot file, but those with `on_missing: mask` that are missing. */
  readonly cameras: ReadonlyMap<string, CameraMessage>;
}

/** A refused message. */
export interface Refused {
  readonly code: ErrorCode;
  readonly message: string;
  readonly topic: string;
}

type Part = CameraMessage | Float64Array;

interface Input {
  readonly name: string;
  readonly topic: string;
  readonly onMissing: OnMissing;
  readonly expectedHz: number | null;
  readonly record: InputRecord;
}

/** Name of the joint states among the inputs. */
const STATE = 'state';
/** Messages that wait for their partners: pictures are big, states are many. */
const CAMERA_DEPTH = 8;
const STATE_DEPTH = 256;
/** All inputs are there, but no set for so long: their stamps do not fit. */
const PATIENCE_MS = 1000;

export class Ingest {
  readonly #robot: Robot;
  readonly #refused: (refused: Refused) => void;
  readonly #sync: InputSync<Part>;
  readonly #cameras: readonly Input[];
  readonly #state: Input;
  readonly #startMs: number;
  #positions: ReadonlyMap<string, number> = new Map();
  #lastSetMs: number;

  /** `nowMs` is the time of the start on the monotonic clock of the arrivals. */
  constructor(robot: Robot, nowMs: number, refused: (refused: Refused) => void) {
    this.#robot = robot;
    this.#refused = refused;
    this.#startMs = nowMs;
    this.#lastSetMs = nowMs;
    this.#cameras = robot.cameras.map(({ slot, topic, onMissing, rateHz }) => ({
      name: slot,
      topic,
      onMissing,
      expectedHz: rateHz,
      record: new InputRecord(),
    }));
    const { topic } = robot.state;
    this.#state = { name: STATE, topic, onMissing: 'block', expectedHz: null, record: new InputRecord() };
    this.#sync = new InputSync<Part>(
      [
        ...this.#cameras.map(({ name }) => ({ name, depth: CAMERA_DEPTH, reuse: false })),
        { name: STATE, depth: STATE_DEPTH, reuse: true },
      ],
      BigInt(Math.round(robot.sync.toleranceMs * 1e6)),
    );
  }

  /** `nowNs`: ROS time at the arrival; 0 when there is none (before the first /clock, or paused). */
  camera(slot: string, camera: CameraMessage, arrivalMs: number, nowNs: bigint): void {
    const input = this.#cameras.find(({ name }) => name === slot)!;
    input.record.received += 1;
    try {
      if (camera.kind === 'raw') checkRaw(camera.message);
      else checkCompressed(camera.message.data, camera.message.format);
    } catch (error) {
      const { code, message } = toOxygenError(error);
      return this.#refuse(input, 'unusable', code, message, arrivalMs);
    }
    this.#push(input, camera.message.header.stamp, camera, arrivalMs, nowNs);
  }

  /** As `camera`. */
  jointState(message: JointStateMessage, arrivalMs: number, nowNs: bigint): void {
    const { joints } = this.#robot.state;
    this.#state.record.received += 1;
    const found = jointPositions(message, joints);
    if (found.kind === 'refused')
      return this.#refuse(this.#state, 'unusable', 'STATE_INVALID', found.why, arrivalMs);
    const values = Float64Array.from(joints, joint => found.byName.get(joint)!);
    if (this.#push(this.#state, message.header.stamp, values, arrivalMs, nowNs))
      this.#positions = found.byName;
  }

  /** The newest complete set that was not taken yet, or null: also when an input that blocks is missing now. */
  take(nowMs: number): FrameInputs | null {
    const present = this.#present(nowMs);
    const set = present && this.#sync.take(present.map(({ name }) => name));
    if (!set) return null;
    this.#lastSetMs = nowMs;
    const cameras = new Map<string, CameraMessage>();
    for (const { name } of this.#cameras) {
      const picture = set.values.get(name);
      if (picture !== undefined) cameras.set(name, picture as CameraMessage);
    }
    return { stampNs: set.stampNs, state: set.values.get(STATE) as Float64Array, cameras };
  }

  /** How decoding the pictures of `slots` went. True when an observation may be made without those in `failures`. */
  decoded(slots: readonly string[], failures: readonly PreprocessFailure[]): boolean {
    for (const { name, record } of this.#cameras.filter(({ name }) => slots.includes(name))) {
      const failure = failures.find(({ slot }) => slot === name);
      record.undecodable = failure ? record.undecodable + 1 : 0;
      if (!failure) continue;
      record.decodeProblem = failure.message;
      record.refused += 1;
    }
    const given = this.#cameras.filter(({ name }) => failures.some(({ slot }) => slot === name));
    return (
      failures.length < slots.length &&
      given.every(({ onMissing, record }) => onMissing === 'mask' && record.undecodable >= UNDECODABLE_LIMIT)
    );
  }

  /**
   * [actions] newest measured position of each action dimension's joint, NaN where there is none. Null while the
   * newest joint state is older than `sync.timeout_ms`: nothing may start from an old pose.
   */
  measured(nowMs: number): Float64Array | null {
    if (isSilent(this.#state.record, nowMs, this.#robot.sync.timeoutMs)) return null;
    return Float64Array.from(this.#robot.actions, action => this.#positions.get(action.joint) ?? NaN);
  }

  /** One per input: the cameras in the order of the robot file, then the state. */
  health(nowMs: number): readonly InputHealth[] {
    const { toleranceMs, timeoutMs } = this.#robot.sync;
    const inputs = [...this.#cameras, this.#state];
    const offsets = this.#offsets(nowMs);
    const unpaired = this.#unpaired(offsets, nowMs);
    const anyCamera = this.#cameras.some(camera => !this.#isMissing(camera, offsets, nowMs));
    const context = { nowMs, startMs: this.#startMs, toleranceMs, timeoutMs, anyCamera };
    return inputs.map(input => {
      const offset = offsets.get(input.name) ?? null;
      const replaced = this.#sync.replaced(input.name);
      return judge({ ...input, replaced, offset, unpaired: input.name === unpaired }, context);
    });
  }

  /** For a reset or a jump of the clock. */
  clear(): void {
    this.#sync.clear();
  }

  /** The inputs of an observation now; null when there can be none. `offsets`: of now. */
  #present(nowMs: number, offsets = this.#offsets(nowMs)): readonly Input[] | null {
    const isMissing = (input: Input): boolean => this.#isMissing(input, offsets, nowMs);
    if (isMissing(this.#state)) return null;
    if (this.#cameras.some(camera => camera.onMissing === 'block' && isMissing(camera))) return null;
    const cameras = this.#cameras.filter(camera => !isMissing(camera));
    return cameras.length === 0 ? null : [...cameras, this.#state];
  }

  #isMissing({ name, record }: Input, offsets: ReadonlyMap<string, Offset>, nowMs: number): boolean {
    const { timeoutMs, toleranceMs } = this.#robot.sync;
    return isSilent(record, nowMs, timeoutMs) || isApart(offsets.get(name) ?? null, timeoutMs, toleranceMs);
  }

  /** Newest stamps against the middle one of the inputs that arrive: one clock that is wrong does not move it. */
  #offsets(nowMs: number): ReadonlyMap<string, Offset> {
    const { timeoutMs } = this.#robot.sync;
    const stamps = [...this.#cameras, this.#state].flatMap(({ name, topic, record }) => {
      const arrives = !isSilent(record, nowMs, timeoutMs);
      // Of an input that gives nothing usable, what it was refused for tells more than what it gave long ago.
      const ns = (arrives ? null : record.refusal?.stampNs) ?? this.#sync.newestStampNs(name);
      return ns === null ? [] : [{ name, topic, ns, arrives }];
    });
    const arriving = stamps.filter(({ arrives }) => arrives);
    arriving.sort((a, b) => (a.ns < b.ns ? -1 : a.ns > b.ns ? 1 : 0));
    const middle = arriving[arriving.length >> 1];
    if (middle === undefined) return new Map();
    return new Map(
      stamps.map(({ name, ns }) => [name, { ms: Number(ns - middle.ns) / 1e6, topic: middle.topic }]),
    );
  }

  /** All inputs arrive, but nothing has paired for a while: the one that is farthest from the others. */
  #unpaired(offsets: ReadonlyMap<string, Offset>, nowMs: number): string | null {
    const patienceMs = Math.max(PATIENCE_MS, this.#robot.sync.timeoutMs);
    const present = this.#present(nowMs, offsets)?.map(({ name }) => name) ?? [];
    if (present.length === 0 || nowMs - this.#lastSetMs <= patienceMs || this.#sync.complete(present))
      return null;
    const distance = (name: string): number => Math.abs(offsets.get(name)?.ms ?? 0);
    return present.reduce((a, b) => (distance(b) > distance(a) ? b : a));
  }

  #push(input: Input, header: TimeMessage, part: Part, arrivalMs: number, nowNs: bigint): boolean {
    const { name } = input;
    const before = this.#sync.newestStampNs(name);
    const byArrival = this.#robot.sync.stamps === 'arrival';
    const stampNs = byArrival ? arrivalStamp(nowNs, before) : toNs(header);
    const refuse = (kind: RefusalKind, what: string): void =>
      this.#refuse(input, kind, 'STAMP_INVALID', what, arrivalMs, stampNs);
    const fault = byArrival ? arrivalFault(nowNs) : headerFault(stampNs, nowNs);
    if (fault !== null) {
      refuse('stamp', fault);
      return false;
    }
    const result = this.#sync.push(name, stampNs, part);
    if (result === 'repeated') refuse('repeated', 'the stamp does not advance; is the driver stuck?');
    if (result === 'backwards' || result === 'restarted') {
      const seconds = Number((before ?? 0n) - stampNs) / 1e9;
      const what = result === 'backwards' ? 'the message is not used' : 'taken as a new start of this source';
      refuse('stamp', `the stamp runs back by ${seconds} s; ${what}`);
    }
    if (result === 'backwards' || result === 'repeated') return false;
    input.record.accept(arrivalMs, part instanceof Float64Array ? null : part.message.data);
    return true;
  }

  #refuse(
    { topic, record }: Input,
    kind: RefusalKind,
    code: ErrorCode,
    message: string,
    atMs: number,
    stampNs: bigint | null = null,
  ): void {
    record.refuse({ kind, message, atMs, stampNs });
    this.#refused({ code, topic, message: `${topic}: ${message}` });
  }
}
