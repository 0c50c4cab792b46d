/**
 * What the node says of itself in every state: `status` at its rate and at once when something changes, and
 * `/diagnostics` once a second and at once when a part changes its level or its sentence.
 */
import type { DropLog, Logger } from './drops';
import { diagnosticArray, diagnosticChange } from './diagnostics';
import type { DiagnosticArray } from './diagnostics';
import type { ActionSnapshot, DiagnosticSnapshot, EngineSnapshot } from './diagnostic-snapshot';
import type { Monitors } from './entities';
import type { GraphWatch } from './graph-watch';
import type { StateName } from './lifecycle';
import { loopLine } from './loop-delay';
import type { LoopReport, LoopWatch } from './loop-delay';
import type { OxygenNode } from './node';
import type { NodeParameters } from './node-parameters';
import type { ParameterValues } from './parameter-spec';
import { watchGraph } from './peers';
import type { Rcl, RclNode, RclTimer } from './rcl';
import type { StatusBoard, StatusMessage } from './status';
import { gateSnapshot, statusMessage } from './status-source';
import type { StatusSource } from './status-source';

export interface MonitorDeps {
  readonly rcl: Rcl;
  readonly node: RclNode;
  readonly parameters: NodeParameters;
  readonly drops: DropLog;
  readonly board: StatusBoard;
  readonly log: Logger;
  readonly nowMs: () => number;
  readonly loop: LoopWatch;
  readonly monitors: Monitors;
  readonly session: () => OxygenNode | null;
  readonly lifecycle: () => StateName;
}

const LOOK_HZ = 20;
const DIAGNOSTICS_MS = 1000;
const LOOP_REPORT_MS = 10_000;

export class Monitor {
  readonly #deps: MonitorDeps;
  /** Held for as long as the timers: rclnodejs does not, and a timer of a collected clock ends the process. */
  readonly #steady: object;
  readonly #looks: RclTimer;
  #statusTimer: RclTimer;
  #graph: { readonly of: OxygenNode | null; readonly watch: GraphWatch } | null = null;
  #transitionFault = '';
  #callbackExceptions = 0;
  #last: DiagnosticArray | null = null;
  #lastMs = -Infinity;
  /** Last time of what is done once a second. */
  #secondMs: number;
  #loopReport: LoopReport;
  #worst: LoopReport | null = null;
  #worstMs: number;

  constructor(deps: MonitorDeps) {
    const { rcl, node, parameters, loop, nowMs } = deps;
    this.#deps = deps;
    this.#steady = new rcl.Clock(rcl.ClockType.STEADY_TIME);
    this.#loopReport = loop.report();
    this.#worstMs = this.#secondMs = nowMs();
    this.#looks = node.createTimer(BigInt(1e9 / LOOK_HZ), () => this.#look(), this.#steady);
    this.#statusTimer = this.#startStatus(parameters.values);
  }

  /** After a live change. */
  parameters(values: ParameterValues): void {
    this.#deps.node.destroyTimer(this.#statusTimer);
    this.#statusTimer = this.#startStatus(values);
    this.news();
  }

  /** Why the last transition failed; empty when it did not. */
  transitionFault(text: string): void {
    this.#transitionFault = text;
  }

  callbackFailed(): void {
    this.#callbackExceptions += 1;
  }

  /** Something has happened that peers should know at once. */
  news(): void {
    this.#publishStatus();
    this.#diagnose();
  }

  close(): void {
    const { node, log } = this.#deps;
    node.destroyTimer(this.#looks);
    node.destroyTimer(this.#statusTimer);
    if (this.#worst) log.info(loopLine(this.#worst));
  }

  #startStatus(values: ParameterValues): RclTimer {
    const periodNs = BigInt(Math.round(1e9 / Number(values.get('status_rate_hz'))));
    return this.#deps.node.createTimer(periodNs, () => this.#publishStatus(), this.#steady);
  }

  /** The rates of the status are those of its own periods; the diagnostics tell the same ones. */
  #publishStatus(): void {
    this.#deps.board.updateRates(this.#deps.nowMs());
    this.#deps.monitors.status.publish(statusMessage(this.#now()));
  }

  #look(): void {
    const { node, session, log } = this.#deps;
    const now = session();
    if (this.#graph === null || this.#graph.of !== now)
      this.#graph = { of: now, watch: watchGraph(node, now?.topics ?? []) };
    const before = new Set(this.#graph.watch.faults.map(fault => fault.message));
    if (this.#graph.watch.step()) {
      for (const { message } of this.#graph.watch.faults) if (!before.has(message)) log.warn(message);
    }
    this.#diagnose();
  }

  /** Troubled inputs in the log too: once, now and then, and when they are well again. */
  #tellInputs(): void {
    const { drops, lifecycle, session } = this.#deps;
    if (lifecycle() !== 'active' || !session()?.engineUp) return;
    for (const { topic, word, blocking, message } of session()?.inputs() ?? []) {
      // A picture that stands still is no trouble where nothing moves.
      if (word === 'OK' || (word === 'Frozen' && !blocking)) drops.recovered('INPUT_MISSING', topic);
      else drops.warn('INPUT_MISSING', message, topic);
    }
  }

  #diagnose(): void {
    const { node, nowMs, monitors } = this.#deps;
    const ms = nowMs();
    if (ms - this.#secondMs >= DIAGNOSTICS_MS) {
      this.#secondMs = ms;
      this.#takeLoopReport(ms);
      this.#tellInputs();
    }
    const array = diagnosticArray(this.#snapshot(), node.getClock().now().nanoseconds);
    if (ms - this.#lastMs < DIAGNOSTICS_MS && !diagnosticChange(this.#last, array)) return;
    this.#last = array;
    this.#lastMs = ms;
    monitors.diagnostics.publish(array);
  }

  #takeLoopReport(nowMs: number): void {
    this.#loopReport = this.#deps.loop.report();
    if (this.#worst === null || this.#loopReport.delayMax > this.#worst.delayMax)
      this.#worst = this.#loopReport;
    if (nowMs - this.#worstMs < LOOP_REPORT_MS) return;
    this.#worstMs = nowMs;
    this.#deps.log.info(loopLine(this.#worst));
    this.#worst = null;
  }

  #now(): StatusSource {
    const { node, drops, board, lifecycle, parameters, session } = this.#deps;
    const nowNs = node.getClock().now().nanoseconds;
    return { nowNs, drops, board, lifecycle: lifecycle(), values: parameters.values, session: session() };
  }

  #snapshot(): DiagnosticSnapshot {
    const { node, drops, lifecycle } = this.#deps;
    const session = this.#deps.session();
    const source = this.#now();
    const gate = gateSnapshot(source);
    const status = statusMessage(source, gate);
    return {
      node: node.getFullyQualifiedName(),
      robot: session?.robot.name ?? '',
      lifecycle: { state: lifecycle(), transitionError: this.#transitionFault },
      engine: session ? this.#engine(session, status) : null,
      inputs: session?.inputs() ?? [],
      gate,
      action: this.#action(status),
      language: {
        on: status.language === 'on',
        batch: status.batch,
        queued: status.queued,
        tokensPerS: status.tokens_per_s,
        firstTokenMs: status.first_token_ms,
        requestMs: status.request_ms,
      },
      cache: { use: status.cache_use, bytes: Number(status.cache_bytes) },
      drops: drops.counts(),
      lastError: drops.lastError,
      graph: this.#graph?.watch.faults ?? [],
      callbackExceptions: this.#callbackExceptions,
    };
  }

  #engine(session: OxygenNode, status: StatusMessage): EngineSnapshot {
    const { engine } = session;
    return {
      up: session.engineUp,
      provider: status.provider,
      providerNotes: this.#deps.board.engine?.providerNotes ?? [],
      precision: status.precision,
      restarts: engine.restarts,
      lastError: engine.lastError,
      givingUp: engine.givenUp,
      replanHz: status.replan_hz,
      stageMs: status.stage_names.map((name, i) => [name, status.stage_ms[i]!] as const),
    };
  }

  #action(status: StatusMessage): ActionSnapshot {
    const { parameters, lifecycle } = this.#deps;
    const report = this.#loopReport;
    const runs = lifecycle() === 'active' && report.ticks > 0;
    return {
      targetHz: Number(parameters.values.get('action_rate_hz')),
      hz: runs ? 1000 / report.tickMean : null,
      stdMs: report.tickStd,
      ticks: Number(status.ticks),
      missed: Number(status.missed_ticks),
      tickP99Ms: report.tickP99,
      tickMaxMs: report.tickMax,
      delayP99Ms: report.delayP99,
      delayMaxMs: report.delayMax,
    };
  }
}
