/** What the node lives in while a bag is played: its topics are those of the bag, its clocks those of the replay. */
import type { Ticks } from '../ros/beat';
import type { Handlers } from '../ros/entities';
import type { ActionTimer, Outputs, Surroundings } from '../ros/surroundings';
import { periodOf } from '../ros/ticker';
import { OUTPUTS } from '../ros/topics';
import type { World } from './world';

export type OutputKey = keyof Outputs;

export interface ReplaySurroundings extends Surroundings {
  /** What the node does with its inputs; before it is open, nothing. */
  handlers(): Handlers;
  /** No tick comes any more. */
  stop(): void;
}

export function replaySurroundings(
  world: World,
  nowNs: () => bigint,
  published: (output: OutputKey, message: object) => void,
): ReplaySurroundings {
  let handlers: Handlers | null = null;
  const timers: ActionTimer[] = [];
  const outputs = Object.fromEntries(
    Object.keys(OUTPUTS).map(key => [
      key,
      { publish: (message: object) => published(key as OutputKey, message) },
    ]),
  ) as Outputs;
  return {
    nowMs: () => world.nowNs / 1e6,
    nowNs,
    nextTurn: call => world.soon(call),
    open: (_robot, _actionType, theirs) => {
      handlers = theirs;
      return { outputs, topics: [], close: () => undefined };
    },
    actionTimer: (hz, onTicks) => {
      const timer = new WorldTimer(world, hz, onTicks);
      timers.push(timer);
      return timer;
    },
    handlers: () => handlers!,
    stop: () => timers.forEach(timer => timer.stop()),
  };
}

/** The timer of the action stream. In real time it may be late; then it does what the one of ROS does. */
class WorldTimer implements ActionTimer {
  readonly #world: World;
  readonly #onTicks: (ticks: Ticks) => void;
  #periodNs: number;
  #cancel: (() => void) | null = null;

  constructor(world: World, hz: number, onTicks: (ticks: Ticks) => void) {
    this.#world = world;
    this.#onTicks = onTicks;
    this.#periodNs = Number(periodOf(hz));
  }

  get periodNs(): bigint {
    return BigInt(this.#periodNs);
  }

  start(): void {
    this.#wait(this.#world.nowNs + this.#periodNs);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  rate(hz: number): void {
    this.#periodNs = Number(periodOf(hz));
  }

  #wait(ns: number): void {
    this.#cancel = this.#world.at(ns, () => {
      const late = Math.max(0, Math.floor((this.#world.nowNs - ns) / this.#periodNs));
      this.#wait(ns + (late + 1) * this.#periodNs);
      this.#onTicks(late === 0 ? { make: 1, missed: 0 } : { make: 2, missed: late - 1 });
    });
  }
}
