import type { BlockResult, FrameMeasure, RequestMeasure } from '../../src/bench/block';

export const frame = (measure: Partial<FrameMeasure> = {}): FrameMeasure => ({
  ms: 100,
  firstActionMs: 60,
  runMs: 98,
  tokens: 20,
  decodeSteps: 5,
  rowSteps: 20,
  batch: 4,
  ...measure,
});

export const request = (id: string, measure: Partial<RequestMeasure> = {}): RequestMeasure => ({
  id,
  tokenIds: [1, 2, 3],
  margins: [1, 1, 1],
  firstTokenMs: 60,
  totalMs: 400,
  ...measure,
});

export const block = (result: Partial<BlockResult> = {}): BlockResult => ({
  frames: [frame()],
  requests: [request('1.0')],
  chunks: [Float32Array.of(0.5, -0.5)],
  cpuSeconds: 0.2,
  energyJoules: null,
  kvBytes: 1000,
  failures: [],
  ...result,
});
