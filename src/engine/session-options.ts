/** How sessions run: the model's and those of measurements beside it. */
import type * as ort from 'onnxruntime-node';
import type { Provider } from './providers';

/** The threads of one session's operators. */
export interface Pool {
  readonly threads: number;
  /**
   * How long a thread without work waits awake before it sleeps, in microseconds; 0 is not at all. Waking a thread costs
   * more than a small operator, but one that waits awake takes its core from other processes.
   */
  readonly spinUs: number;
}

export const sessionOptions = (
  { threads, spinUs }: Pool,
  provider: Provider = 'cpu',
): ort.InferenceSession.SessionOptions => ({
  executionProviders: [provider],
  intraOpNumThreads: threads,
  interOpNumThreads: 1,
  // every prompt length is a new shape
  enableMemPattern: false,
  extra: {
    session: {
      intra_op:
        spinUs === 0 ? { allow_spinning: '0' } : { allow_spinning: '1', spin_duration_us: String(spinUs) },
    },
  },
  logSeverityLevel: 3,
});
