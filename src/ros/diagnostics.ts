/**
 * What `/diagnostics` says: one DiagnosticStatus per part of the node. Pure: a snapshot in, plain messages out.
 *
 * Levels and sentences change only when something has happened; what moves all the time is in the values, with its
 * unit at the end of its key. So a change of a level or a sentence is worth a message of its own.
 */
import type { ActionSnapshot, DiagnosticSnapshot } from './diagnostic-snapshot';
import type { GraphFault } from './graph-watch';
import type { InputHealth } from './input-health';
import { fromNs } from './messages';
import type { TimeMessage } from './messages';

/** diagnostic_msgs/msg/DiagnosticStatus, field `level`. */
export const LEVEL = { ok: 0, warn: 1, error: 2, stale: 3 } as const;
export type Level = (typeof LEVEL)[keyof typeof LEVEL];

interface KeyValue {
  readonly key: string;
  readonly value: string;
}

export interface DiagnosticStatus {
  readonly level: Level;
  readonly name: string;
  readonly message: string;
  readonly hardware_id: string;
  readonly values: readonly KeyValue[];
}

/** diagnostic_msgs/msg/DiagnosticArray. */
export interface DiagnosticArray {
  readonly header: { readonly stamp: TimeMessage; readonly frame_id: string };
  readonly status: readonly DiagnosticStatus[];
}

/** What one part says. Values that are not known yet are null. */
interface Finding {
  readonly level: Level;
  readonly message: string;
  readonly values: readonly (readonly [string, string | number | bigint | boolean | null])[];
}

export function diagnosticArray(snapshot: DiagnosticSnapshot, nowNs: bigint): DiagnosticArray {
  const parts: readonly (readonly [string, Finding])[] = [
    ['lifecycle', lifecycle(snapshot)],
    ['engine', engine(snapshot)],
    ['action loop', actionLoop(snapshot.action)],
    ['safety', safety(snapshot)],
    ['language', language(snapshot)],
    ['cache', cache(snapshot)],
    ...snapshot.inputs.map(each => [`input ${each.topic}`, input(each)] as const),
    ['graph', graph(snapshot.graph)],
  ];
  const node = snapshot.node.replace(/^\//, '');
  return {
    header: { stamp: fromNs(nowNs), frame_id: '' },
    status: parts.map(([part, { level, message, values }]) => ({
      level,
      name: `${node}: ${part}`,
      message,
      hardware_id: snapshot.robot,
      values: values.map(([key, value]) => ({ key, value: text(value) })),
    })),
  };
}

/** Whether a part came, went, or changed its level or its sentence; a sentence with other numbers is the same one. */
export function diagnosticChange(previous: DiagnosticArray | null, next: DiagnosticArray): boolean {
  if (previous?.status.length !== next.status.length) return true;
  return next.status.some((status, i) => {
    const before = previous.status[i]!;
    return (
      status.name !== before.name ||
      status.level !== before.level ||
      withoutNumbers(status.message) !== withoutNumbers(before.message)
    );
  });
}

const withoutNumbers = (message: string): string => message.replace(/\d+([.,]\d+)*/g, '#');

function text(value: string | number | bigint | boolean | null): string {
  if (value === null) return 'unknown';
  if (typeof value !== 'number' || Number.isInteger(value)) return String(value);
  return Number.isFinite(value) ? value.toFixed(3) : 'unknown';
}

function lifecycle({
  lifecycle: { state, transitionError },
  drops,
  lastError,
  callbackExceptions,
}: DiagnosticSnapshot): Finding {
  const values = [
    ['state', state],
    ['callback_exceptions', callbackExceptions],
    ['last_error', lastError],
    ...drops.map(([code, count]) => [`drops_${code}`, count] as const),
  ] as const;
  if (transitionError !== '') return { level: LEVEL.error, message: `${state}: ${transitionError}`, values };
  if (callbackExceptions === 0) return { level: LEVEL.ok, message: state, values };
  const message = `${state}; ${callbackExceptions} exceptions in callbacks were caught: a bug, please report it`;
  return { level: LEVEL.warn, message, values };
}

function engine({ engine, lifecycle: { state } }: DiagnosticSnapshot): Finding {
  if (engine === null) return { level: LEVEL.ok, message: `not started: the node is ${state}`, values: [] };
  const { up, provider, providerNotes, precision, restarts, lastError, givingUp, replanHz, stageMs } = engine;
  const values = [
    ['provider', provider],
    ['precision', precision],
    ['restarts', restarts],
    ['last_error', lastError],
    ['replan_hz', replanHz],
    ...stageMs.map(([stage, ms]) => [`stage_${stage}_ms`, ms] as const),
    ...providerNotes.map((note, i) => [`provider_note_${i}`, note] as const),
  ] as const;
  if (givingUp) {
    const message = `given up after ${restarts} restarts: ${lastError}. Find the cause, then deactivate, clean up and configure`;
    return { level: LEVEL.error, message, values };
  }
  if (!up && lastError === '') return { level: LEVEL.warn, message: 'starting', values };
  if (!up) return { level: LEVEL.error, message: `down, being started again: ${lastError}`, values };
  const running = `running on ${provider}`;
  return providerNotes.length === 0
    ? { level: LEVEL.ok, message: running, values }
    : { level: LEVEL.warn, message: `${running}, not as asked: ${providerNotes.join('; ')}`, values };
}

/** The mean as ros2_control judges its own loop; the standard deviation as a share of the period. */
const RATE_WARN_HZ = 5;
const RATE_ERROR_HZ = 10;
const STD_WARN = 0.2;
const STD_ERROR = 0.4;

function actionLoop(action: ActionSnapshot): Finding {
  const { targetHz, hz, stdMs } = action;
  const values = [
    ['target_hz', targetHz],
    ['rate_hz', hz],
    ['std_ms', stdMs],
    ['ticks', action.ticks],
    ['missed', action.missed],
    ['tick_off_p99_ms', action.tickP99Ms],
    ['tick_off_max_ms', action.tickMaxMs],
    ['loop_late_p99_ms', action.delayP99Ms],
    ['loop_late_max_ms', action.delayMaxMs],
  ] as const;
  if (hz === null) return { level: LEVEL.ok, message: 'no commands are due', values };
  const off = Math.abs(hz - targetHz);
  const std = (stdMs / 1000) * targetHz;
  if (off <= RATE_WARN_HZ && std <= STD_WARN) return { level: LEVEL.ok, message: 'steady', values };
  const message =
    off > RATE_WARN_HZ
      ? `${hz.toFixed(1)} Hz instead of ${targetHz} Hz: is the main thread or the machine overloaded?`
      : `irregular: the time between two commands varies by ${stdMs.toFixed(1)} ms. Is the machine overloaded?`;
  const error = off > RATE_ERROR_HZ || std > STD_ERROR;
  return { level: error ? LEVEL.error : LEVEL.warn, message, values };
}

function safety({ gate, lifecycle: { state } }: DiagnosticSnapshot): Finding {
  const { mode, reason, enabled, speedScale, dryRun, observationAgeMs } = gate;
  const values = [
    ['mode', mode],
    ['reason', reason],
    ['enabled', enabled],
    ['speed_scale', speedScale],
    ['dry_run', dryRun],
    ['observation_age_ms', observationAgeMs],
  ] as const;
  const notes = [
    mode,
    ...(reason === '' ? [] : [reason]),
    ...(enabled ? [] : ['taken over: ~/enable gives it back']),
    ...(dryRun ? ['dry run: commands go to action_preview'] : []),
    ...(speedScale < 1 ? [`speed scale ${speedScale}`] : []),
  ];
  const plays = mode === 'active' || mode === 'ramp';
  const level =
    mode === 'fault' ? LEVEL.error : state !== 'active' || (plays && enabled) ? LEVEL.ok : LEVEL.warn;
  return { level, message: notes.join('; '), values };
}

function language({ language: { on, batch, queued, ...rest } }: DiagnosticSnapshot): Finding {
  const values = [
    ['batch', batch],
    ['queued', queued],
    ['tokens_per_s', rest.tokensPerS],
    ['first_token_ms', rest.firstTokenMs],
    ['request_ms', rest.requestMs],
  ] as const;
  return on
    ? { level: LEVEL.ok, message: 'on', values }
    : { level: LEVEL.warn, message: 'off after repeated lack of memory: ~/reset turns it on', values };
}

/** The cache is there to be used: a full one is worth a word only when somebody waits for room. */
const FULL = 0.95;

function cache({ cache: { use, bytes }, language: { queued } }: DiagnosticSnapshot): Finding {
  const values = [
    ['use', use],
    ['bytes', bytes],
  ] as const;
  return use >= FULL && queued > 0
    ? { level: LEVEL.warn, message: 'full: language requests wait for room', values }
    : { level: LEVEL.ok, message: 'room for requests', values };
}

function input(health: InputHealth): Finding {
  const { word, message, blocking } = health;
  const values = [
    ['name', health.name],
    ['blocking', blocking],
    ['rate_hz', health.rateHz],
    ['age_ms', health.ageMs],
    ['offset_ms', health.offsetMs],
    ['received', health.received],
    ['refused', health.refused],
    ['replaced', health.replaced],
  ] as const;
  if (word === 'OK') return { level: LEVEL.ok, message: word, values };
  const level = blocking || word === 'ErrorRate' ? LEVEL.error : LEVEL.warn;
  return { level, message: `${word}: ${message}`, values };
}

function graph(faults: readonly GraphFault[]): Finding {
  if (faults.length === 0) return { level: LEVEL.ok, message: 'all peers match', values: [] };
  const level = faults.some(fault => fault.level === 'error') ? LEVEL.error : LEVEL.warn;
  return {
    level,
    message: faults.map(fault => fault.message).join('; '),
    values: faults.map(fault => [fault.topic, fault.message] as const),
  };
}
