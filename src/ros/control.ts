/** One tick of the action stream: clock → chunk timeline → safety gate. Pure but for its own state. */
import { ChunkTimeline } from '../core/chunk-timeline';
import type { Acceptance } from '../core/chunk-timeline';
import type { Robot } from '../core/robot';
import { INITIAL_GATE, lastSafeCommand, resetGate, stepGate } from '../core/safety';
import type { GateConfig, GateMode, GateOutput, GateState } from '../core/safety';
import type { ActionChunk } from '../core/types';

export type Tick =
  /** ROS time stands still (paused simulation): nothing is published. */
  | { readonly kind: 'paused' }
  /** ROS time went back: everything that depends on it is void. */
  | { readonly kind: 'jump'; readonly byNs: bigint }
  | { readonly kind: 'step'; readonly output: GateOutput };

const RAMP_MS = 300;
const FAULT_AFTER = 10;
/** A clock that is being corrected steps back by a little; a bag in a loop by much. */
const JUMP_BACK_NS = 100_000_000n;

export class Control {
  readonly #gateConfig: GateConfig;
  readonly #timeline: ChunkTimeline;
  #gate: GateState = INITIAL_GATE;
  #lastNs: bigint | null = null;

  constructor(robot: Robot) {
    const { trainHz, executeSteps } = robot.rates;
    this.#gateConfig = {
      dims: robot.actions,
      stepSeconds: 1 / trainHz,
      rampMs: RAMP_MS,
      faultAfter: FAULT_AFTER,
    };
    this.#timeline = new ChunkTimeline(robot.actions, trainHz, executeSteps);
  }

  get mode(): GateMode {
    return this.#gate.mode;
  }

  accept(chunk: ActionChunk, nowNs: bigint): Acceptance {
    return this.#timeline.accept(chunk, nowNs);
  }

  tick(nowNs: bigint, measured: Float64Array | null): Tick {
    const lastNs = this.#lastNs;
    this.#lastNs = nowNs;
    if (lastNs !== null && nowNs === lastNs) return { kind: 'paused' };
    if (lastNs !== null && nowNs < lastNs - JUMP_BACK_NS) return { kind: 'jump', byNs: lastNs - nowNs };
    const command = this.#timeline.sample(nowNs).values;
    const output = stepGate(this.#gateConfig, this.#gate, { command, measured }, nowNs);
    this.#gate = output.state;
    return { kind: 'step', output };
  }

  /** A new instruction: chunks of the old one are not started any more. */
  newEpoch(epoch: number, playing: 'continue' | 'hold', nowNs: bigint): void {
    this.#timeline.setEpoch(epoch, playing, nowNs);
  }

  /** Stops what plays, clears a fault, and lets the next chunk ramp in. */
  reset(epoch: number, nowNs: bigint): void {
    this.#timeline.setEpoch(epoch, 'hold', nowNs);
    this.#timeline.clear();
    this.#gate = resetGate(this.#gate);
  }

  /** The command to leave behind on shutdown; null when nothing was ever published. */
  lastSafe(): Float64Array | null {
    return lastSafeCommand(this.#gateConfig, this.#gate);
  }
}
