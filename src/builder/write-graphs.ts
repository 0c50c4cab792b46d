/** Writes the three graphs of an engine with their weight files into a folder, tensor by tensor. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OxygenError } from '../core/errors';
import { BUILDER_VERSION, type Manifest, type Precision } from '../model/manifest';
import type { PackModel } from '../model/packed';
import { EMBEDDING_NAMES, EXPERT, tensorShapes } from '../model/tensors';
import { shapeOf, type Checkpoint } from './checkpoint';
import { buildExpert } from './expert-graph';
import { Graph } from './graph';
import { buildLanguage } from './language-graph';
import { forRows, upperHalves, type WeightSource } from './linear-weights';
import { encodeModel } from './onnx';
import { packWeights } from './pack-weights';
import { fp32Products, int8Products } from './products';
import { buildVision } from './vision-graph';
import { WeightsFile, type WeightRange } from './weights-file';

const TABLE = EMBEDDING_NAMES[0];

export interface GraphOptions {
  readonly precision: Precision;
  readonly maxPositions: number;
  /** Values of the checkpoint that are used so far, of all; `what` is the tensor. */
  readonly progress?: ((done: number, total: number, what: string) => void) | undefined;
  /** Packs the weight of a one-product model as this machine's ONNX Runtime does at load. */
  readonly pack?: PackModel | undefined;
}

/** Returns where the tensors lie that the host reads itself. */
export async function writeGraphs(
  dir: string,
  checkpoint: Checkpoint,
  o: GraphOptions,
): Promise<Manifest['hostTensors']> {
  const { config } = checkpoint;
  const shapes = tensorShapes(config);
  const source = checked(checkpoint, shapes, o.progress);
  const exact = fp32Products(source);
  const int8 = o.precision === 'int8';
  const products = int8 ? int8Products(source, 1) : exact;
  // a chunk is a few rows, and its error is what the robot sees
  const expert = int8 ? int8Products(source, 2) : exact;
  // read as float32 they are exact, and keep the size that they have in the checkpoint
  const hostDtype = checkpoint.dtype === 'BF16' ? 'BF16' : 'F32';
  const hostTensors: Manifest['hostTensors'] = {};
  const host = (name: string, at: WeightRange, dtype: 'F32' | 'BF16') => {
    hostTensors[name] = { file: at.file, offset: at.offset, shape: [...shapeOf(shapes, name)], dtype };
  };

  await writeGraph(dir, 'vision', o.pack, g => buildVision(g, products, exact, config));
  await writeGraph(dir, 'language', o.pack, (g, weights) => {
    // a float32 engine multiplies with the table too
    const dtype = int8 ? hostDtype : 'F32';
    const table = appendRows(weights, source, TABLE, shapeOf(shapes, TABLE), dtype);
    host(TABLE, table, dtype);
    buildLanguage(g, products, config, table, o.maxPositions);
  });
  await writeGraph(dir, 'expert', o.pack, (g, weights) => {
    for (const name of shapes.keys()) {
      const modulates = name.startsWith('time_mlp_') || (name.startsWith(EXPERT) && name.includes('.dense.'));
      if (modulates)
        host(name, appendRows(weights, source, name, shapeOf(shapes, name), hostDtype), hostDtype);
    }
    buildExpert(g, expert, exact, config, o.maxPositions);
  });
  return hostTensors;
}

async function writeGraph(
  dir: string,
  name: string,
  pack: PackModel | undefined,
  build: (g: Graph, weights: WeightsFile) => void,
): Promise<void> {
  const weights = new WeightsFile(join(dir, `${name}.weights`));
  try {
    const graph = new Graph(name, weights);
    build(graph, weights);
    if (pack) await packWeights(dir, graph, weights, pack);
    writeFileSync(join(dir, `${name}.onnx`), encodeModel(graph.model(BUILDER_VERSION)));
  } finally {
    weights.close();
  }
}

function appendRows(
  weights: WeightsFile,
  source: WeightSource,
  name: string,
  [rows = 0, width = 1]: readonly number[],
  dtype: 'F32' | 'BF16',
): WeightRange {
  return weights.stream(append =>
    forRows(source, { names: [name], into: width, outs: [rows] }, values =>
      append(dtype === 'BF16' ? upperHalves(values) : values),
    ),
  );
}

/** Counts what is read and checks its size: a checkpoint that lies about its shapes must not shift weights. */
function checked(
  checkpoint: Checkpoint,
  shapes: ReadonlyMap<string, readonly number[]>,
  progress: GraphOptions['progress'],
): WeightSource {
  const size = (name: string) => shapeOf(shapes, name).reduce((n, d) => n * d, 1);
  const total = [...shapes.keys()].reduce((n, name) => n + size(name), 0);
  let done = 0;
  const count = (name: string, values: Float32Array, wanted: number) => {
    if (values.length !== wanted) {
      throw new OxygenError(
        'CHECKPOINT_KEYS',
        `${name} gave ${values.length} values, ${wanted} were expected`,
      );
    }
    done += wanted;
    progress?.(Math.min(done, total), total, name);
    return values;
  };
  return {
    read: name => count(name, checkpoint.read(name), size(name)),
    readRows: (name, first, rows) => {
      const perRow = size(name) / (shapeOf(shapes, name)[0] ?? 1);
      return count(name, checkpoint.readRows(name, first, rows), rows * perRow);
    },
  };
}
