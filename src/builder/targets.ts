/** Which graphs the engine folder of each target gets. */
import type { Target } from '../model/manifest';
import { writeCpuGraphs } from './cpu-graphs';
import { writeCudaGraphs } from './cuda/cuda-graphs';
import type { WriteGraphs } from './graph-files';
import { writeTensorRtEngine } from './tensorrt/write-graphs';

export const WRITERS: Readonly<Record<Target, WriteGraphs>> = {
  cpu: writeCpuGraphs,
  cuda: writeCudaGraphs,
  tensorrt: writeTensorRtEngine,
};
