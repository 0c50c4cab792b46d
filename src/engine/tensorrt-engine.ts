/** A loaded engine for TensorRT: prefill and denoiser are TensorRT's, seeds and decode steps CUDA's. */
import type { Executor } from '../core/ports';
import type { RunCosts } from '../core/run-costs';
import { readManifest, type Manifest } from '../model/manifest';
import { CudaExecutor } from './cuda-executor';
import { CudaSessions } from './cuda-sessions';
import type { ExecutorOptions } from './onnx-executor';
import type { RunMonitor } from './run-watch';
import { TensorRtExecutor } from './tensorrt-executor';
import { TensorRtSessions, type TensorRtSource } from './tensorrt-sessions';
import type { EngineTime } from './time';

export interface TensorRtEngine {
  readonly target: 'tensorrt';
  readonly manifest: Manifest;
  readonly frames: TensorRtSessions;
  /** Of the decode graph alone: a frame graph on the device would be a second copy of the weights. */
  readonly language: CudaSessions;
  release(): Promise<void>;
}

/** `source`, `decodeOn`: the CPU for checks. `manifest`: where it was read already. Throws ENGINE_*, RUNTIME_VERSION or PROVIDER_MISSING. */
export async function loadTensorRt(
  dir: string,
  threads: number,
  spinUs: number,
  source: TensorRtSource = { on: 'tensorrt' },
  decodeOn: 'cuda' | 'cpu' = source.on === 'cpu' ? 'cpu' : 'cuda',
  manifest = readManifest(dir),
): Promise<TensorRtEngine> {
  const frames = await TensorRtSessions.load(dir, { threads, spinUs }, source, manifest);
  try {
    const language = await CudaSessions.load(dir, threads, spinUs, decodeOn, ['decode'], manifest);
    const release = async () => {
      await frames.release();
      await language.release();
    };
    return { target: 'tensorrt', manifest, frames, language, release };
  } catch (error) {
    await frames.release();
    throw error;
  }
}

/** Throws CONFIG_INVALID when the engine was made for another number of Euler steps. */
export function tensorRtExecutor(
  { frames, language }: TensorRtEngine,
  options: ExecutorOptions,
  costs: RunCosts,
  monitor?: RunMonitor | null,
  time?: EngineTime,
): Executor {
  const decoder = new CudaExecutor(language, options, costs, monitor, time);
  return new TensorRtExecutor(frames, decoder, options, costs, monitor, time);
}
