/** Sessions of measurements run under the same conditions as the model's. */
import type * as ort from 'onnxruntime-node';

export const sessionOptions = (threads: number): ort.InferenceSession.SessionOptions => ({
  executionProviders: ['cpu'],
  intraOpNumThreads: threads,
  interOpNumThreads: 1,
  enableMemPattern: false,
  extra: { session: { intra_op: { allow_spinning: '0' } } },
  logSeverityLevel: 3,
});
