/** The one-node models around engine files: their bytes as the onnx package reads them, and what happens without a GPU. */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TENSORRT_GRAPHS } from '../../src/model/tensorrt-engine';
import { HostTensors } from '../../src/engine/host-tensors';
import { TensorRtSessions } from '../../src/engine/tensorrt-sessions';
import { readManifest } from '../../src/model/manifest';
import { engineDir } from '../support/engines';
import { python, removeGraphs, tensorRtGraphs } from '../support/tensorrt';

afterAll(removeGraphs);

const READ = `
import json, onnx, sys
dims = lambda v: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
border = lambda values: [[v.name, v.type.tensor_type.elem_type, dims(v)] for v in values]
attributes = lambda n: {a.name: a.i if a.type == onnx.AttributeProto.INT else a.s.decode() for a in n.attribute}
def read(path):
    model = onnx.load(path, load_external_data=False)
    graph = model.graph
    nodes = [{"op": n.op_type, "domain": n.domain, "inputs": list(n.input), "outputs": list(n.output), "attributes": attributes(n)} for n in graph.node]
    return {"opsets": {o.domain: o.version for o in model.opset_import}, "inputs": border(graph.input), "outputs": border(graph.output),
            "initializers": len(graph.initializer), "nodes": nodes if len(nodes) == 1 else []}
onnx.checker.check_model(sys.argv[1])
print(json.dumps([read(path) for path in sys.argv[1:]]))
`;

interface Border {
  readonly inputs: readonly (readonly [string, number, readonly (number | string)[]])[];
  readonly outputs: Border['inputs'];
  readonly nodes: readonly { readonly inputs: readonly string[]; readonly outputs: readonly string[] }[];
}

it('are one node with the border of the graph', () => {
  const dir = tensorRtGraphs('odd', 'float16');
  for (const graph of TENSORRT_GRAPHS) {
    const paths = [`${graph}.context.onnx`, `${graph}.onnx`].map(file => join(dir, file));
    const [wrapper, whole] = JSON.parse(python(READ, ...paths)) as [Border, Border];
    const names = (border: Border['inputs']) => border.map(([name]) => name);
    expect(wrapper).toEqual({
      opsets: { '': 17, 'com.microsoft': 1 },
      inputs: whole.inputs,
      outputs: whole.outputs,
      initializers: 0,
      nodes: [
        {
          op: 'EPContext',
          domain: 'com.microsoft',
          inputs: names(whole.inputs),
          outputs: names(whole.outputs),
          attributes: { embed_mode: 0, ep_cache_context: `${graph}.engine`, main_context: 1 },
        },
      ],
    });
    expect(names(whole.inputs).length).toBeGreaterThan(2);
  }
});

/** As build.sh leaves them, with engine files that only TensorRT could read. */
function wrappers(): string {
  const dir = mkdtempSync(join(tmpdir(), 'oxygen-trt-context-'));
  const graphs = tensorRtGraphs('tiny', 'float16');
  for (const graph of TENSORRT_GRAPHS) {
    copyFileSync(join(graphs, `${graph}.context.onnx`), join(dir, `${graph}.onnx`));
    writeFileSync(join(dir, `${graph}.engine`), 'ftrt');
  }
  return dir;
}

it.each([
  // the plain package: its TensorRT provider has no library
  ['tensorrt', /cannot be loaded: ONNX Runtime has no TensorRT provider here, .*install the provider/],
  // a package without that provider gives the node to the CPU
  ['cpu', /prefill\.onnx cannot be loaded: .*EPContext node .*not compatible with any execution provider/],
] as const)('fail with a clear message where nobody reads engine files: %s', async (on, message) => {
  const dir = wrappers();
  const manifest = readManifest(engineDir('tiny'));
  const host = new HostTensors(engineDir('tiny'), manifest);
  const loading = TensorRtSessions.open(dir, manifest, host, { threads: 1, spinUs: 0 }, on);
  const error: unknown = await loading.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ code: on === 'tensorrt' ? 'PROVIDER_MISSING' : 'ENGINE_INVALID' });
  expect((error as Error).message).toMatch(message);
  rmSync(dir, { recursive: true });
});
