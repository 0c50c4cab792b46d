/**
 * The node: wires the ROS graph to the engine. Observations go one way (ingest → preprocessing → engine), results
 * the other (engine → chunk timeline → safety gate → topics). It never runs the model and never waits for it.
 *
 * `configure`, `activate`, `deactivate` and `cleanup` are the four transitions of a managed node.
 */
import type { Subscription } from 'rxjs';
import { toOxygenError } from '../core/errors';
import type { Robot } from '../core/robot';
import type { EngineClient, EngineEvent } from '../engine/client';
import { ActionStream } from './action-stream';
import { Beat } from './beat';
import { watchParameters } from './declare-parameters';
import type { DropLog, Logger } from './drops';
import { FramePull } from './frames';
import type { Preprocessing } from './frames';
import { Goal } from './goal';
import { Ingest } from './ingest';
import type { MessageOrigin } from './instruction';
import { LanguageService } from './language-service';
import { readyLine } from './log-lines';
import { LoopWatch, loopLine } from './loop-delay';
import type { LanguageTokenMessage } from './outputs';
import type { NodeParameters } from './params';
import type { Rcl, RclNode, RclTimer } from './rcl';
import { StatusBoard } from './status';
import { createPublishers, createSubscriptions } from './topics';
import type { Publishers } from './topics';
import { Trickle } from './trickle';

export interface NodeDeps {
  readonly rcl: Rcl;
  readonly node: RclNode;
  readonly robot: Robot;
  readonly parameters: NodeParameters;
  readonly engine: EngineClient;
  readonly preprocessing: Preprocessing;
  readonly drops: DropLog;
  readonly log: Logger;
  /** Monotonic. */
  readonly nowMs: () => number;
}

const CAPTION_HZ = 10;
const LOOP_REPORT_MS = 10_000;

export class OxygenNode {
  readonly #deps: NodeDeps;
  readonly #actions: ActionStream;
  readonly #ingest: Ingest;
  readonly #pull: FramePull;
  readonly #language: LanguageService;
  readonly #tokens = new Trickle<LanguageTokenMessage>(message =>
    this.#checked('language/tokens', () => this.#publishers?.tokens.publish(message)),
  );
  readonly #board: StatusBoard;
  #watch: LoopWatch | null = null;
  readonly #goal: Goal;
  #publishers: Publishers | null = null;
  #engineEvents: Subscription | null = null;
  #timers: RclTimer[] = [];
  /** Held for as long as its timers: rclnodejs does not, and a timer of a collected clock ends the process. */
  #steady: object | null = null;
  #engineUp = false;
  #stopping = false;
  #ticks = 0;
  #troubledTopic: string | null = null;
  #loopReportMs: number;

  constructor(deps: NodeDeps) {
    const { robot, parameters, drops, nowMs } = deps;
    this.#deps = deps;
    this.#actions = new ActionStream({
      robot,
      drops,
      publishAction: message => this.#publishers?.action.publish(message),
      publishChunk: message => this.#publishers?.actionChunk.publish(message),
      onCommand: fresh => this.#board.tick(fresh),
      onChunk: () => this.#board.chunk(),
      onJump: byNs => {
        deps.log.warn(`ROS time went back by ${Number(byNs) / 1e9} s: everything begins anew`);
        this.#beginAnew();
      },
    });
    this.#ingest = new Ingest(robot, nowMs(), refused =>
      drops.drop(refused.code, refused.message, refused.topic),
    );
    this.#pull = new FramePull({
      robot,
      source: { take: () => this.#ingest.take(nowMs()) },
      preprocessing: deps.preprocessing,
      context: () => this.#goal,
      nowNs: () => this.#nowNs(),
      send: message => deps.engine.send(message),
      drop: (code, message, topic) => drops.drop(code, message, topic),
      sent: stampNs => {
        this.#board.frame();
        this.#goal.frame(stampNs);
      },
    });
    this.#language = new LanguageService({
      maxTokens: parameters.maxTokens,
      drops,
      send: message => this.#engineUp && deps.engine.send(message),
      publishToken: message => this.#tokens.push(message),
      publishCaption: text => this.#publishers?.caption.publish({ data: text }),
      onAnswer: (name, text, frameStampNs) => {
        if (this.#goal.answer(name, text, frameStampNs)) this.#pull.offer();
      },
    });
    this.#goal = new Goal({
      values: parameters.values,
      log: deps.log,
      send: message => deps.engine.send(message),
      onTunables: ({ standing }) => this.#language.standing(standing),
      onEpoch: epoch => this.#actions.newEpoch(epoch, parameters.onInstruction, this.#nowNs()),
    });
    this.#language.standing(parameters.engineOptions.tunables.standing);
    this.#board = new StatusBoard(nowMs());
    this.#loopReportMs = nowMs();
  }

  /** Opens all topics and listens to the engine. */
  configure(): void {
    const { rcl, node, robot, engine, nowMs } = this.#deps;
    this.#publishers = createPublishers(rcl, node);
    createSubscriptions(rcl, node, robot, {
      camera: (slot, topic, read) =>
        this.#checked(topic, () => {
          this.#ingest.camera(slot, read(), nowMs());
          this.#pull.offer();
        }),
      jointState: (topic, read) =>
        this.#checked(topic, () => {
          this.#ingest.jointState(read(), nowMs());
          this.#pull.offer();
        }),
      instruction: (text, origin) => this.#checked('instruction', () => this.#onInstruction(text, origin)),
      languageRequest: message => this.#language.request(message),
      cancelRequest: id => this.#language.cancel(id),
      reset: () => this.#onReset(),
    });
    watchParameters(rcl, node, values => this.#goal.parameters(values));
    this.#engineEvents = engine.events$.subscribe(event =>
      this.#checked('engine', () => this.#onEngine(event)),
    );
  }

  /** Starts the action stream and the status. */
  activate(): void {
    const { rcl, node, parameters } = this.#deps;
    const steady = (this.#steady = new rcl.Clock(rcl.ClockType.STEADY_TIME));
    const periodNs = (hz: number): bigint => BigInt(Math.round(1e9 / hz));
    const beat = new Beat(periodNs(parameters.actionRateHz));
    this.#stopping = false;
    this.#watch = new LoopWatch(1000 / parameters.actionRateHz);
    this.#timers = [
      node.createTimer(
        periodNs(parameters.actionRateHz),
        info => this.#onActionTimer(beat.ticks(info)),
        steady,
      ),
      node.createTimer(periodNs(parameters.statusRateHz), () => this.#onStatusTimer(), steady),
    ];
    this.#publishStatus();
  }

  /** Stops the stream; the last command is a safe one. */
  deactivate(): void {
    if (this.#stopping || this.#publishers === null) return;
    this.#stopping = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers = [];
    this.#steady = null;
    this.#actions.end();
    this.#publishStatus();
    this.#reportLoop();
    this.#watch?.stop();
  }

  cleanup(): void {
    this.#tokens.flush();
    this.#engineEvents?.unsubscribe();
    this.#engineEvents = null;
    this.#publishers = null;
  }

  #onActionTimer(ticks: number): void {
    const { parameters, nowMs } = this.#deps;
    if (this.#stopping) return;
    this.#watch?.tick(nowMs());
    for (let i = 0; i < ticks; i++) this.#actions.tick(this.#nowNs(), () => this.#ingest.measured());
    this.#ticks += 1;
    if (this.#ticks % Math.max(1, Math.round(parameters.actionRateHz / CAPTION_HZ)) === 0)
      this.#language.showCaption();
  }

  #onEngine(event: EngineEvent): void {
    const { drops, log } = this.#deps;
    switch (event.type) {
      case 'up':
        this.#engineUp = true;
        this.#board.engineUp(event.info);
        this.#pull.engineUp(event.info);
        log.info(readyLine(event.info));
        return this.#publishStatus();
      case 'down':
        this.#engineUp = false;
        this.#board.engineDown();
        this.#pull.engineDown();
        if (!this.#stopping) drops.drop('ENGINE_DOWN', event.reason);
        return this.#publishStatus();
      case 'want-frame':
        return this.#pull.want();
      case 'chunk':
        return this.#actions.accept(event.chunk, this.#nowNs());
      case 'token':
        this.#board.token();
        return this.#language.token(event);
      case 'done':
        this.#board.finished(event);
        // That the end of the node ends its requests is no news.
        return this.#language.done(this.#stopping ? { ...event, error: null } : event);
      case 'stats':
        return this.#board.stats(event.stats);
      case 'language-off':
        this.#board.language('off');
        drops.drop(event.code, event.message);
        return this.#publishStatus();
      case 'drop':
        return drops.drop(event.code, event.message);
      case 'warning':
        return drops.warn(event.code, event.message, event.message);
      default:
        return;
    }
  }

  #onInstruction(text: string, origin: MessageOrigin): void {
    if (this.#goal.command(text, origin)) this.#pull.offer();
  }

  #onReset(): string {
    this.#beginAnew();
    this.#deps.log.info('reset');
    return `reset; epoch ${this.#goal.epoch}`;
  }

  /** Nothing from before counts any more: playing chunk, waiting inputs, language requests, results in flight. */
  #beginAnew(): void {
    this.#goal.beginAnew();
    this.#ingest.clear();
    this.#pull.discard();
    this.#actions.reset(this.#goal.epoch, this.#nowNs());
    this.#board.language('on');
  }

  #onStatusTimer(): void {
    const { drops, nowMs } = this.#deps;
    const problem = this.#engineUp ? this.#ingest.problem(nowMs()) : null;
    if (problem !== null) drops.warn('INPUT_MISSING', problem.message, problem.topic);
    if (this.#troubledTopic !== null && problem?.topic !== this.#troubledTopic) {
      drops.recovered('INPUT_MISSING', this.#troubledTopic);
    }
    this.#troubledTopic = problem?.topic ?? null;
    this.#publishStatus();
    if (nowMs() - this.#loopReportMs < LOOP_REPORT_MS) return;
    this.#loopReportMs = nowMs();
    this.#reportLoop();
  }

  #reportLoop(): void {
    if (this.#watch) this.#deps.log.info(loopLine(this.#watch.report()));
  }

  #publishStatus(): void {
    const { drops, engine, nowMs, parameters } = this.#deps;
    const message = this.#board.message({
      nowNs: this.#nowNs(),
      nowMs: nowMs(),
      engineUp: this.#engineUp,
      stopping: this.#stopping,
      gate: this.#actions.mode,
      mode: parameters.mode,
      instruction: this.#goal.instruction ?? '',
      drops: drops.counts(),
      engineRestarts: engine.restarts,
      lastError: drops.lastError,
    });
    this.#publishers?.status.publish(message);
  }

  #nowNs(): bigint {
    return this.#deps.node.getClock().now().nanoseconds;
  }

  /** Bad data of a peer is a counted drop; anything else goes on to the guard of the callback. */
  #checked(cause: string, call: () => void): void {
    try {
      call();
    } catch (error) {
      const { code, message } = toOxygenError(error);
      this.#deps.drops.drop(code, `${cause}: ${message}`, cause);
    }
  }
}
