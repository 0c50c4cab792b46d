/** What the CUDA provider lacks does not get into a graph, and what is in the list is what ONNX has at that opset. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkOperators, histogram } from '../../../src/builder/check-operators';
import { CUDA_OPERATORS } from '../../../src/builder/cuda/operators';
import { Graph, type Value } from '../../../src/builder/graph';
import { WeightsFile } from '../../../src/builder/weights-file';
import { ROOT } from '../../support/engines';
import { build, checkpointOf, temporaryFolder } from './engines';

const dir = temporaryFolder();

const python = (script: string, ...args: string[]) =>
  execFileSync(process.env['OXYGEN_PYTHON'] ?? join(ROOT, '.venv/bin/python'), ['-c', script, ...args], {
    encoding: 'utf8',
  });

it('a kernel is found only for the version of an operator: those of the list are those of opset 23', () => {
  const listed = [...CUDA_OPERATORS].filter(([, o]) => o.domain === '').map(([op, o]) => [op, o.since]);
  const script = `
import json, sys, onnx.defs as d
print(json.dumps([[op, d.get_schema(op, 23).since_version] for op, _ in json.loads(sys.argv[1])]))`;
  expect(JSON.parse(python(script, JSON.stringify(listed)))).toEqual(listed);
});

/** A graph with x float [2], y float16 [2] and what `make` adds. */
function check(make: (g: Graph) => Value): void {
  const folder = mkdtempSync(join(tmpdir(), 'oxygen-operators-'));
  const weights = new WeightsFile(join(folder, 'toy.weights'));
  try {
    const g = new Graph('toy', weights);
    g.input('x', 'float', [2]);
    g.input('y', 'float16', [2]);
    g.input('n', 'int64', [1]);
    make(g);
    checkOperators(g.model('test'), CUDA_OPERATORS, 'the provider');
  } finally {
    weights.close();
    rmSync(folder, { recursive: true });
  }
}

it.each<[string, (g: Graph) => Value, RegExp]>([
  ['an operator that is not there', g => g.op('Equal', ['x', 'x']), /toy.onnx: Equal Equal_0: the provider has no such/],
  ['one of another domain', g => g.contrib('MatMul', ['x', 'x']), /MatMul MatMul_0: the provider has no such operator/],
  ['another element type', g => g.op('Exp', ['n']), /Exp Exp_0: the provider does not take int64 as input 0/],
  ['a type that a cast made', g => g.op('Add', ['y', g.op('Cast', ['y'], { to: 9n })]), /does not take bool as input 1/],
  ['one inside a loop', g => g.loop('n', [{ from: 'x', elem: 'float', dims: [2] }], [],
    (_, [x = '']) => ({ carried: [g.op('Sin', [x])], collected: [] }))[0]!, /Sin Sin_1: the provider has no such/],
])('%s is refused by name', (_, make, message) => {
  expect(() => check(make)).toThrow(
    expect.objectContaining({ code: 'MODEL_UNSUPPORTED', message: expect.stringMatching(message) as string }),
  );
}); // prettier-ignore

it('what the provider has passes, in loops too', () => {
  const loop = (g: Graph) =>
    g.loop('n', [{ from: 'x', elem: 'float', dims: [2] }], [], (_, [x = '']) => ({
      carried: [g.op('Mul', [x, g.op('Exp', [x])])],
      collected: [],
    }))[0]!;
  expect(() => check(loop)).not.toThrow();
});

it('operators are counted, in bodies too', () => {
  const node = (op: string, attributes = {}) => ({ op, domain: '' as const, name: op, inputs: [], outputs: [], attributes });
  const body = { nodes: [node('Add'), node('Mul')], inputs: [], outputs: [] };
  const nodes = [node('Mul'), node('Loop', { body })];
  expect(histogram({ name: 'm', producerVersion: '', inputs: [], outputs: [], initializers: [], nodes })).toEqual([
    ['Mul', 2],
    ['Add', 1],
    ['Loop', 1],
  ]);
}); // prettier-ignore

it.each(['tiny', 'odd'] as const)('checker and shape inference pass on the graphs of %s; 95 %% of the bytes are float16', async name => {
  await build(checkpointOf(name), 'cuda', join(dir, name));
  const script = `
import json, onnx, os, sys
for g in ("frame", "decode", "frame.ranges", "decode.ranges"):
    path, inferred = f"{sys.argv[1]}/{g}.onnx", f"{sys.argv[1]}/inferred.onnx"
    onnx.checker.check_model(path)
    onnx.shape_inference.infer_shapes_path(path, inferred, strict_mode=True, check_type=True)
    os.remove(inferred)
    model = onnx.load(path, load_external_data=False)
    assert model.ir_version == 11 and [(o.domain, o.version) for o in model.opset_import] == [("", 23), ("com.microsoft", 1)]
    size = {10: 2, 1: 4, 7: 8}
    bytes = {10: 0, 1: 0, 7: 0}
    for t in model.graph.initializer:
        n = size[t.data_type]
        for d in t.dims: n *= d
        bytes[t.data_type] += n
    print(bytes[10] / sum(bytes.values()))`;
  const shares = python(script, join(dir, name)).trim().split('\n').map(Number);
  expect(shares).toHaveLength(4);
  shares.forEach(share => expect(share).toBeGreaterThan(0.95));
}); // prettier-ignore
