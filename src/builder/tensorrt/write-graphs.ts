/** Writes what TensorRT's engines are made of: two graphs, the models that load the engines, and the script. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { longestPrefix, type ModelConfig } from '../../model/config';
import { BUILDER_VERSION, hashFile } from '../../model/manifest';
import { rangesGraph } from '../../model/ranges';
import {
  TENSORRT_GRAPHS,
  TENSORRT_SCRIPT,
  tensorRtWeights,
  type TensorRtGraph,
} from '../../model/tensorrt-engine';
import { facts, writeHalfGraphs } from '../cuda/cuda-graphs';
import { Graph } from '../graph';
import type { GraphOptions, WriteGraphs } from '../graph-files';
import { encodeModel } from '../onnx';
import { rangeModel } from '../range-graph';
import type { WeightsFile } from '../weights-file';
import { buildScript } from './build-script';
import { contextModel } from './context-model';
import { buildTensorRtDenoise } from './denoise-graph';
import { Layers, type ProductElem, type WeightStore } from './layers';
import { checkTensorRt, TENSORRT_DIALECT } from './operators';
import { buildTensorRtPrefill } from './prefill-graph';

type Build = (g: Graph, l: Layers, c: ModelConfig) => void;

const BUILDERS: Readonly<Record<TensorRtGraph, Build>> = {
  prefill: buildTensorRtPrefill,
  denoise: (g, l, c) => buildTensorRtDenoise(g, l, c, longestPrefix(c) + c.horizon),
};

/** All graphs of an engine for TensorRT: also those for CUDA, where its language runs, on the same weights. */
export const writeTensorRtEngine: WriteGraphs = async (dir, checkpoint, o) => {
  const { config } = checkpoint;
  const places = await writeHalfGraphs(dir, checkpoint, o, (weights, file) =>
    writeTensorRtGraphs(dir, config, file, weights, 'float16', o.note),
  );
  const script = join(dir, TENSORRT_SCRIPT);
  writeFileSync(
    script,
    buildScript(
      config,
      tensorRtWeights(file => hashFile(join(dir, file))),
    ),
  );
  chmodSync(script, 0o755);
  return places;
};

/** `elem`: of weights and products. In float the graphs compute what the CPU's graphs compute. */
export function writeTensorRtGraphs(
  dir: string,
  c: ModelConfig,
  file: WeightsFile,
  weights: WeightStore,
  elem: ProductElem,
  note: GraphOptions['note'] = undefined,
): void {
  for (const name of TENSORRT_GRAPHS) {
    const graph = new Graph(name, file);
    BUILDERS[name](graph, new Layers(graph, weights, elem), c);
    const model = graph.model(BUILDER_VERSION);
    const types = checkTensorRt(model);
    note?.(facts(model));
    writeFileSync(join(dir, `${name}.onnx`), encodeModel(model, TENSORRT_DIALECT));
    writeFileSync(
      join(dir, `${rangesGraph(name)}.onnx`),
      encodeModel(rangeModel(model, types), TENSORRT_DIALECT),
    );
    writeFileSync(join(dir, `${name}.context.onnx`), contextModel(model, `${name}.engine`));
  }
}
