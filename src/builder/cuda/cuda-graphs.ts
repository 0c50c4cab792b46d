/**
 * Writes frame.onnx and decode.onnx of a CUDA engine. Both read their weights from one file, `model.weights`, which also
 * holds the tensors of the host: what they share is there once.
 */
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { BUILDER_VERSION } from '../../model/manifest';
import { rangesGraph } from '../../model/ranges';
import { tensorShapes } from '../../model/tensors';
import { HALF_WEIGHTS } from '../../model/tensorrt-engine';
import { checkOperators, halfShare, histogram } from '../check-operators';
import type { Checkpoint } from '../checkpoint';
import {
  checked,
  counter,
  hostDtype,
  HostTensorWriter,
  valuesOf,
  type GraphOptions,
  type WriteGraphs,
} from '../graph-files';
import { Graph } from '../graph';
import { encodeModel, type Model } from '../onnx';
import { rangeModel } from '../range-graph';
import { WeightsFile } from '../weights-file';
import { buildDecode } from './decode-graph';
import { buildFrame } from './frame-graph';
import { HalfWeights } from './half-weights';
import { CUDA_OPERATORS } from './operators';

export const writeCudaGraphs: WriteGraphs = (dir, checkpoint, o) =>
  writeHalfGraphs(dir, checkpoint, o, () => undefined);

/** `more` writes further graphs on the same weights. */
export function writeHalfGraphs(
  dir: string,
  checkpoint: Checkpoint,
  o: GraphOptions,
  more: (weights: HalfWeights, file: WeightsFile) => void,
): ReturnType<WriteGraphs> {
  const { config } = checkpoint;
  const shapes = tensorShapes(config);
  const source = checked(checkpoint, shapes, counter(valuesOf(shapes), o.progress));
  const host = new HostTensorWriter(source, shapes);
  const file = new WeightsFile(join(dir, HALF_WEIGHTS));
  try {
    const weights = new HalfWeights(source, file);
    for (const [name, build] of [
      ['frame', buildFrame],
      ['decode', buildDecode],
    ] as const) {
      const graph = new Graph(name, file);
      build(graph, weights, config, o.maxPositions);
      const model = graph.model(BUILDER_VERSION);
      const types = checkOperators(model, CUDA_OPERATORS, "ONNX Runtime's CUDA provider");
      o.note?.(facts(model));
      writeFileSync(join(dir, `${name}.onnx`), encodeModel(model));
      writeFileSync(join(dir, `${rangesGraph(name)}.onnx`), encodeModel(rangeModel(model, types)));
    }
    more(weights, file);
    host.writeModulations(file, hostDtype(checkpoint));
  } finally {
    file.close();
  }
  return Promise.resolve(host.places);
}

/** Its share of float16 and its operators, in one line. */
export function facts(model: Model): string {
  const share = (100 * halfShare(model)).toFixed(1);
  const operators = histogram(model).map(([operator, count]) => `${operator} ${count}`);
  return `${model.name}.onnx: ${share} % of its weights are float16; operators: ${operators.join(', ')}`;
}
