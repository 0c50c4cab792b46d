/** The fake executor of core's tests with bursts on top, as the CUDA executor has them. */
import type { CostTable } from '../../src/core/run-costs';
import type { Executor } from '../../src/core/ports';
import { BurstDecoder } from '../../src/engine/burst-decoder';
import type { Bench } from '../core/bench';
import { SHAPE, type FakeExecutor } from '../core/fake-executor';

export const bursting = (fake: FakeExecutor, { costs, time }: Pick<Bench, 'costs' | 'time'>): Executor => {
  const bursts = new BurstDecoder(call => fake.burst(call), costs, time, SHAPE.headDim);
  return {
    prefill: frame => fake.prefill(frame),
    denoise: (frame, prefix) => fake.denoise(frame, prefix),
    seed: (ids, past) => fake.seed(ids, past),
    decode: (tokens, lengths, past, rows = [], ahead = { steps: 1, untilMs: -Infinity }) => {
      fake.asked++;
      return bursts.decode(tokens, lengths, past, rows, ahead);
    },
    isReady: (tokens, lengths, rows) => bursts.isReady(tokens, lengths, rows),
  };
};

/** `perRow` ms of upload, as an engine would have measured it. */
export const withUpload = (table: CostTable, perRow: number): CostTable => ({
  ...table,
  upload: { 1: perRow, 4: 4 * perRow },
});
