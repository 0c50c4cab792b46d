/** TensorRT's prefill and denoiser, with CUDA's decode graph behind them. */
import { tensorRtExecutor, type TensorRtEngine } from '../engine/tensorrt-engine';
import { INSIDE_DENOISE, INSIDE_PREFIX, textOf } from './cuda-subject';
import type { FrameInput, Prefix, Subject } from './subject';

export function tensorRtSubject(engine: TensorRtEngine): Subject {
  const { manifest } = engine;
  const built = `the engine has ${manifest.model.denoiseSteps} Euler steps built in`;
  return {
    manifest,
    notGiven: new Map([...INSIDE_PREFIX, ...INSIDE_DENOISE, ['actions_ns', built]]),
    imageTokens: () => Promise.resolve(null),
    promptEmbedding: () => null,
    prefix: (frame, causal) => prefixOf(engine, frame, causal),
    executor: (options, costs) => tensorRtExecutor(engine, options, costs),
  };
}

async function prefixOf(
  { frames, language }: TensorRtEngine,
  frame: FrameInput,
  causal: boolean,
): Promise<Prefix> {
  const prefix = await frames.prefill(frame, causal);
  const view = { batch: 1, positions: prefix.length, ...prefix.kv };
  return {
    ...prefix,
    actions: async (noise, steps) =>
      steps === frames.manifest.model.denoiseSteps
        ? { actions: await frames.denoise(noise, view), v: null, x: null }
        : null,
    text: textOf(language, prefix),
  };
}
