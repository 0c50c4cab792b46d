/**
 * The managed node: its states, its parameters, and what it says of itself in every state. The configured part is an
 * OxygenNode; it exists from configure to cleanup.
 */
import { describeError, toOxygenError } from '../core/errors';
import type { DropLog, Logger } from './drops';
import { createMonitors } from './entities';
import type { Monitors } from './entities';
import { Lifecycle } from './lifecycle';
import type { Outcome, Transition, WorkName } from './lifecycle';
import { createLifecycleServices, transitionEvent } from './lifecycle-services';
import type { LoopWatch } from './loop-delay';
import { Monitor } from './monitor';
import type { OxygenNode } from './node';
import type { NodeParameters } from './node-parameters';
import { otherCommanders } from './peers';
import type { Rcl, RclNode } from './rcl';
import type { StatusBoard } from './status';

export interface ManagedDeps {
  readonly rcl: Rcl;
  readonly node: RclNode;
  readonly parameters: NodeParameters;
  readonly drops: DropLog;
  readonly board: StatusBoard;
  readonly loop: LoopWatch;
  readonly log: Logger;
  /** Monotonic. */
  readonly nowMs: () => number;
  /** Reads the robot file and the engine's manifest. @throws OxygenError with what is wrong and where. */
  readonly prepare: (onNews: () => void) => OxygenNode;
}

/** That many failed callbacks in that time are no accident. */
const MOST_FAILURES = 10;
const FAILURE_WINDOW_MS = 10_000;

export class ManagedNode {
  readonly #deps: ManagedDeps;
  readonly #lifecycle: Lifecycle;
  readonly #monitors: Monitors;
  readonly #monitor: Monitor;
  #session: OxygenNode | null = null;
  /** The transition that runs, or ran last. */
  #transition: Promise<unknown> = Promise.resolve();
  #failuresMs: number[] = [];
  #ending = false;

  constructor(deps: ManagedDeps) {
    const { rcl, node, parameters } = deps;
    this.#deps = deps;
    this.#monitors = createMonitors(rcl, node);
    this.#lifecycle = new Lifecycle(
      {
        configure: () => this.#configure(),
        activate: () => this.#activate(),
        deactivate: () => this.#deactivate(),
        cleanup: () => this.#cleanup(),
        shutdown: () => this.#cleanup(),
        error: () => this.#cleanup(),
      },
      transition => this.#entered(transition),
      (error, during) => this.#failed(error, during),
    );
    this.#monitor = new Monitor({
      ...deps,
      monitors: this.#monitors,
      session: () => this.#session,
      lifecycle: () => this.#lifecycle.state,
    });
    createLifecycleServices(node, asked => this.#change(asked), this.#lifecycle);
    parameters.watch(values => {
      this.#session?.parameters(values);
      this.#monitor.parameters(values);
    });
  }

  /** What a managed node does by itself with `autostart`. */
  async start(): Promise<void> {
    if ((await this.#change('configure')) && !this.#ending) await this.#change('activate');
  }

  /** The last command is a safe one, the engine ends, all is closed. */
  async end(): Promise<void> {
    this.#ending = true;
    // A transition cannot be broken off, but an engine that is still loading can: configure fails then.
    if (this.#lifecycle.state === 'configuring') await this.#session?.engine.stop();
    await this.#transition;
    await this.#change('shutdown');
    this.#monitor.close();
  }

  /** A callback has thrown; the guard has caught it. Too many of them, and the robot is better left alone. */
  callbackFailed(): void {
    const nowMs = this.#deps.nowMs();
    this.#monitor.callbackFailed();
    this.#failuresMs = [...this.#failuresMs, nowMs].filter(at => at > nowMs - FAILURE_WINDOW_MS);
    if (this.#failuresMs.length < MOST_FAILURES || this.#lifecycle.state !== 'active') return;
    const what = `${MOST_FAILURES} callbacks failed within ${FAILURE_WINDOW_MS / 1000} s; the node deactivates itself`;
    this.#deps.drops.drop('INTERNAL', what, 'deactivated');
    void this.#change('deactivate');
  }

  #change(asked: WorkName | { readonly id: number; readonly label: string }): Promise<boolean> {
    const change = this.#lifecycle.change(typeof asked === 'string' ? { id: 0, label: asked } : asked);
    this.#transition = Promise.all([this.#transition, change]).then(() => undefined);
    return change;
  }

  async #configure(): Promise<Outcome> {
    try {
      this.#session = this.#deps.prepare(() => this.#monitor.news());
      await this.#session.open();
      this.#monitor.transitionFault('');
      return 'success';
    } catch (error) {
      await this.#cleanup();
      if (this.#ending) return 'failure';
      const { code, message } = toOxygenError(error);
      this.#monitor.transitionFault(`${code}: ${message}`);
      this.#deps.drops.drop(code, message);
      this.#deps.log.error(`not configured: ${describeError(error)}`);
      return 'failure';
    }
  }

  #activate(): Outcome {
    const session = this.#session!;
    const { parameters, node, drops, log } = this.#deps;
    const others = otherCommanders(node, parameters.values);
    if (others !== null) {
      this.#monitor.transitionFault(`OTHER_PUBLISHER: ${others}`);
      drops.drop('OTHER_PUBLISHER', others);
      log.error(`not activated: ${others}`);
      return 'failure';
    }
    this.#failuresMs = [];
    session.activate();
    this.#monitor.transitionFault('');
    return 'success';
  }

  async #deactivate(): Promise<Outcome> {
    await this.#session?.deactivate();
    return 'success';
  }

  /** From any state. */
  async #cleanup(): Promise<Outcome> {
    await this.#session?.deactivate();
    await this.#session?.close();
    this.#session = null;
    return 'success';
  }

  #entered(transition: Transition): void {
    const { node, log } = this.#deps;
    this.#monitors.transitions.publish(transitionEvent(transition, node.getClock().now().nanoseconds));
    log.info(`${transition.start} -> ${transition.goal}`);
    this.#monitor.news();
  }

  #failed(error: unknown, during: WorkName): void {
    const { code, message } = toOxygenError(error);
    this.#monitor.transitionFault(`${during}: ${code}: ${message}`);
    this.#deps.drops.drop(code, `${during}: ${message}`, during);
  }
}
