/** The action stream: chunks of the engine in, one command per tick out, through timeline and safety gate. */
import { OxygenError } from '../core/errors';
import type { Robot } from '../core/robot';
import type { GateMode } from '../core/safety';
import type { ActionChunk } from '../core/types';
import { Control } from './control';
import type { DropLog } from './drops';
import { chunkRefusal } from './log-lines';
import { actionChunkMessage, multiArrayMessage } from './outputs';

export interface ActionStreamDeps {
  readonly robot: Robot;
  readonly drops: DropLog;
  readonly publishAction: (message: object) => void;
  readonly publishChunk: (message: object) => void;
  /** A command was published; `fresh`: it played a chunk step. */
  readonly onCommand: (fresh: boolean) => void;
  readonly onChunk: () => void;
  /** ROS time went back: everything that depends on it is void. */
  readonly onJump: (byNs: bigint) => void;
}

export class ActionStream {
  readonly #deps: ActionStreamDeps;
  readonly #control: Control;

  constructor(deps: ActionStreamDeps) {
    this.#deps = deps;
    this.#control = new Control(deps.robot);
  }

  get mode(): GateMode {
    return this.#control.mode;
  }

  /** `measured` is asked only while the pose to hold is not known yet. */
  tick(nowNs: bigint, measured: () => Float64Array | null): void {
    const { drops, robot, publishAction, onCommand, onJump } = this.#deps;
    const tick = this.#control.tick(nowNs, this.#control.mode === 'off' ? measured() : null);
    if (tick.kind === 'jump') onJump(tick.byNs);
    if (tick.kind !== 'step') return;
    const { action, fresh, clamped, nonFinite } = tick.output;
    if (action === null) return;
    publishAction(multiArrayMessage(action));
    onCommand(fresh);
    if (clamped.length > 0) {
      const names = clamped.map(d => robot.actions[d]!.name).join(', ');
      drops.drop('ACTION_LIMITED', `command for ${names} was outside the limits and was clamped`, names);
    }
    if (nonFinite) drops.drop('NON_FINITE', 'a command held NaN or infinity and was not used');
  }

  /** Takes a chunk into the timeline and publishes it, or counts why not. Throws INTERNAL for a wrong shape. */
  accept(chunk: ActionChunk, nowNs: bigint): void {
    const { drops, robot, publishChunk, onChunk } = this.#deps;
    if (chunk.dims !== robot.actions.length || chunk.values.length !== chunk.horizon * chunk.dims) {
      const message = `a chunk has ${chunk.dims} dimensions, the robot ${robot.actions.length}`;
      throw new OxygenError('INTERNAL', message);
    }
    const acceptance = this.#control.accept(chunk, nowNs);
    if (acceptance.accepted) {
      onChunk();
      publishChunk(actionChunkMessage(chunk, acceptance.startNs, robot));
      return;
    }
    const [code, message] = chunkRefusal(acceptance.reason, nowNs - chunk.observationStampNs);
    if (code === 'CHUNK_SUPERSEDED') drops.dropByDesign(code, message);
    else drops.drop(code, message, acceptance.reason);
  }

  newEpoch(epoch: number, playing: 'continue' | 'hold', nowNs: bigint): void {
    this.#control.newEpoch(epoch, playing, nowNs);
  }

  reset(epoch: number, nowNs: bigint): void {
    this.#control.reset(epoch, nowNs);
  }

  /** Leaves a safe command behind. */
  end(): void {
    const safe = this.#control.lastSafe();
    if (safe !== null) this.#deps.publishAction(multiArrayMessage(safe));
  }
}
