/** From what the blocks measured to the figures of a mode. */
import type { BlockResult, FrameMeasure } from './block';
import type { ModeFigures, Spread } from './result';
import { median, quantile, sum } from '../core/statistics';

/** The figures that blocks alone give: memory and the comparison of texts come from elsewhere. */
export type Timing = Omit<
  ModeFigures,
  'peak_pss_mb' | 'memory' | 'text_hash' | 'near_ties' | 'differing' | 'chunk_hash' | 'chunk_max_difference'
>;

/** `horizon`: actions per chunk. There must be a request and a frame. */
export function summarise(blocks: readonly BlockResult[], horizon: number): Timing {
  const frames = blocks.flatMap(b => b.frames);
  const requests = blocks.flatMap(b => b.requests);
  const seconds = sum(frames.map(f => f.ms)) / 1000;
  const spread = spreadOf(blocks.map(b => median(b.frames.map(f => f.ms))));
  const steps = sum(frames.map(f => f.decodeSteps));
  const energy = blocks.map(b => b.energyJoules);
  const managed = (f: FrameMeasure) => Math.max(0, f.ms - f.runMs);
  return {
    frames: frames.length,
    repeats: blocks.length,
    frame_ms_median: spread.median,
    frame_ms_p95: quantile(frames.map(f => f.ms), 0.95),
    frame_ms_spread: spread,
    action_hz: (1000 * horizon) / spread.median,
    replan_hz: frames.length / seconds,
    tokens_per_s: sum(frames.map(f => f.tokens)) / seconds,
    batch_mean: steps === 0 ? 0 : sum(frames.map(f => f.rowSteps)) / steps,
    batch_max: Math.max(0, ...frames.map(f => f.batch)),
    manager_ms_median: median(frames.map(managed)),
    manager_share: median(frames.map(f => managed(f) / f.ms)),
    first_action_ms_median: median(frames.map(f => f.firstActionMs)),
    first_token_ms_median: median(requests.map(r => r.firstTokenMs)),
    request_latency_ms_median: median(requests.map(r => r.totalMs)),
    request_latency_ms_p95: quantile(requests.map(r => r.totalMs), 0.95),
    requests: requests.length,
    cpu_s_per_request: sum(blocks.map(b => b.cpuSeconds)) / requests.length,
    energy_j_per_request: energy.includes(null)
      ? null
      : sum(energy.map(j => j ?? 0)) / requests.length,
  }; // prettier-ignore
}

export const spreadOf = (values: readonly number[]): Spread => ({
  median: median(values),
  low: Math.min(...values),
  high: Math.max(...values),
});

/** Two processes that ran the same frames at the same time as one mode: a frame is the slower of the two. */
export function together(actions: BlockResult, language: BlockResult): BlockResult {
  return {
    frames: actions.frames.map((a, i) => {
      const l = language.frames[i] as FrameMeasure;
      const slower = a.ms > l.ms ? a : l;
      return { ...l, ms: slower.ms, runMs: slower.runMs, firstActionMs: a.firstActionMs };
    }),
    requests: language.requests,
    chunks: actions.chunks,
    cpuSeconds: actions.cpuSeconds + language.cpuSeconds,
    // both read the whole machine's counters
    energyJoules:
      actions.energyJoules === null || language.energyJoules === null
        ? null
        : Math.max(actions.energyJoules, language.energyJoules),
    kvBytes: actions.kvBytes + language.kvBytes,
    failures: [...actions.failures, ...language.failures],
  };
}
