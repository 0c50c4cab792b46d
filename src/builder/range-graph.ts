/**
 * A graph that also says how large its float16 values become: a CPU computes them in float32, so what overflows on a GPU
 * passes there unseen. For each value that a node makes there is one more output, Max |x|; in a loop, one for each turn.
 */
import { RANGE_PREFIX } from '../model/ranges';
import type { Types } from './check-operators';
import { ELEM, type Body, type Initializer, type Model, type Node, type ValueInfo } from './onnx';

export function rangeModel(model: Model, types: Types): Model {
  const label = labels(model);
  const { nodes, ranges } = measured(model.nodes, types, label);
  return { ...model, name: `${model.name}.ranges`, nodes, outputs: [...model.outputs, ...ranges] };
}

interface Measured {
  readonly nodes: readonly Node[];
  readonly ranges: readonly ValueInfo[];
}

function measured(nodes: readonly Node[], types: Types, label: (value: string) => string): Measured {
  const all: Node[] = [];
  const ranges: ValueInfo[] = [];
  for (const node of nodes) {
    const { body } = node.attributes;
    if (typeof body === 'object' && 'nodes' in body) {
      const inside = measured(body.nodes, types, label);
      all.push(looped(node, body, inside));
      ranges.push(...inside.ranges.map(range => ({ ...range, dims: ['turns'] })));
    } else {
      all.push(node);
      for (const value of node.outputs.filter(v => types.get(v) === 'float16')) {
        const name = RANGE_PREFIX + label(value);
        all.push(...maximum(value, name));
        ranges.push({ name, elem: 'float', dims: [] });
      }
    }
  }
  return { nodes: all, ranges };
}

/** The loop with the maxima of its body collected; outside they keep their names. */
function looped(node: Node, body: Body, inside: Measured): Node {
  const within = (name: string) => `in loop: ${name}`;
  const names = new Set(inside.ranges.map(r => r.name));
  const rename = (n: Node) => ({ ...n, outputs: n.outputs.map(o => (names.has(o) ? within(o) : o)) });
  return {
    ...node,
    outputs: [...node.outputs, ...names],
    attributes: {
      ...node.attributes,
      body: {
        ...body,
        nodes: inside.nodes.map(rename),
        outputs: [...body.outputs, ...inside.ranges.map(r => ({ ...r, name: within(r.name) }))],
      },
    },
  };
}

function maximum(value: string, name: string): Node[] {
  const steps = ['Cast', 'Abs', 'ReduceMax'];
  const made = (i: number) => (i < 0 ? value : i === steps.length - 1 ? name : `${name} ${steps[i]}`);
  return steps.map((op, i) => ({
    op,
    domain: '',
    name: `${name} ${op}`,
    inputs: [made(i - 1)],
    outputs: [made(i)],
    attributes: op === 'Cast' ? { to: BigInt(ELEM.float) } : op === 'ReduceMax' ? { keepdims: 0n } : {},
  }));
}

/** `value (weight)`: the last weight among the first inputs that lead to the value. */
function labels({ nodes, initializers }: Model): (value: string) => string {
  const external = (t: Initializer) => 'external' in t;
  const weights = new Set(initializers.filter(external).map(t => t.name));
  const nearest = new Map<string, string>();
  const visit = (all: readonly Node[]) => {
    for (const node of all) {
      const { body } = node.attributes;
      if (typeof body === 'object' && 'nodes' in body) visit(body.nodes);
      const weight = node.inputs.find(v => weights.has(v)) ?? nearest.get(node.inputs[0] ?? '');
      if (weight !== undefined) node.outputs.forEach(v => nearest.set(v, weight));
    }
  };
  visit(nodes);
  return value => `${value} (${nearest.get(value) ?? 'an input'})`;
}
