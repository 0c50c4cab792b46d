/** Writes the three graphs of an engine with their weight files into a folder, tensor by tensor. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OxygenError } from '../core/errors';
import { BUILDER_VERSION, type Manifest, type Precision } from '../model/manifest';
import type { PackModel } from '../model/packed';
import { elements, EMBEDDING_NAMES, EXPERT, tensorShapes } from '../model/tensors';
import { shapeOf, type Checkpoint } from './checkpoint';
import { buildExpert } from './expert-graph';
import { Graph } from './graph';
import { buildLanguage } from './language-graph';
import { forRows, type WeightSource } from './linear-weights';
import { encodeModel } from './onnx';
import { packWeights } from './pack-weights';
import { fp32Products, int8Products } from './products';
import { fromFloat32 } from './safetensors-floats';
import { buildVision } from './vision-graph';
import { WeightsFile, type WeightRange } from './weights-file';

const TABLE = EMBEDDING_NAMES[0];

export interface GraphOptions {
  readonly precision: Precision;
  readonly maxPositions: number;
  /** Values that are read and packed so far, of all; `what` is the weight. */
  readonly progress?: ((done: number, total: number, what: string) => void) | undefined;
  /** Packs the weight of a one-product model as this machine's ONNX Runtime does at load. */
  readonly pack?: PackModel | undefined;
}

/** So many values of a weight were read or packed. */
type Count = (weight: string, values: number) => void;

/** Returns where the tensors lie that the host reads itself. */
export async function writeGraphs(
  dir: string,
  checkpoint: Checkpoint,
  o: GraphOptions,
): Promise<Manifest['hostTensors']> {
  const { config } = checkpoint;
  const shapes = tensorShapes(config);
  const total = [...shapes.values()].reduce((sum, shape) => sum + elements(shape), 0);
  let done = 0;
  // packing a weight takes about as long as reading it
  const count: Count = (weight, values) => {
    done = Math.min(done + values, 2 * total);
    o.progress?.(done, 2 * total, weight);
  };
  const source = checked(checkpoint, shapes, count);
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

  await writeGraph(dir, 'vision', o.pack, count, g => buildVision(g, products, exact, config));
  await writeGraph(dir, 'language', o.pack, count, (g, weights) => {
    // a float32 engine multiplies with the table too
    const dtype = int8 ? hostDtype : 'F32';
    const table = appendRows(weights, source, TABLE, shapeOf(shapes, TABLE), dtype);
    host(TABLE, table, dtype);
    buildLanguage(g, products, config, table, o.maxPositions);
  });
  await writeGraph(dir, 'expert', o.pack, count, (g, weights) => {
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
  count: Count,
  build: (g: Graph, weights: WeightsFile) => void,
): Promise<void> {
  const weights = new WeightsFile(join(dir, `${name}.weights`));
  try {
    const graph = new Graph(name, weights);
    build(graph, weights);
    if (pack) await packWeights(dir, graph, weights, pack, count);
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
      append(fromFloat32(values, dtype)),
    ),
  );
}

/** Counts what is read and checks its size: a checkpoint that lies about its shapes must not shift weights. */
function checked(
  checkpoint: Checkpoint,
  shapes: ReadonlyMap<string, readonly number[]>,
  progress: Count,
): WeightSource {
  const size = (name: string) => elements(shapeOf(shapes, name));
  const count = (name: string, values: Float32Array, wanted: number) => {
    if (values.length !== wanted) {
      throw new OxygenError(
        'CHECKPOINT_KEYS',
        `${name} gave ${values.length} values, ${wanted} were expected`,
      );
    }
    progress(name, wanted);
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
