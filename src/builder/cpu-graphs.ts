/** Writes the three graphs of a CPU engine with their weight files into a folder, tensor by tensor. */
import { EMBEDDING_NAMES, tensorShapes } from '../model/tensors';
import { buildExpert } from './expert-graph';
import {
  checked,
  counter,
  hostDtype,
  HostTensorWriter,
  valuesOf,
  writeGraph,
  type WriteGraphs,
} from './graph-files';
import { buildLanguage } from './language-graph';
import { fp32Products, int8Products } from './products';
import { buildVision } from './vision-graph';

export const writeCpuGraphs: WriteGraphs = async (dir, checkpoint, o) => {
  const { config } = checkpoint;
  const shapes = tensorShapes(config);
  // packing a weight takes about as long as reading it
  const count = counter(2 * valuesOf(shapes), o.progress);
  const source = checked(checkpoint, shapes, count);
  const exact = fp32Products(source);
  const int8 = o.precision === 'int8';
  const products = int8 ? int8Products(source, 1) : exact;
  // a chunk is a few rows, and its error is what the robot sees
  const expert = int8 ? int8Products(source, 2) : exact;
  const host = new HostTensorWriter(source, shapes);
  const dtype = hostDtype(checkpoint);

  await writeGraph(dir, 'vision', o.pack, count, g => buildVision(g, products, exact, config));
  await writeGraph(dir, 'language', o.pack, count, (g, weights) => {
    // a float32 engine multiplies with the table too
    const table = host.write(weights, EMBEDDING_NAMES[0], int8 ? dtype : 'F32');
    buildLanguage(g, products, config, table, o.maxPositions);
  });
  await writeGraph(dir, 'expert', o.pack, count, (g, weights) => {
    host.writeModulations(weights, dtype);
    buildExpert(g, expert, exact, config, o.maxPositions);
  });
  return host.places;
};
