/** The engine inside this process and in virtual time: the same host as in the engine process. */
import { Subject, Subscription, type SchedulerLike } from 'rxjs';
import type { CostTable } from '../core/run-costs';
import { RunCosts } from '../core/run-costs';
import { OxygenError, toOxygenError } from '../core/errors';
import type { EngineClient, EngineEvent } from '../engine/client';
import { EngineHost } from '../engine/host';
import type { EngineInfo, EngineOptions, FromEngine, ToEngine } from '../engine/protocol';
import type { EngineTime } from '../engine/time';
import type { VirtualWorld } from './world';

export interface VirtualCosts {
  readonly table: CostTable;
  /** From asking for a frame to having it: decoding, resizing and the way to the engine process. */
  readonly askMs: number;
}

export class LocalEngine implements EngineClient {
  readonly restarts = 0;
  readonly lastError = '';
  readonly givenUp = false;
  readonly pid = undefined;
  readonly #events$ = new Subject<EngineEvent>();
  readonly events$ = this.#events$.asObservable();
  readonly #options: EngineOptions;
  readonly #world: VirtualWorld;
  readonly #askNs: number;
  readonly #host: EngineHost;
  #ended: Promise<void> = Promise.resolve();
  #ready: ((info: EngineInfo) => void) | null = null;
  #up = false;

  constructor(options: EngineOptions, world: VirtualWorld, costs: VirtualCosts) {
    this.#options = options;
    this.#world = world;
    this.#askNs = Math.round(costs.askMs * 1e6);
    const post = (messages: readonly FromEngine[]): void =>
      world.soon(() => messages.forEach(message => this.#hear(message)));
    this.#host = new EngineHost(post, virtualTime(world, costs.table));
  }

  start(): Promise<EngineInfo> {
    return new Promise((resolve, reject) => {
      this.#ready = resolve;
      this.#ended = this.#host.run(this.#options).catch((error: unknown) => {
        const failure = toOxygenError(error, this.#up ? 'INTERNAL' : 'ENGINE_INVALID');
        reject(failure);
        if (this.#up) this.#die(failure);
      });
    });
  }

  send(message: ToEngine): boolean {
    if (!this.#up) return false;
    const ns = message.type === 'frame' ? this.#world.nowNs + this.#askNs : this.#world.nowNs;
    this.#world.at(ns, () => this.#host.onMessage(message), 'engine');
    return true;
  }

  async stop(): Promise<void> {
    if (!this.#up) return;
    this.#up = false;
    this.#host.onMessage({ type: 'stop' });
    await this.#ended;
  }

  /** What ended it would end it again: there is no process to start anew. The replay has no other result than this. */
  #die(error: OxygenError): void {
    this.#up = false;
    this.#world.soon(() => {
      throw error;
    });
  }

  #hear(message: FromEngine): void {
    if (message.type === 'ready') {
      this.#up = true;
      this.#ready?.(message.info);
      this.#events$.next({ type: 'up', info: message.info });
    }
    this.#events$.next(message);
  }
}

/** Every run takes as long as the table says. */
const virtualTime = (world: VirtualWorld, costs: CostTable): EngineTime => {
  const table = new RunCosts(costs);
  return {
    now: () => world.nowNs / 1e6,
    timers: timersOf(world),
    costs,
    run: async (kind, size, work) => {
      try {
        return await world.hold(work());
      } finally {
        await world.pass(table.expectedRun(kind, size));
      }
    },
    soon: call => world.soon(call),
  };
};

/** As far as `timer` of rxjs needs it: one call, later. */
const timersOf = (world: VirtualWorld): SchedulerLike => ({
  now: () => world.nowNs / 1e6,
  schedule: (work, delay = 0, state) => {
    const subscription = new Subscription();
    const action = Object.assign(subscription, {
      schedule: (): Subscription => {
        throw new OxygenError('INTERNAL', 'a virtual timer was to be repeated');
      },
    });
    const call = (): void => work.call(action, state as never);
    subscription.add(world.at(world.nowNs + Math.round(delay * 1e6), call, 'engine'));
    return subscription;
  },
});
