/** What the configured node lives in: the ROS graph and its clocks, or a bag and the time in it. */
import type { Robot } from '../core/robot';
import type { Ticks } from './beat';
import type { Handlers } from './entities';
import type { ActionType } from './parameter-table';
import type { OUTPUTS, TopicSpec } from './topics';

export interface Publisher {
  publish(message: object): void;
}

export type Outputs = Readonly<Record<keyof typeof OUTPUTS, Publisher>>;

/** What a configured node has open. */
export interface OpenTopics {
  readonly outputs: Outputs;
  /** All topics with their resolved names. */
  readonly topics: readonly TopicSpec[];
  close(): void;
}

/** The timer of the action stream. */
export interface ActionTimer {
  readonly periodNs: bigint;
  start(): void;
  stop(): void;
  /** After a live change; a timer that runs goes on with the new rate. */
  rate(hz: number): void;
}

export interface Surroundings {
  /** Monotonic. */
  nowMs(): number;
  /** ROS time; 0 while there is none. */
  nowNs(): bigint;
  /** Calls when other events have had their turn. */
  nextTurn(call: () => void): void;
  open(robot: Robot, actionType: ActionType, handlers: Handlers): OpenTopics;
  actionTimer(hz: number, onTicks: (ticks: Ticks) => void): ActionTimer;
}
