/** What the builder of TensorRT engines and the one that loads them agree on. */
import { createHash } from 'node:crypto';

/** Graphs of an engine folder that TensorRT engines are made of; the files have these names. */
export const TENSORRT_GRAPHS = ['prefill', 'denoise'] as const;
export type TensorRtGraph = (typeof TENSORRT_GRAPHS)[number];

/** Folder in an engine folder that holds TensorRT engines, in one folder for each key. */
export const TENSORRT_FOLDER = 'trt';
/** Makes them. */
export const TENSORRT_SCRIPT = 'build.sh';

/** The weights of all graphs of a folder for NVIDIA GPUs. */
export const HALF_WEIGHTS = 'model.weights';

/** One hash of the graphs with their weights; engines of another are stale. `sha256`: of a file of the folder. */
export function tensorRtWeights(sha256: (file: string) => string): string {
  const hash = createHash('sha256');
  for (const file of [...TENSORRT_GRAPHS.map(graph => `${graph}.onnx`), HALF_WEIGHTS])
    hash.update(sha256(file));
  return hash.digest('hex').slice(0, 16);
}
