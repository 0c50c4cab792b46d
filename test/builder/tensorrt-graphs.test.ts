/** The graphs for TensorRT as others read them: the ONNX checker, shape inference, and the list of operators. */
import { join } from 'node:path';
import type { Node } from '../../src/builder/onnx';
import { checkOperators, TENSORRT_OPERATORS } from '../../src/builder/tensorrt/operators';
import { TENSORRT_GRAPHS } from '../../src/model/tensorrt-engine';
import { python, removeGraphs, tensorRtGraphs, type Golden } from '../support/tensorrt';

afterAll(removeGraphs);

/** Passes the strict checker, then prints what each node is and what shape inference finds for its values. */
const READ = `
import json, onnx, sys
path = sys.argv[1]
onnx.checker.check_model(path, full_check=True)
model = onnx.shape_inference.infer_shapes(onnx.load(path), check_type=True, strict_mode=True, data_prop=True)
graph = model.graph
kinds = {n: onnx.TensorProto.DataType.Name(t).lower() for n, t in
         [(t.name, t.data_type) for t in graph.initializer] +
         [(v.name, v.type.tensor_type.elem_type) for v in [*graph.input, *graph.value_info, *graph.output]]}
ranks = {v.name: len(v.type.tensor_type.shape.dim) for v in [*graph.value_info, *graph.output] if v.type.tensor_type.HasField("shape")}
sizes = [[onnx.TensorProto.DataType.Name(t.data_type).lower(), next((int(e.value) for e in t.external_data if e.key == "length"), len(t.raw_data))] for t in graph.initializer]
print(json.dumps({
  "ir": model.ir_version, "opsets": [[o.domain, o.version] for o in model.opset_import],
  "nodes": [{"op": n.op_type, "domain": n.domain, "inputs": [kinds.get(i) for i in n.input], "ranked": all(o in ranks for o in n.output),
             "bodies": sum(a.type == onnx.AttributeProto.GRAPH for a in n.attribute)} for n in graph.node],
  "sizes": sizes,
}))
`;

interface Read {
  readonly ir: number;
  readonly opsets: readonly (readonly [string, number])[];
  readonly nodes: readonly {
    readonly op: string;
    readonly domain: string;
    readonly inputs: readonly (string | null)[];
    readonly ranked: boolean;
    readonly bodies: number;
  }[];
  readonly sizes: readonly (readonly [string, number])[];
}

/** Inputs that hold places, sizes and axes: TensorRT reads them as shapes. */
const SHAPE_INPUTS: Readonly<Record<string, number>> = {
  Gather: 1,
  ReduceSum: 1,
  Reshape: 1,
  Slice: 1,
  Split: 1,
  Squeeze: 1,
  TopK: 1,
  Unsqueeze: 1,
};

const CASES = (['tiny', 'odd'] as const).flatMap(name =>
  (['float', 'float16'] as const).map(elem => [name, elem] as const),
);

it.each(CASES)(
  'pass the checker with static ranks and listed operators only: %s in %s',
  async (name, elem) => {
    const dir = await tensorRtGraphs(name as Golden, elem);
    for (const graph of TENSORRT_GRAPHS) {
      const { ir, opsets, nodes, sizes } = JSON.parse(python(READ, join(dir, `${graph}.onnx`))) as Read;
      expect({ ir, opsets }).toEqual({ ir: 8, opsets: [['', 17]] });
      expect(nodes.length).toBeGreaterThan(100);
      expect(nodes.filter(n => n.domain !== '' || !n.ranked || n.bodies > 0)).toEqual([]);
      const wrong = nodes.filter(({ op, inputs }) => {
        const data = inputs.slice(0, SHAPE_INPUTS[op]);
        return !data.every(kind => TENSORRT_OPERATORS[op]?.some(allowed => allowed === kind));
      });
      expect(wrong).toEqual([]);
      const bytes = (kind?: string) =>
        sizes.reduce((sum, [k, size]) => sum + (kind === undefined || k === kind ? size : 0), 0);
      // rotary tables, norms and borders are float32; in toy models they weigh more than in pi0.5
      if (elem === 'float16') expect(bytes('float16') / bytes()).toBeGreaterThan(0.4);
      else expect(bytes('float16')).toBe(0);
    }
  },
);

const constant = { name: 'k', elem: 'int64', dims: [1], raw: new Uint8Array(8) } as const;
const node = (n: Partial<Node>): Node => ({
  op: 'Add',
  domain: '',
  name: 'here',
  inputs: ['x', 'y'],
  outputs: ['z'],
  attributes: {},
  ...n,
});

it.each<[string, Partial<Node>, string]>([
  ['an operator of ONNX Runtime', { op: 'FusedMatMul', domain: 'com.microsoft' }, 'FusedMatMul of com.microsoft'],
  ['an operator of a later opset', { op: 'Gelu' }, 'Gelu is not in the list'],
  ['control flow', { op: 'Loop' }, 'Loop is not in the list'],
  ['a name of every object', { op: 'toString' }, 'toString is not in the list'],
  ['an attribute of a later opset', { op: 'Split', inputs: ['x', 'k'], attributes: { num_outputs: 2n } }, 'num_outputs is not in opset 17'],
  ['axes that are computed', { op: 'Unsqueeze', inputs: ['x', 'y'] }, 'its input 1 is not a constant'],
  ['a split without sizes', { op: 'Split', inputs: ['x'] }, 'its input 1 is not a constant'],
])('refuses %s', (_, n, why) => {
  const model = { name: 'prefill', nodes: [node(n)], initializers: [constant] };
  expect(() => checkOperators(model)).toThrow(expect.objectContaining({ code: 'BUILD_FAILED' }));
  expect(() => checkOperators(model)).toThrow(`prefill: TensorRT does not take here: ${why}`);
}); // prettier-ignore

it('takes what is listed', () => {
  const nodes = [node({}), node({ op: 'Unsqueeze', inputs: ['x', 'k'] })];
  expect(() => checkOperators({ name: 'prefill', nodes, initializers: [constant] })).not.toThrow();
});
