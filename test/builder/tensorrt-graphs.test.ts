/** The graphs for TensorRT as others read them: the ONNX checker, shape inference, and the list of operators. */
import { join } from 'node:path';
import type { Model, Node } from '../../src/builder/onnx';
import { checkTensorRt, TENSORRT_OPERATORS } from '../../src/builder/tensorrt/operators';
import { TENSORRT_GRAPHS } from '../../src/model/tensorrt-engine';
import { python, removeGraphs, tensorRtGraphs, type Golden } from '../support/tensorrt';

afterAll(removeGraphs);

/** Passes the strict checker, then prints what each node is and what shape inference finds for its values. */
const READ = `
import json, onnx, sys
def read(path):
    onnx.checker.check_model(path, full_check=True)
    model = onnx.shape_inference.infer_shapes(onnx.load(path), check_type=True, strict_mode=True, data_prop=True)
    graph = model.graph
    name = lambda elem: onnx.TensorProto.DataType.Name(elem).lower()
    values = [*graph.value_info, *graph.output]
    kinds = {t.name: name(t.data_type) for t in graph.initializer} | {v.name: name(v.type.tensor_type.elem_type) for v in [*graph.input, *values]}
    ranked = {v.name for v in values if v.type.tensor_type.HasField("shape")}
    length = lambda t: next((int(e.value) for e in t.external_data if e.key == "length"), len(t.raw_data))
    return {
        "ir": model.ir_version, "opsets": [[o.domain, o.version] for o in model.opset_import],
        "nodes": [{"op": n.op_type, "domain": n.domain, "inputs": [kinds.get(i) for i in n.input], "ranked": all(o in ranked for o in n.output),
                   "bodies": sum(a.type == onnx.AttributeProto.GRAPH for a in n.attribute)} for n in graph.node],
        "sizes": [[name(t.data_type), length(t)] for t in graph.initializer],
    }
print(json.dumps([read(path) for path in sys.argv[1:]]))
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

const CASES = (['tiny', 'odd'] as const).flatMap(name =>
  (['float', 'float16'] as const).map(elem => [name, elem] as const),
);

it.each(CASES)('pass the checker with static ranks and listed operators only: %s in %s', (name, elem) => {
  const dir = tensorRtGraphs(name as Golden, elem);
  const paths = TENSORRT_GRAPHS.map(graph => join(dir, `${graph}.onnx`));
  for (const { ir, opsets, nodes, sizes } of JSON.parse(python(READ, ...paths)) as Read[]) {
    expect({ ir, opsets }).toEqual({ ir: 8, opsets: [['', 17]] });
    expect(nodes.length).toBeGreaterThan(100);
    expect(nodes.filter(n => n.domain !== '' || !n.ranked || n.bodies > 0)).toEqual([]);
    // the types as ONNX infers them, not as the builder thinks
    const wrong = nodes.filter(({ op, inputs }) => {
      const allowed = TENSORRT_OPERATORS.get(op)?.inputs ?? [];
      return !inputs.every((kind, i) => (allowed[i] ?? allowed.at(-1))?.some(elem => elem === kind));
    });
    expect(wrong).toEqual([]);
    const bytes = (kind?: string) =>
      sizes.reduce((sum, [k, size]) => sum + (kind === undefined || k === kind ? size : 0), 0);
    // rotary tables, norms and borders are float32; in toy models they weigh more than in pi0.5
    if (elem === 'float16') expect(bytes('float16') / bytes()).toBeGreaterThan(0.4);
    else expect(bytes('float16')).toBe(0);
  }
});

it('says since when each operator is as it is at opset 17', () => {
  const script = `
import json, onnx, sys
print(json.dumps([onnx.defs.get_schema(op, 17).since_version for op in json.loads(sys.argv[1])]))`;
  const names = [...TENSORRT_OPERATORS.keys()];
  const since = JSON.parse(python(script, JSON.stringify(names))) as number[];
  expect(names.map(op => TENSORRT_OPERATORS.get(op)?.since)).toEqual(since);
});

/** A model of one node over `x` float, `n` int64 and the constant `k` int64. */
function modelOf(n: Partial<Node>): Model {
  const node = {
    op: 'Add',
    domain: '' as const,
    name: 'here',
    inputs: ['x', 'x'],
    outputs: ['z'],
    attributes: {},
    ...n,
  };
  return {
    name: 'prefill',
    producerVersion: '',
    inputs: [
      { name: 'x', elem: 'float', dims: [1] },
      { name: 'n', elem: 'int64', dims: [1] },
    ],
    outputs: [],
    nodes: [node],
    initializers: [{ name: 'k', elem: 'int64', dims: [1], raw: new Uint8Array(8) }],
  };
}

it.each<[string, Partial<Node>, string]>([
  ['an operator of ONNX Runtime', { op: 'FusedMatMul', domain: 'com.microsoft' }, 'has no such operator'],
  ['an operator of a later opset', { op: 'Gelu', inputs: ['x'] }, 'has no such operator'],
  ['control flow', { op: 'Loop', inputs: ['n'] }, 'has no such operator'],
  ['another domain', { domain: 'com.microsoft' }, 'has no such operator'],
  ['a type that it lacks', { op: 'Softmax', inputs: ['n'] }, 'does not take int64 as input 0'],
  ['axes that are computed', { op: 'Unsqueeze', inputs: ['x', 'n'] }, 'wants its input 1 as a constant'],
  ['a split without sizes', { op: 'Split', inputs: ['x'] }, 'wants its input 1 as a constant'],
])('refuses %s', (_, n, why) => {
  expect(() => checkTensorRt(modelOf(n))).toThrow(expect.objectContaining({ code: 'MODEL_UNSUPPORTED' }));
  expect(() => checkTensorRt(modelOf(n))).toThrow(why);
}); // prettier-ignore

it('takes what is listed', () => {
  for (const n of [{}, { op: 'Unsqueeze', inputs: ['x', 'k'] }, { op: 'Split', inputs: ['x', 'k'] }])
    expect(() => checkTensorRt(modelOf(n))).not.toThrow();
});
