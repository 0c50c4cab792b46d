/**
 * The configured node: wires the ROS graph to the engine. Observations go one way (ingest → preprocessing → engine),
 * results the other (engine → chunk timeline → safety gate → topics). It never runs the model and never waits for it.
 * ManagedNode opens, activates, deactivates and closes it.
 */
import type { Subscription } from 'rxjs';
import { OxygenError } from '../core/errors';
import type { Robot } from '../core/robot';
import type { ActionChunk } from '../core/types';
import type { EngineClient, EngineEvent } from '../engine/client';
import { ActionOutput } from './action-output';
import { ActionStream } from './action-stream';
import type { Ticks } from './beat';
import type { DropLog, Logger } from './drops';
import { onEngineEvent } from './engine-events';
import type { EngineListener } from './engine-events';
import { FramePull } from './frames';
import type { Preprocessing } from './frames';
import { Goal } from './goal';
import { Ingest } from './ingest';
import type { InputHealth } from './input-health';
import type { MessageOrigin } from './instruction';
import { LanguageService } from './language-service';
import { limitsOf } from './limits';
import type { LanguageTokenMessage } from './outputs';
import type { ParameterValues } from './parameter-spec';
import type { ActionType } from './parameter-table';
import { controlSettings, engineTunables } from './params';
import type { StatusBoard } from './status';
import type { ActionTimer, OpenTopics, Surroundings } from './surroundings';
import type { TopicSpec } from './topics';
import { Trickle } from './trickle';

export interface NodeDeps {
  readonly surroundings: Surroundings;
  readonly robot: Robot;
  /** Steps of a chunk. */
  readonly horizon: number;
  readonly values: ParameterValues;
  readonly engine: EngineClient;
  readonly preprocessing: Preprocessing;
  readonly drops: DropLog;
  readonly board: StatusBoard;
  readonly log: Logger;
  /** Takes what a callback of ours throws by mistake. */
  readonly caught: (error: unknown, where: string) => void;
  /** Something happened that the status should tell at once. */
  readonly onNews: () => void;
}

const MONITOR_HZ = 10;
/** Of the engine's; the status tells them at once. */
const NEWS: ReadonlySet<EngineEvent['type']> = new Set(['up', 'down', 'language-off']);
/** Velocities come to rest within this, or the last command stops them at once. */
const SETTLE_MS = 1000;

export class OxygenNode {
  readonly #deps: NodeDeps;
  readonly #actions: ActionStream;
  readonly #output: ActionOutput;
  readonly #ingest: Ingest;
  readonly #pull: FramePull;
  readonly #language: LanguageService;
  readonly #tokens: Trickle<LanguageTokenMessage>;
  readonly #goal: Goal;
  readonly #listener: EngineListener;
  readonly #ticker: ActionTimer;
  #values: ParameterValues;
  #graph: OpenTopics | null = null;
  #engineEvents: Subscription | null = null;
  #engineUp = false;
  #active = false;
  #ticks = 0;

  constructor(deps: NodeDeps) {
    const { robot, values, drops, surroundings } = deps;
    const nowMs = (): number => surroundings.nowMs();
    this.#deps = deps;
    this.#values = values;
    this.#tokens = new Trickle(
      message => this.#checked('language/tokens', () => this.#graph?.outputs.tokens.publish(message)),
      call => surroundings.nextTurn(call),
    );
    this.#output = new ActionOutput(
      robot,
      values.get('action_type') as ActionType,
      values.get('dry_run') === true,
      () => this.#graph?.outputs,
    );
    this.#actions = new ActionStream({
      robot,
      drops,
      fixed: {
        faultAfter: Number(values.get('fault_after')),
        maxStartJump: Number(values.get('max_start_jump')),
      },
      settings: controlSettings(values, robot),
      publishAction: command => this.#output.action(command, this.#ticker.periodNs),
      publishChunk: (chunk, startNs, stepSeconds) => this.#onChunk(chunk, startNs, stepSeconds),
      onCommand: fresh => deps.board.tick(fresh),
      onJump: byNs => {
        const way = byNs > 0n ? 'back' : 'ahead';
        deps.log.warn(`ROS time went ${way} by ${Math.abs(Number(byNs)) / 1e9} s: everything begins anew`);
        this.#beginAnew();
      },
    });
    this.#ticker = surroundings.actionTimer(Number(values.get('action_rate_hz')), ticks =>
      this.#onTicks(ticks),
    );
    this.#ingest = new Ingest(robot, nowMs(), refused =>
      drops.drop(refused.code, refused.message, refused.topic),
    );
    this.#pull = new FramePull({
      robot,
      source: {
        take: () => (this.#active ? this.#ingest.take(nowMs()) : null),
        decoded: (slots, failures) => this.#ingest.decoded(slots, failures),
      },
      preprocessing: deps.preprocessing,
      context: () => this.#goal,
      nowNs: () => this.#nowNs(),
      send: message => deps.engine.send(message),
      drop: (code, message, topic) => drops.drop(code, message, topic),
      sent: stampNs => {
        deps.board.frame();
        this.#goal.frame(stampNs);
      },
    });
    this.#language = new LanguageService({
      maxTokens: Number(values.get('max_tokens')),
      drops,
      closed: () => (this.#active ? null : 'NOT_ACTIVE'),
      send: message => this.#engineUp && deps.engine.send(message),
      publishToken: message => this.#tokens.push(message),
      publishCaption: text => this.#graph?.outputs.caption.publish({ data: text }),
      onAnswer: (name, text, frameStampNs) => {
        if (this.#goal.answer(name, text, frameStampNs)) this.#pull.offer();
      },
    });
    const tunables = (values: ParameterValues, instruction: string) =>
      engineTunables(values, instruction, robot, deps.horizon);
    this.#goal = new Goal({
      values,
      tunables,
      log: deps.log,
      send: message => deps.engine.send(message),
      onTunables: ({ standing }) => this.#language.standing(standing),
      onEpoch: epoch =>
        this.#actions.newEpoch(epoch, values.get('on_instruction') as 'continue' | 'hold', this.#nowNs()),
    });
    this.#language.standing(tunables(values, '').standing);
    this.#listener = {
      board: deps.board,
      drops,
      log: deps.log,
      pull: this.#pull,
      language: this.#language,
      actions: this.#actions,
      active: () => this.#active,
      holdWhenDown: () => this.#values.get('on_engine_down') === 'hold',
      nowNs: () => this.#nowNs(),
      up: up => {
        this.#engineUp = up;
      },
    };
  }

  get robot(): Robot {
    return this.#deps.robot;
  }

  get engineUp(): boolean {
    return this.#engineUp;
  }

  get engine(): EngineClient {
    return this.#deps.engine;
  }

  get actions(): ActionStream {
    return this.#actions;
  }

  get instruction(): string {
    return this.#goal.instruction ?? '';
  }

  /** What is open on the graph, by resolved name. */
  get topics(): readonly TopicSpec[] {
    return this.#graph?.topics ?? [];
  }

  inputs(): readonly InputHealth[] {
    return this.#ingest.health(this.#nowMs());
  }

  /** Opens all topics, and resolves when the engine is ready. @throws OxygenError when it cannot be loaded. */
  async open(): Promise<void> {
    const { surroundings, robot, engine } = this.#deps;
    this.#graph = surroundings.open(robot, this.#values.get('action_type') as ActionType, {
      camera: (slot, topic, read) =>
        this.#checked(topic, () => {
          this.#ingest.camera(slot, read(), this.#nowMs(), this.#nowNs());
          this.#pull.offer();
        }),
      jointState: (topic, read) =>
        this.#checked(topic, () => {
          this.#ingest.jointState(read(), this.#nowMs(), this.#nowNs());
          this.#pull.offer();
        }),
      instruction: (text, origin) => this.#checked('instruction', () => this.#onInstruction(text, origin)),
      languageRequest: message => this.#language.request(message),
      cancelRequest: id => this.#language.cancel(id),
      reset: () => this.#onReset(),
      enable: on => this.#onEnable(on),
    });
    this.#engineEvents = engine.events$.subscribe(event =>
      this.#checked('engine', () => this.#onEngine(event)),
    );
    await engine.start();
  }

  /** Starts the action stream. */
  activate(): void {
    this.#active = true;
    this.#actions.activate(this.#nowNs());
    this.#ticker.start();
    this.#pull.offer();
  }

  /** Stops the stream: velocities come to rest, then the last command is a safe one. Texts end. */
  async deactivate(): Promise<void> {
    if (!this.#active) return;
    this.#active = false;
    this.#actions.stopPlaying(this.#nowNs());
    const patienceMs = this.#nowMs() + SETTLE_MS;
    while (!this.#actions.settled && this.#nowMs() < patienceMs)
      await pause(Number(this.#ticker.periodNs) / 1e6);
    this.#ticker.stop();
    this.#actions.end();
    this.#beginAnew();
  }

  /** Ends the engine and closes all topics. */
  async close(): Promise<void> {
    const { engine, log } = this.#deps;
    await engine
      .stop()
      .catch((error: unknown) => log.warn(`the engine did not stop as asked: ${String(error)}`));
    this.#tokens.flush();
    this.#engineEvents?.unsubscribe();
    this.#graph?.close();
    this.#graph = null;
  }

  /** After a live change of parameters. */
  parameters(values: ParameterValues): void {
    const before = this.#values;
    this.#values = values;
    this.#goal.parameters(values);
    this.#actions.change(controlSettings(values, this.#deps.robot));
    if (before.get('dry_run') !== values.get('dry_run')) this.#switchTopic();
    this.#ticker.rate(Number(values.get('action_rate_hz')));
  }

  #onTicks({ make, missed }: Ticks): void {
    this.#deps.board.missed(missed);
    for (let i = 0; i < make; i++)
      this.#actions.tick(this.#nowNs(), this.#nowMs(), () => this.#ingest.measured(this.#nowMs()));
    this.#ticks += 1;
    const every = Math.max(1, Math.round(Number(this.#values.get('action_rate_hz')) / MONITOR_HZ));
    if (this.#ticks % every === 0) this.#monitor();
  }

  /** What people look at; ten times a second is enough for them. */
  #monitor(): void {
    this.#language.showCaption();
    const nowNs = this.#nowNs();
    this.#output.monitor({
      frame: this.#values.get('marker_frame') as string,
      nowNs,
      caption: this.#language.caption,
      instruction: this.instruction,
      state: this.#actions.mode,
      plan: this.#actions.planned(nowNs),
      command: this.#actions.command,
    });
  }

  #onEngine(event: EngineEvent): void {
    onEngineEvent(event, this.#listener);
    if (NEWS.has(event.type)) this.#deps.onNews();
  }

  #onChunk(chunk: ActionChunk, startNs: bigint, stepSeconds: number): void {
    this.#deps.board.chunk();
    this.#output.chunk(chunk, startNs, stepSeconds);
    const nowNs = this.#nowNs();
    const plan = this.#actions.planned(nowNs);
    if (plan !== null) this.#output.trajectory(plan, limitsOf(this.#values, this.#deps.robot), nowNs);
  }

  #onInstruction(text: string, origin: MessageOrigin): void {
    if (this.#goal.command(text, origin)) this.#pull.offer();
  }

  #onReset(): string {
    this.#beginAnew();
    this.#deps.log.info('reset');
    this.#deps.onNews();
    return `reset; epoch ${this.#goal.epoch}`;
  }

  #onEnable(on: boolean): string {
    this.#actions.enable(on, this.#nowNs());
    // What was seen during a take-over is no ground to go on from.
    this.#pull.discard();
    this.#deps.log.info(on ? 'enabled' : 'disabled: the pose is held');
    this.#deps.onNews();
    return on ? 'enabled: the next chunk ramps in from the measured pose' : 'disabled: the pose is held';
  }

  /** Shadow mode begins or ends: the topic that is left keeps a safe command, the next one ramps in. */
  #switchTopic(): void {
    if (this.#active) this.#actions.end();
    this.#output.dryRun = this.#values.get('dry_run') === true;
    if (this.#active) this.#actions.startOver(this.#nowNs());
    this.#deps.onNews();
  }

  /** Nothing from before counts any more: playing chunk, waiting inputs, language requests, results in flight. */
  #beginAnew(): void {
    this.#goal.beginAnew();
    this.#ingest.clear();
    this.#pull.discard();
    this.#actions.reset(this.#goal.epoch, this.#nowNs());
    this.#deps.board.language('on');
  }

  #nowMs(): number {
    return this.#deps.surroundings.nowMs();
  }

  #nowNs(): bigint {
    return this.#deps.surroundings.nowNs();
  }

  /** Bad data of a peer is a counted drop; anything else is a bug of ours. */
  #checked(cause: string, call: () => void): void {
    try {
      call();
    } catch (error) {
      if (!(error instanceof OxygenError)) this.#deps.caught(error, cause);
      else this.#deps.drops.drop(error.code, `${cause}: ${error.message}`, cause);
    }
  }
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));
