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
  const exact = fp32Products(source, TABLE);
  const int8 = o.precision === 'int8';
  const products = int8 ? int8Products(source, 1) : exact;
  // a chunk is a few rows, and its error is what the robot sees
  const expert = int8 ? int8Products(source, 2) : exact;
  const hostTensors: Manifest['hostTensors'] = {};
  const host = (name: string, at: WeightRange, dtype: 'F32' | 'BF16') => {
    hostTensors[name] = { file: at.file, offset: at.offset, shape: [...shapeOf(shapes, name)], dtype };
  };

  await writeGraph(dir, 'vision', o.pack, g => buildVision(g, products, exact, config));
  await writeGraph(dir, 'language', o.pack, (g, weights) => {
    // bfloat16 rows read as float32 are exact, so the table keeps the size of its checkpoint where the graph allows it
    const dtype = int8 && checkpoint.dtype === 'BF16' ? 'BF16' : 'F32';
    const table = appendTable(weights, source, shapeOf(shapes, TABLE), dtype);
    host(TABLE, table, dtype);
    if (!int8) g.shared(TABLE, 'float', shapeOf(shapes, TABLE), table);
    buildLanguage(g, products, config, o.maxPositions);
  });
  await writeGraph(dir, 'expert', o.pack, (g, weights) => {
    for (const name of shapes.keys()) {
      const modulates = name.startsWith('time_mlp_') || (name.startsWith(EXPERT) && name.includes('.dense.'));
      if (modulates) host(name, weights.append(source.read(name)), 'F32');
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

function appendTable(
  weights: WeightsFile,
  source: WeightSource,
  [vocab = 0, width = 0]: readonly number[],
  dtype: 'F32' | 'BF16',
): WeightRange {
  return weights.stream(append =>
    forRows(source, { names: [TABLE], into: width, outs: [vocab] }, rows =>
      append(dtype === 'BF16' ? upperHalves(rows) : rows),
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
