/** TensorRT's prefill and denoiser, with CUDA's decode graph behind them. */
import { CudaExecutor } from '../engine/cuda-executor';
import type { CudaSessions } from '../engine/cuda-sessions';
import { TensorRtExecutor } from '../engine/tensorrt-executor';
import type { TensorRtSessions } from '../engine/tensorrt-sessions';
import { INSIDE_DENOISE, INSIDE_PREFIX, textOf } from './cuda-subject';
import type { FrameInput, Prefix, Subject } from './subject';

export function tensorRtSubject(sessions: TensorRtSessions, cuda: CudaSessions): Subject {
  const { manifest } = sessions;
  const built = `the engine has ${manifest.model.denoiseSteps} Euler steps built in`;
  return {
    manifest,
    notGiven: new Map([...INSIDE_PREFIX, ...INSIDE_DENOISE, ['actions_ns', built]]),
    imageTokens: () => Promise.resolve(null),
    promptEmbedding: () => null,
    prefix: (frame, causal) => prefixOf(sessions, cuda, frame, causal),
    executor: (options, costs) =>
      new TensorRtExecutor(sessions, new CudaExecutor(cuda, options, costs), options, costs),
  };
}

async function prefixOf(
  sessions: TensorRtSessions,
  cuda: CudaSessions,
  frame: FrameInput,
  causal: boolean,
): Promise<Prefix> {
  const prefix = await sessions.prefill(frame, causal);
  const view = { batch: 1, positions: prefix.length, ...prefix.kv };
  return {
    ...prefix,
    actions: async (noise, steps) =>
      steps === sessions.manifest.model.denoiseSteps
        ? { actions: await sessions.denoise(noise, view), v: null, x: null }
        : null,
    text: textOf(cuda, prefix),
  };
}
