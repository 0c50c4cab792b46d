/** What the writers of all targets share: graph files with their weights, counted reading, tensors for the host. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OxygenError } from '../core/errors';
import { BUILDER_VERSION, type Manifest, type Precision } from '../model/manifest';
import type { PackModel } from '../model/packed';
import { elements, EXPERT, type TensorShapes } from '../model/tensors';
import { shapeOf, type Checkpoint } from './checkpoint';
import { Graph } from './graph';
import { forRows, type WeightSource } from './linear-weights';
import { encodeModel, ORT_DIALECT } from './onnx';
import { packWeights } from './pack-weights';
import { fromFloat32 } from './safetensors-floats';
import { WeightsFile, type WeightRange } from './weights-file';

export interface GraphOptions {
  readonly precision: Precision;
  readonly maxPositions: number;
  /** Values that are read and packed so far, of all; `what` is the weight. */
  readonly progress?: ((done: number, total: number, what: string) => void) | undefined;
  /** Hears what a person may want to know of the graphs. */
  readonly note?: ((line: string) => void) | undefined;
  /** Packs the weight of a one-product model as this machine's ONNX Runtime does at load. */
  readonly pack?: PackModel | undefined;
}

/** Writes the graphs of a target into `dir`; returns where the tensors lie that the host reads itself. */
export type WriteGraphs = (
  dir: string,
  checkpoint: Checkpoint,
  options: GraphOptions,
) => Promise<Manifest['hostTensors']>;

/** So many values of a weight were read or packed. */
export type Count = (weight: string, values: number) => void;

/** Values of all tensors together. */
export const valuesOf = (shapes: TensorShapes): number =>
  [...shapes.values()].reduce((sum, shape) => sum + elements(shape), 0);

/** Tells `progress` what is done of `total` values. */
export function counter(total: number, progress: GraphOptions['progress']): Count {
  let done = 0;
  return (weight, values) => {
    done = Math.min(done + values, total);
    progress?.(done, total, weight);
  };
}

/** The type in which the host reads tensors: as float32 they are exact, and they keep the size of the checkpoint. */
export const hostDtype = (checkpoint: Checkpoint): 'F32' | 'BF16' =>
  checkpoint.dtype === 'BF16' ? 'BF16' : 'F32';

/** Tensors for the host, put into a weight file one after the other. */
export class HostTensorWriter {
  readonly places: Manifest['hostTensors'] = {};
  readonly #source: WeightSource;
  readonly #shapes: TensorShapes;

  constructor(source: WeightSource, shapes: TensorShapes) {
    this.#source = source;
    this.#shapes = shapes;
  }

  write(weights: WeightsFile, name: string, dtype: 'F32' | 'BF16'): WeightRange {
    const shape = shapeOf(this.#shapes, name);
    const at = appendRows(weights, this.#source, name, shape, dtype);
    this.places[name] = { file: at.file, offset: at.offset, shape: [...shape], dtype };
    return at;
  }

  /** The weights of which the host computes the action expert's modulations. */
  writeModulations(weights: WeightsFile, dtype: 'F32' | 'BF16'): void {
    for (const name of this.#shapes.keys())
      if (name.startsWith('time_mlp_') || (name.startsWith(EXPERT) && name.includes('.dense.')))
        this.write(weights, name, dtype);
  }
}

export async function writeGraph(
  dir: string,
  name: string,
  pack: PackModel | undefined,
  count: Count,
  build: (g: Graph, weights: WeightsFile) => void,
  dialect = ORT_DIALECT,
): Promise<void> {
  const weights = new WeightsFile(join(dir, `${name}.weights`));
  try {
    const graph = new Graph(name, weights);
    build(graph, weights);
    if (pack) await packWeights(dir, graph, weights, pack, count);
    writeFileSync(join(dir, `${name}.onnx`), encodeModel(graph.model(BUILDER_VERSION), dialect));
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
export function checked(
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
