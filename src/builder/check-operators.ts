/** Checks a graph against a list of operators, and finds the element type of every value on the way. */
import { OxygenError } from '../core/errors';
import { ELEM, type Body, type Elem, type Model, type Node } from './onnx';

/** What a provider has of an operator. */
export interface Operator {
  readonly domain: Node['domain'];
  readonly since: number;
  /** Element types by input; the last entry stands for all further inputs. */
  readonly inputs: readonly (readonly Elem[])[];
  /** Type of each output: that of an input, by number, or a fixed one; the last entry stands for all further outputs. */
  readonly outputs: readonly (number | Elem)[];
}

/** The element type of every value of a graph, inside its bodies too. */
export type Types = ReadonlyMap<string, Elem>;

/**
 * @throws OxygenError MODEL_UNSUPPORTED naming the first node whose operator or element types `operators` lacks;
 * `otherwise`: what would come of it.
 */
export function checkOperators(
  model: Model,
  operators: ReadonlyMap<string, Operator>,
  provider: string,
  otherwise = 'it would leave the GPU in the middle of the graph',
): Types {
  const types = new Map<string, Elem>();
  for (const { name, elem } of [...model.inputs, ...model.initializers]) types.set(name, elem);
  const visit = (nodes: readonly Node[]) => {
    for (const node of nodes) {
      const refuse = (why: string) =>
        new OxygenError(
          'MODEL_UNSUPPORTED',
          `${model.name}.onnx: ${node.op} ${node.name}: ${why}; ${otherwise}`,
        );
      const operator = operators.get(node.op);
      if (operator?.domain !== node.domain) throw refuse(`${provider} has no such operator`);
      node.inputs.forEach((input, i) => {
        if (input === '') return;
        const elem = types.get(input);
        const allowed = operator.inputs[i] ?? operator.inputs.at(-1) ?? [];
        if (!elem) throw refuse(`its input ${input} is made nowhere before it`);
        if (!allowed.includes(elem)) throw refuse(`${provider} does not take ${elem} as input ${i}`);
      });
      for (const body of bodiesOf(node)) {
        for (const { name, elem } of body.inputs) types.set(name, elem);
        visit(body.nodes);
        body.outputs.forEach(({ name, elem }) => {
          if (types.get(name) !== elem) throw refuse(`${name} of its body is no ${elem}`);
        });
      }
      resultTypes(node, operator, types).forEach((elem, i) => types.set(node.outputs[i] as string, elem));
    }
  };
  visit(model.nodes);
  for (const { name, elem } of model.outputs)
    if (types.get(name) !== elem)
      throw new OxygenError('INTERNAL', `${model.name}.onnx: output ${name} is no ${elem}`);
  return types;
}

export const bodiesOf = (node: Node): Body[] =>
  Object.values(node.attributes).filter((a): a is Body => typeof a === 'object' && 'nodes' in a);

function resultTypes(node: Node, operator: Operator, types: Types): Elem[] {
  const [body] = bodiesOf(node);
  // the first output of a loop's body is its condition
  if (body) return body.outputs.slice(node.op === 'Loop' ? 1 : 0).map(o => o.elem);
  return node.outputs.map((_, i) => {
    const from = operator.outputs[i] ?? operator.outputs.at(-1);
    if (typeof from === 'number') return types.get(node.inputs[from] as string) as Elem;
    return from ?? castTo(node);
  });
}

function castTo(node: Node): Elem {
  const to = Object.entries(ELEM).find(([, code]) => BigInt(code) === node.attributes['to']);
  if (!to) throw new OxygenError('INTERNAL', `${node.name} does not say its type`);
  return to[0] as Elem;
}

/** How often each operator occurs, in bodies too; the most frequent first. */
export function histogram(model: Model): [operator: string, count: number][] {
  const counts = new Map<string, number>();
  const visit = (nodes: readonly Node[]) => {
    for (const node of nodes) {
      counts.set(node.op, (counts.get(node.op) ?? 0) + 1);
      for (const body of bodiesOf(node)) visit(body.nodes);
    }
  };
  visit(model.nodes);
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
}

/** Which part of a graph's constants, in bytes, is float16. */
export function halfShare({ initializers }: Model): number {
  const bytes = (all: Model['initializers']) =>
    all.reduce((sum, t) => sum + ('external' in t ? t.external.length : t.raw.byteLength), 0);
  return bytes(initializers.filter(t => t.elem === 'float16')) / bytes(initializers);
}
