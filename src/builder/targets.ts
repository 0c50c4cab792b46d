/** Which graphs the engine folder of each target gets. */
import { OxygenError } from '../core/errors';
import type { Target } from '../model/manifest';
import { writeCpuGraphs } from './cpu-graphs';
import { writeCudaGraphs } from './cuda/cuda-graphs';
import type { WriteGraphs } from './graph-files';

const notYet =
  (target: Target): WriteGraphs =>
  () =>
    Promise.reject(new OxygenError('MODEL_UNSUPPORTED', `engines for ${target} cannot be built yet`));

export const WRITERS: Readonly<Record<Target, WriteGraphs>> = {
  cpu: writeCpuGraphs,
  cuda: writeCudaGraphs,
  tensorrt: notYet('tensorrt'),
};
