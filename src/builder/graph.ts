/** A graph under construction: nodes in order, weights streamed to a file, small constants inline. */
import { OxygenError } from '../core/errors';
import type { AttributeValue, Body, Dim, Elem, External, Initializer, Model, Node, ValueInfo } from './onnx';
import type { WeightRange, WeightsFile } from './weights-file';

/** A value's name in the graph. */
export type Value = string;

type Attributes = Readonly<Record<string, AttributeValue>>;

/** Operators whose constant second input ONNX Runtime packs. */
const PRODUCTS = new Set(['MatMul', 'FusedMatMul', 'MatMulInteger']);

/** A product whose weight ONNX Runtime packs at load, and that weight. */
export interface PackedProduct {
  readonly node: Node;
  readonly weight: Initializer & { readonly external: External };
}

/** Type and shape of a value that a loop carries or collects. */
export interface Typed {
  readonly elem: Elem;
  readonly dims: readonly Dim[];
}

/** A value that a loop carries from turn to turn. */
export interface Carried extends Typed {
  /** Before the first turn. */
  readonly from: Value;
}

/** What one turn of a loop makes. */
export interface Turn {
  /** The carried values for the next turn, in order. */
  readonly carried: readonly Value[];
  /** Stacked over the turns on a new first axis. */
  readonly collected: readonly Value[];
}

export class Graph {
  readonly #name: string;
  readonly #weights: WeightsFile;
  #nodes: Node[] = [];
  readonly #used = new Set<Value>();
  #made = 0;
  readonly #initializers: Initializer[] = [];
  readonly #names = new Set<string>();
  readonly #inputs: ValueInfo[] = [];
  readonly #outputs: ValueInfo[] = [];

  constructor(name: string, weights: WeightsFile) {
    this.#name = name;
    this.#weights = weights;
  }

  input(name: string, elem: Elem, dims: readonly Dim[]): Value {
    this.#inputs.push({ name, elem, dims });
    return name;
  }

  /**
   * Gives `value`, which nothing has used yet, a stable name at the graph's border, and returns that name. The node
   * that makes it is renamed: an Identity would copy it at every run. A value that is at the border already gets one.
   */
  output(name: Value, value: Value, elem: Elem, dims: readonly Dim[]): Value {
    const atBorder = [...this.#inputs, ...this.#outputs].some(v => v.name === value);
    this.#outputs.push({ name, elem, dims });
    if (atBorder) {
      this.#add({
        op: 'Identity',
        domain: '',
        name: `out/${name}`,
        inputs: [value],
        outputs: [name],
        attributes: {},
      });
      return value;
    }
    const at = this.#nodes.findIndex(n => n.outputs.includes(value));
    const maker = this.#nodes[at];
    if (!maker || this.#used.has(value))
      throw new OxygenError('INTERNAL', `${value} cannot become the output ${name}: it is in use`);
    this.#nodes[at] = { ...maker, outputs: maker.outputs.map(n => (n === value ? name : n)) };
    return name;
  }

  /** The value of one of two branches; only the chosen one is computed. */
  either(
    condition: Value,
    elem: Elem,
    dims: readonly Dim[],
    whenTrue: () => Value,
    whenFalse: () => Value,
  ): Value {
    const branch = (build: () => Value) => this.#body([], () => [{ name: build(), elem, dims }]);
    const attributes = { then_branch: branch(whenTrue), else_branch: branch(whenFalse) };
    return this.op('If', [condition], attributes);
  }

  /**
   * Runs `turn` as often as `turns` (int64 [1]) says. Returns the carried values after the last turn, then those that
   * were collected, [turns, …]. The turn is an int64 [] inside.
   */
  loop(
    turns: Value,
    carried: readonly Carried[],
    collected: readonly Typed[],
    turn: (index: Value, carried: readonly Value[]) => Turn,
  ): Value[] {
    const id = this.#made++;
    const index: ValueInfo = { name: `turn_${id}`, elem: 'int64', dims: [] };
    const go: ValueInfo = { name: `go_${id}`, elem: 'bool', dims: [] };
    const before = carried.map(({ elem, dims }, i) => ({ name: `carried_${id}.${i}`, elem, dims }));
    const typed = [...carried, ...collected];
    const body = this.#body([index, go, ...before], () => {
      const names = before.map(v => v.name);
      const made = turn(index.name, names);
      const values = this.#ownNames([go.name, ...made.carried, ...made.collected]);
      return values.map((name, i) => {
        const { elem, dims } = i === 0 ? go : (typed[i - 1] as Typed);
        return { name, elem, dims };
      });
    });
    // no condition: it ends by the number of turns
    const inputs = [turns, '', ...carried.map(v => v.from)];
    return this.ops('Loop', inputs, carried.length + collected.length, { body });
  }

  op(op: string, inputs: readonly Value[], attributes: Attributes = {}): Value {
    return this.#node('', op, inputs, 1, attributes)[0] as Value;
  }

  ops(op: string, inputs: readonly Value[], outputs: number, attributes: Attributes = {}): Value[] {
    return this.#node('', op, inputs, outputs, attributes);
  }

  /** An ONNX Runtime operator that standard ONNX lacks. */
  contrib(op: string, inputs: readonly Value[], attributes: Attributes = {}): Value {
    return this.#node('com.microsoft', op, inputs, 1, attributes)[0] as Value;
  }

  /** A float32 weight in the external file. */
  weight(name: string, dims: readonly number[], values: Float32Array): Value {
    return this.shared(name, 'float', dims, this.#weights.append(values));
  }

  /** A weight of bytes in the external file. */
  bytes(name: string, dims: readonly number[], values: Uint8Array): Value {
    return this.shared(name, 'uint8', dims, this.#weights.append(values));
  }

  /** A weight that is in the file already. */
  shared(name: string, elem: Elem, dims: readonly number[], range: WeightRange): Value {
    const external = { location: range.file, offset: range.offset, length: range.bytes };
    this.#initializers.push({ name, elem, dims, external });
    this.#names.add(name);
    return name;
  }

  /** Whether a weight or constant of that name is there. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  initializer(name: Value): Initializer {
    const found = this.#initializers.find(t => t.name === name);
    if (!found) throw new OxygenError('INTERNAL', `the graph ${this.#name} has no constant ${name}`);
    return found;
  }

  /** The products with a weight, in order. */
  packedProducts(): PackedProduct[] {
    const weights = new Map(this.#initializers.map(t => [t.name, t]));
    return this.#nodes.flatMap(node => {
      const weight = PRODUCTS.has(node.op) ? weights.get(node.inputs[1] ?? '') : undefined;
      return weight && 'external' in weight ? [{ node, weight }] : [];
    });
  }

  /** Tells where ONNX Runtime finds its packed copy of a weight. */
  setPrepacked(name: string, prepacked: string): void {
    const weight = this.initializer(name);
    if ('external' in weight) {
      const external = { ...weight.external, prepacked };
      this.#initializers[this.#initializers.indexOf(weight)] = { ...weight, external };
    }
  }

  /** An int64 vector; equal ones are stored once. */
  ints(...values: readonly number[]): Value {
    return this.#constant(
      `ints/${values.join(',')}`,
      'int64',
      [values.length],
      BigInt64Array.from(values, BigInt),
    );
  }

  /** An int64 scalar. */
  int(value: number): Value {
    return this.#constant(`int/${value}`, 'int64', [], BigInt64Array.of(BigInt(value)));
  }

  /** A uint8 scalar. */
  byte(value: number): Value {
    return this.#constant(`byte/${value}`, 'uint8', [], Uint8Array.of(value));
  }

  /** A float32 scalar. */
  scalar(value: number): Value {
    return this.#constant(`float/${value}`, 'float', [], Float32Array.of(value));
  }

  model(producerVersion: string): Model {
    return {
      name: this.#name,
      producerVersion,
      inputs: this.#inputs,
      outputs: this.#outputs,
      nodes: this.#nodes,
      initializers: this.#initializers,
    };
  }

  #body(inputs: readonly ValueInfo[], build: () => ValueInfo[]): Body {
    const around = this.#nodes;
    this.#nodes = [];
    const outputs = build();
    const body = { nodes: this.#nodes, inputs, outputs };
    this.#nodes = around;
    return body;
  }

  /** A body's outputs must be made in it, each once. */
  #ownNames(values: readonly Value[]): Value[] {
    const made = new Set(this.#nodes.flatMap(n => n.outputs));
    return values.map(value => (made.delete(value) ? value : this.op('Identity', [value])));
  }

  #node(
    domain: Node['domain'],
    op: string,
    inputs: readonly Value[],
    count: number,
    attributes: Attributes,
  ): Value[] {
    const name = `${op}_${this.#made++}`;
    const outputs = Array.from({ length: count }, (_, i) => (count === 1 ? name : `${name}.${i}`));
    this.#add({ op, domain, name, inputs, outputs, attributes });
    return outputs;
  }

  #add(node: Node): void {
    this.#nodes.push(node);
    node.inputs.forEach(v => this.#used.add(v));
  }

  #constant(
    name: string,
    elem: Elem,
    dims: readonly number[],
    values: BigInt64Array | Float32Array | Uint8Array,
  ): Value {
    if (!this.#names.has(name)) {
      const raw = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
      this.#initializers.push({ name, elem, dims, raw });
      this.#names.add(name);
    }
    return name;
  }
}
