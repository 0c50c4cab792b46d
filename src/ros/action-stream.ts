/** The action stream: chunks of the engine in, one command per tick out, through timeline and safety gate. */
import type { Planned } from '../core/chunk-timeline';
import { OxygenError } from '../core/errors';
import type { Robot } from '../core/robot';
import type { GateMode } from '../core/safety';
import type { ActionChunk } from '../core/types';
import { Control } from './control';
import type { ControlFixed, ControlSettings, Tick } from './control';
import type { DropLog } from './drops';
import { chunkRefusal } from './log-lines';

export interface ActionStreamDeps {
  readonly robot: Robot;
  readonly fixed: ControlFixed;
  readonly settings: ControlSettings;
  readonly drops: DropLog;
  /** [actions], order of the robot file. */
  readonly publishAction: (values: Float64Array) => void;
  /** At the present speed, step k plays at `startNs` + k · `stepSeconds` of ROS time. */
  readonly publishChunk: (chunk: ActionChunk, startNs: bigint, stepSeconds: number) => void;
  /** A command was published; `fresh`: it played a chunk step. */
  readonly onCommand: (fresh: boolean) => void;
  /** As in Tick: everything that depends on ROS time is void. */
  readonly onJump: (byNs: bigint) => void;
}

export class ActionStream {
  readonly #deps: ActionStreamDeps;
  readonly #control: Control;

  constructor(deps: ActionStreamDeps) {
    this.#deps = deps;
    this.#control = new Control(deps.robot, deps.fixed, deps.settings);
  }

  get mode(): GateMode {
    return this.#control.mode;
  }

  get reason(): string {
    return this.#control.reason;
  }

  get enabled(): boolean {
    return this.#control.enabled;
  }

  get settled(): boolean {
    return this.#control.settled;
  }

  /** The last one [actions]; null before the first. */
  get command(): Float64Array | null {
    return this.#control.command;
  }

  /** `measured` is asked only while the pose to start from is not known. */
  tick(nowNs: bigint, steadyMs: number, measured: () => Float64Array | null): void {
    const tick = this.#control.tick(nowNs, steadyMs, this.#control.needsPose ? measured() : null);
    if (tick.kind === 'jump') this.#deps.onJump(tick.byNs);
    if (tick.kind === 'step') this.#publish(tick);
  }

  /** Takes a chunk into the timeline and publishes it, or counts why not. Throws INTERNAL for a wrong shape. */
  accept(chunk: ActionChunk, nowNs: bigint): void {
    const { drops, robot, publishChunk } = this.#deps;
    if (chunk.dims !== robot.actions.length || chunk.values.length !== chunk.horizon * chunk.dims) {
      const message = `a chunk has ${chunk.dims} dimensions, the robot ${robot.actions.length}`;
      throw new OxygenError('INTERNAL', message);
    }
    const acceptance = this.#control.accept(chunk, nowNs);
    if (acceptance.accepted) {
      publishChunk(chunk, acceptance.startNs, acceptance.stepSeconds);
      return;
    }
    const { reason } = acceptance;
    const [code, message] = chunkRefusal(reason, nowNs - chunk.observationStampNs);
    if (reason === 'epoch' || reason === 'disabled') drops.dropByDesign(code, message);
    else drops.drop(code, message, reason);
  }

  change(settings: ControlSettings): void {
    this.#control.change(settings);
  }

  activate(nowNs: bigint): void {
    this.#control.activate(nowNs);
  }

  enable(on: boolean, nowNs: bigint): void {
    this.#control.enable(on, nowNs);
  }

  startOver(nowNs: bigint): void {
    this.#control.startOver(nowNs);
  }

  badChunk(nowNs: bigint): void {
    this.#control.badChunk(nowNs);
  }

  stopPlaying(nowNs: bigint): void {
    this.#control.stopPlaying(nowNs);
  }

  newEpoch(epoch: number, playing: 'continue' | 'hold', nowNs: bigint): void {
    this.#control.newEpoch(epoch, playing, nowNs);
  }

  reset(epoch: number, nowNs: bigint): void {
    this.#control.reset(epoch, nowNs);
  }

  planned(nowNs: bigint): Planned | null {
    return this.#control.planned(nowNs);
  }

  /** Leaves a safe command behind. */
  end(): void {
    const safe = this.#control.lastSafe();
    if (safe !== null) this.#deps.publishAction(safe);
  }

  #publish({ output, lostDeltas }: Extract<Tick, { kind: 'step' }>): void {
    const { drops, robot, publishAction, onCommand } = this.#deps;
    const { action, fresh, clamped, nonFinite } = output;
    if (lostDeltas > 0)
      drops.drop('DELTA_LATE', `a stall made ${lostDeltas} steps of deltas too late to be sent`);
    if (action === null) return;
    publishAction(action);
    onCommand(fresh);
    if (clamped.length > 0) {
      const names = clamped.map(d => robot.actions[d]!.name).join(', ');
      drops.drop('ACTION_LIMITED', `command for ${names} was outside the limits and was clamped`, names);
    }
    if (nonFinite) drops.drop('NON_FINITE', 'a command held NaN or infinity and was not used');
  }
}
