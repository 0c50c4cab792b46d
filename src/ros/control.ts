/** One tick of the action stream: clock → chunk timeline → safety gate. Pure but for its own state. */
import { ChunkTimeline } from '../core/chunk-timeline';
import type { Acceptance, Planned, Refusal } from '../core/chunk-timeline';
import type { ActionLimits, Robot } from '../core/robot';
import {
  INITIAL_GATE,
  isSettled,
  lastSafeCommand,
  latchFault,
  limitedDims,
  poseAgain,
  resetGate,
  stepGate,
} from '../core/safety';
import type { GateConfig, GateMode, GateOutput, GateState } from '../core/safety';
import type { ActionChunk, Aggregation } from '../core/types';

/** What may change at any time. */
export interface ControlSettings {
  readonly aggregation: Aggregation;
  /** Steps of a chunk that are played at most, from the next chunk on; null: as the robot file says. */
  readonly executionHorizon: number | null;
  /** 0..1; from the next tick on. */
  readonly speedScale: number;
  readonly rampMs: number;
  /** One per action; only what lies inside the limits of the robot file counts. */
  readonly limits: readonly ActionLimits[];
}

export interface ControlFixed {
  /** Non-finite chunks or commands in a row that latch a fault. */
  readonly faultAfter: number;
  /** How far outside its limits a position may be measured at the start, in robot units. */
  readonly maxStartJump: number;
}

export type Tick =
  /** ROS time stands still (paused simulation) or is not known yet: nothing is published. */
  | { readonly kind: 'paused' }
  /**
   * ROS time went back by `byNs`, or (negative) forward by more than real time went on: everything that depends on
   * it is void.
   */
  | { readonly kind: 'jump'; readonly byNs: bigint }
  /** `lostDeltas`: sent no more, because a stall made them too late. */
  | { readonly kind: 'step'; readonly output: GateOutput; readonly lostDeltas: number };

/** `disabled`, `fault`, `no-pose`: the safety gate lets no chunk through. */
export type ChunkRefusal = Refusal | 'disabled' | 'fault' | 'no-pose';
export type ControlAcceptance =
  | Extract<Acceptance, { readonly accepted: true }>
  | { readonly accepted: false; readonly reason: ChunkRefusal };

/** A clock that is being corrected steps back by a little; a bag in a loop by much. */
const JUMP_BACK_NS = 100_000_000n;
const JUMP_FORWARD_NS = 5_000_000_000n;
/** `ros2 bag play --clock` moves the clock 40 times a second: between two of its ticks, time does not stand still. */
const STILL_MS = 200;

export class Control {
  readonly #robot: Robot;
  readonly #fixed: ControlFixed;
  readonly #timeline: ChunkTimeline;
  #settings: ControlSettings;
  #gateConfig: GateConfig;
  #gate: GateState = INITIAL_GATE;
  #enabled = true;
  #badChunks = 0;
  /** Why no chunk plays while none has begun since the last stop. */
  #silence = 'no action chunk yet';
  /** `movedMs`: when ROS time went on last. */
  #last: { readonly rosNs: bigint; readonly steadyMs: number; readonly movedMs: number } | null = null;

  constructor(robot: Robot, fixed: ControlFixed, settings: ControlSettings) {
    this.#robot = robot;
    this.#fixed = fixed;
    this.#settings = settings;
    this.#gateConfig = this.#configOf(settings);
    const { actions, rates } = robot;
    this.#timeline = new ChunkTimeline(actions, rates.trainHz, this.#rulesOf(settings), settings.speedScale);
  }

  get mode(): GateMode {
    return this.#gate.mode;
  }

  /** For people: why the gate is off, holds or is in fault; empty while commands pass. */
  get reason(): string {
    return this.#gate.reason;
  }

  get enabled(): boolean {
    return this.#enabled;
  }

  /** True while a tick needs the measured pose. */
  get needsPose(): boolean {
    return !this.#gate.posed;
  }

  /** True when nothing moves any more: no chunk plays and all velocities are 0. */
  get settled(): boolean {
    return isSettled(this.#gateConfig, this.#gate);
  }

  /** The last one [actions]; null before the first. */
  get command(): Float64Array | null {
    return this.#gate.last;
  }

  change(settings: ControlSettings): void {
    this.#settings = settings;
    this.#gateConfig = this.#configOf(settings);
    this.#timeline.rules = this.#rulesOf(settings);
  }

  accept(chunk: ActionChunk, nowNs: bigint): ControlAcceptance {
    if (!this.#enabled) return { accepted: false, reason: 'disabled' };
    if (this.mode === 'fault') return { accepted: false, reason: 'fault' };
    if (this.needsPose) return { accepted: false, reason: 'no-pose' };
    const acceptance = this.#timeline.accept(chunk, nowNs);
    if (acceptance.accepted) this.#badChunks = 0;
    else if (acceptance.reason === 'non-finite') this.badChunk(nowNs);
    return acceptance;
  }

  /** `steadyMs`: monotonic. `measured`: [actions] of now, NaN or null where nothing fresh is known. */
  tick(nowNs: bigint, steadyMs: number, measured: Float64Array | null): Tick {
    if (nowNs === 0n) return { kind: 'paused' }; // simulated time that has not begun
    const last = this.#last;
    const movedMs = last?.rosNs === nowNs ? last.movedMs : steadyMs;
    this.#last = { rosNs: nowNs, steadyMs, movedMs };
    if (last !== null) {
      const backNs = last.rosNs - nowNs;
      const aheadNs = -backNs - BigInt(Math.round((steadyMs - last.steadyMs) * 1e6));
      if (steadyMs - movedMs > STILL_MS) return { kind: 'paused' };
      if (backNs > JUMP_BACK_NS) return { kind: 'jump', byNs: backNs };
      if (aheadNs > JUMP_FORWARD_NS) return { kind: 'jump', byNs: -aheadNs };
    }
    return this.#step(nowNs, measured);
  }

  /** A new start: nothing is published before the pose is measured; a fault is over. */
  activate(nowNs: bigint): void {
    this.#stop('no action chunk yet', nowNs);
    this.#timeline.clear();
    this.#gate = INITIAL_GATE;
    this.#badChunks = 0;
  }

  /**
   * Off: what plays stops, the pose is held, chunks are refused. On: the pose is measured again, and the next chunk
   * ramps in from there.
   */
  enable(on: boolean, nowNs: bigint): void {
    if (on === this.#enabled) return;
    this.#enabled = on;
    if (on) this.startOver(nowNs);
    else this.#stop('disabled', nowNs);
  }

  /** What plays stops; the pose is measured again before the next chunk ramps in. A fault stays. */
  startOver(nowNs: bigint): void {
    this.#stop('no action chunk yet', nowNs);
    this.#gate = poseAgain(this.#gate);
  }

  /** A chunk held NaN or infinity: `faultAfter` in a row latch a fault. */
  badChunk(nowNs: bigint): void {
    this.#badChunks += 1;
    if (this.#badChunks < this.#fixed.faultAfter) return;
    const reason = `${this.#badChunks} chunks in a row held NaN or infinity; a reset clears this`;
    this.#gate = latchFault(this.#gate, reason);
    this.#stop(reason, nowNs);
  }

  /** What plays stops at once: the engine is down, or the node is being deactivated. */
  stopPlaying(nowNs: bigint): void {
    this.#stop('stopped: no action chunk since', nowNs);
  }

  /** A new instruction: chunks of the old one are not started any more. */
  newEpoch(epoch: number, playing: 'continue' | 'hold', nowNs: bigint): void {
    this.#timeline.setEpoch(epoch, playing, nowNs);
    if (playing === 'hold') this.#silence = 'a new instruction: no action chunk of it yet';
  }

  /** Stops what plays, clears a fault, and lets the next chunk ramp in. Disabled stays disabled. */
  reset(epoch: number, nowNs: bigint): void {
    this.#timeline.setEpoch(epoch, 'hold', nowNs);
    this.#timeline.clear();
    this.#silence = 'reset: no action chunk yet';
    this.#gate = resetGate(this.#gate);
    this.#badChunks = 0;
  }

  /** The command to leave behind on shutdown; null when nothing was ever published. */
  lastSafe(): Float64Array | null {
    return lastSafeCommand(this.#gateConfig, this.#gate);
  }

  /** What plays, for markers and predicted joint states; null when nothing does. */
  planned(nowNs: bigint): Planned | null {
    return this.#timeline.planned(nowNs);
  }

  #step(nowNs: bigint, measured: Float64Array | null): Tick {
    const sample = this.#timeline.sample(nowNs);
    const silence = sample.source === 'hold' ? 'the last action chunk has ended' : this.#silence;
    const none = this.#enabled ? silence : 'disabled by ~/enable';
    const input = { command: sample.values ?? { none }, measured, speed: this.#timeline.speed };
    const output = stepGate(this.#gateConfig, this.#gate, input, nowNs);
    this.#gate = output.state;
    if (this.mode === 'fault') this.#stop(this.reason, nowNs);
    // Only now, so that this tick sends what became due at the old speed.
    this.#timeline.setSpeed(this.#settings.speedScale, nowNs);
    return { kind: 'step', output, lostDeltas: sample.lostDeltas };
  }

  #stop(silence: string, nowNs: bigint): void {
    this.#timeline.stop(nowNs);
    this.#silence = silence;
  }

  #configOf(settings: ControlSettings): GateConfig {
    const { actions, rates } = this.#robot;
    return {
      dims: limitedDims(actions, settings.limits),
      stepSeconds: 1 / rates.trainHz,
      rampMs: settings.rampMs,
      ...this.#fixed,
    };
  }

  #rulesOf({ aggregation, executionHorizon }: ControlSettings): ChunkTimeline['rules'] {
    return { aggregation, executeSteps: executionHorizon ?? this.#robot.rates.executeSteps };
  }
}
