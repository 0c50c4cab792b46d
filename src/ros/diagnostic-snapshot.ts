/** Everything that `/diagnostics` is made of, as plain data: the node fills it in, diagnostics.ts judges it. */
import type { ErrorCode } from '../core/errors';
import type { GateMode } from '../core/safety';
import type { GraphFault } from './graph-watch';
import type { InputHealth } from './input-health';

export interface EngineSnapshot {
  readonly up: boolean;
  readonly provider: string;
  /** Why providers that come before the one in use were passed over; empty when the wanted one runs. */
  readonly providerNotes: readonly string[];
  readonly precision: string;
  readonly restarts: number;
  /** Why it is down; empty before the first fault. */
  readonly lastError: string;
  /** No further start is tried. */
  readonly givingUp: boolean;
  readonly replanHz: number;
  /** Newest time of each stage of the model. */
  readonly stageMs: readonly (readonly [string, number])[];
}

/** The action stream and the main thread under it. */
export interface ActionSnapshot {
  readonly targetHz: number;
  /** Of the ticks, which the steady clock makes; null while there are none: not active, or just activated. */
  readonly hz: number | null;
  /** Standard deviation of the time between two ticks. */
  readonly stdMs: number;
  readonly ticks: number;
  /** Ticks that the timer left out. */
  readonly missed: number;
  /** By how much a tick missed its period. */
  readonly tickP99Ms: number;
  readonly tickMaxMs: number;
  /** By how much the event loop was late. */
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
}

/** What the safety gate does, and why. */
export interface GateSnapshot {
  readonly mode: GateMode;
  /** Why it does not play; empty when it does. */
  readonly reason: string;
  /** False after a take-over by `~/enable`. */
  readonly enabled: boolean;
  readonly speedScale: number;
  readonly dryRun: boolean;
  /** Of the observation that the playing chunk answers; null without one. */
  readonly observationAgeMs: number | null;
}

export interface LanguageSnapshot {
  readonly on: boolean;
  readonly batch: number;
  readonly queued: number;
  readonly tokensPerS: number;
  readonly firstTokenMs: number;
  readonly requestMs: number;
}

export interface DiagnosticSnapshot {
  /** Full name, `/ns/oxygen`. */
  readonly node: string;
  /** Name of the robot file; empty before `configure`. */
  readonly robot: string;
  /** Label of the present lifecycle state; `transitionError`: why the last transition failed, empty if it did not. */
  readonly lifecycle: { readonly state: string; readonly transitionError: string };
  /** Null while the node has no engine: unconfigured. */
  readonly engine: EngineSnapshot | null;
  readonly inputs: readonly InputHealth[];
  readonly gate: GateSnapshot;
  readonly action: ActionSnapshot;
  readonly language: LanguageSnapshot;
  /** `use`: share of the positions 0..1. */
  readonly cache: { readonly use: number; readonly bytes: number };
  readonly drops: readonly (readonly [ErrorCode, bigint])[];
  readonly lastError: string;
  readonly graph: readonly GraphFault[];
  /** Exceptions that the guard of the callbacks has caught: bugs of ours. */
  readonly callbackExceptions: number;
}
