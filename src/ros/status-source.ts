/** What the node says of itself now, from its parts. */
import type { GateSnapshot } from './diagnostic-snapshot';
import type { DropLog } from './drops';
import type { StateName } from './lifecycle';
import type { OxygenNode } from './node';
import type { ParameterValues } from './parameter-spec';
import type { StatusBoard, StatusMessage } from './status';

export interface StatusSource {
  readonly nowNs: bigint;
  readonly drops: DropLog;
  readonly board: StatusBoard;
  readonly lifecycle: StateName;
  readonly values: ParameterValues;
  /** Null: not configured. */
  readonly session: OxygenNode | null;
}

const NO_GATE: GateSnapshot = {
  mode: 'off',
  reason: 'the node is not active',
  enabled: true,
  dryRun: false,
  speedScale: 1,
  observationAgeMs: null,
};

export function gateSnapshot({ nowNs, values, session }: StatusSource): GateSnapshot {
  const actions = session?.actions;
  if (!actions) return NO_GATE;
  const observedNs = actions.planned(nowNs)?.chunk.observationStampNs;
  return {
    mode: actions.mode,
    reason: actions.reason,
    enabled: actions.enabled,
    dryRun: values.get('dry_run') === true,
    speedScale: Number(values.get('speed_scale')),
    observationAgeMs: observedNs === undefined ? null : Number(nowNs - observedNs) / 1e6,
  };
}

/** `gate`: where it is known already. */
export function statusMessage(source: StatusSource, gate = gateSnapshot(source)): StatusMessage {
  const { nowNs, drops, board, lifecycle, values, session } = source;
  return board.message({
    nowNs,
    lifecycle,
    engineUp: session?.engineUp ?? false,
    gate,
    mode: values.get('mode') as StatusMessage['mode'],
    instruction: session?.instruction ?? '',
    drops: drops.counts(),
    engineRestarts: session?.engine.restarts ?? 0,
    lastError: drops.lastError,
  });
}
