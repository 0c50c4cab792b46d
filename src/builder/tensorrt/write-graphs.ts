/** Writes what TensorRT's engines are made of: two graphs, the models that load the engines, and the script. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { longestPrefix, type ModelConfig } from '../../model/config';
import { hashFile } from '../../model/manifest';
import { tensorShapes } from '../../model/tensors';
import {
  TENSORRT_GRAPHS,
  TENSORRT_SCRIPT,
  tensorRtWeights,
  type TensorRtGraph,
} from '../../model/tensorrt-engine';
import { checked, counter, valuesOf, writeGraph, type WriteGraphs } from '../graph-files';
import type { Graph } from '../graph';
import type { WeightSource } from '../linear-weights';
import { buildScript } from './build-script';
import { contextModel } from './context-model';
import { buildTensorRtDenoise } from './denoise-graph';
import { Layers, type ProductElem } from './layers';
import { checkOperators, TENSORRT_DIALECT } from './operators';
import { buildTensorRtPrefill } from './prefill-graph';

type Build = (g: Graph, l: Layers, c: ModelConfig) => void;

const BUILDERS: Readonly<Record<TensorRtGraph, Build>> = {
  prefill: buildTensorRtPrefill,
  denoise: (g, l, c) => buildTensorRtDenoise(g, l, c, longestPrefix(c) + c.horizon),
};

export const writeTensorRtGraphs: WriteGraphs = async (dir, checkpoint, o) => {
  const { config } = checkpoint;
  const shapes = tensorShapes(config);
  const source = checked(checkpoint, shapes, counter(valuesOf(shapes), o.progress));
  for (const graph of TENSORRT_GRAPHS) await writeTensorRtGraph(dir, graph, config, source, 'float16');
  const script = join(dir, TENSORRT_SCRIPT);
  writeFileSync(
    script,
    buildScript(
      config,
      tensorRtWeights(file => hashFile(join(dir, file))),
    ),
  );
  chmodSync(script, 0o755);
  // the host computes modulations from what the graphs for CUDA hold
  return {};
};

/** `elem`: of weights and products. In float the graph computes what the CPU's graphs compute. */
export function writeTensorRtGraph(
  dir: string,
  graph: TensorRtGraph,
  c: ModelConfig,
  source: WeightSource,
  elem: ProductElem,
): Promise<void> {
  return writeGraph(
    dir,
    graph,
    undefined,
    () => undefined,
    (g, weights) => {
      BUILDERS[graph](g, new Layers(g, weights, source, elem), c);
      const model = g.model('');
      checkOperators(model);
      writeFileSync(join(dir, `${graph}.context.onnx`), contextModel(model, `${graph}.engine`));
    },
    TENSORRT_DIALECT,
  );
}
