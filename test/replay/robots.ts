/** Robots and times for tests of what a replay collects. */
import type { ActionDim, Robot } from '../../src/core/robot';
import type { ActionChunk, ActionKind } from '../../src/core/types';

/** Of a recording made in 2023. */
export const START = 1_700_000_000_000_000_000n;
export const at = (ms: number): bigint => START + BigInt(Math.round(ms * 1e6));

export const action = (kind: ActionKind, over: Partial<ActionDim> = {}): ActionDim => ({
  name: kind,
  joint: kind,
  kind,
  min: -100,
  max: 100,
  maxRate: null,
  ...over,
});

export const robotOf = (...actions: readonly ActionDim[]): Robot => ({
  name: 'r',
  platform: 'none',
  cameras: [],
  state: { topic: 'joint_states', joints: actions.map(a => a.joint) },
  actions,
  relativeTo: actions.map(() => null),
  rates: { trainHz: 20, executeSteps: null },
  sync: { toleranceMs: 50, timeoutMs: 300, stamps: 'header' },
});

/** One row per step. */
export const chunkOf = (steps: readonly (readonly number[])[], observedNs = START): ActionChunk => ({
  observationStampNs: observedNs,
  epoch: 0,
  horizon: steps.length,
  dims: steps[0]!.length,
  values: Float64Array.from(steps.flat()),
});
