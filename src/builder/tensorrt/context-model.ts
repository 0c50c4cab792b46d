/** A model of one node that has ONNX Runtime's TensorRT provider load an engine file, with the graph's border around it. */
import { BUILDER_VERSION } from '../../model/manifest';
import { encodeModel, type Model } from '../onnx';

/** Loads with optimisation off, from the folder of the engine file: a path with `..` or from the root is refused. */
export const CONTEXT_DIALECT = { ir: 8n, opset: 17n, contrib: true };

/** `graph`: what the engine was made of; `engine`: the bare name of its file. */
export function contextModel(graph: Pick<Model, 'name' | 'inputs' | 'outputs'>, engine: string): Uint8Array {
  const { name, inputs, outputs } = graph;
  const node = {
    op: 'EPContext',
    domain: 'com.microsoft' as const,
    name: `${name}_engine`,
    inputs: inputs.map(v => v.name),
    outputs: outputs.map(v => v.name),
    // 0: the engine is a file of its own and not part of the model
    attributes: { embed_mode: 0n, ep_cache_context: engine, main_context: 1n },
  };
  return encodeModel(
    { name, producerVersion: BUILDER_VERSION, inputs, outputs, nodes: [node], initializers: [] },
    CONTEXT_DIALECT,
  );
}
