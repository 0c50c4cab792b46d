/** The weights of one graph for TensorRT and the products with them; a weight that is used again is stored once. */
import { fromFloat32 } from '../safetensors-floats';
import type { Graph, Value } from '../graph';
import { forRows, transposed, width, type Stack, type WeightSource } from '../linear-weights';
import type { AttributeValue, Elem } from '../onnx';
import type { WeightsFile } from '../weights-file';

/** Of weights and of both sides of products. All else is float32. */
export type ProductElem = Extract<Elem, 'float' | 'float16'>;

const FLOAT = 1n;
const FLOAT16 = 10n;

/** Operators that move values and compute nothing. */
type Move = 'Concat' | 'Transpose' | 'Unsqueeze';

export class Layers {
  readonly source: WeightSource;
  readonly #g: Graph;
  readonly #file: WeightsFile;
  readonly #elem: ProductElem;
  readonly #stored = new Set<Value>();
  /** Values that are in the type of products already. */
  readonly #ready = new Set<Value>();

  constructor(g: Graph, file: WeightsFile, source: WeightSource, elem: ProductElem) {
    this.source = source;
    this.#g = g;
    this.#file = file;
    this.#elem = elem;
  }

  /** A float32 weight. */
  floats(name: string, dims: readonly number[], values: () => Float32Array): Value {
    return this.#once(name, () => this.#g.weight(name, dims, values()));
  }

  /** An int32 vector; the graph's own ones are int64. */
  ints32(name: string, values: Int32Array): Value {
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    const store = () => this.#g.shared(name, 'int32', [values.length], this.#file.append(bytes));
    return this.#once(name, store);
  }

  /** x [.., in] float32 times the tensors of `stack` → [.., Σ out] float32. */
  product(x: Value, label: string, stack: Stack): Value {
    const store = () => {
      const at = this.#file.append(this.#bytes(transposed(this.source, stack)));
      return this.#g.shared(label, this.#elem, [stack.into, width(stack)], at);
    };
    this.#ready.add(this.#once(label, store));
    return this.matmul(x, label);
  }

  /** x·Wᵀ without bias. */
  project(x: Value, name: string, into: number, out: number): Value {
    return this.product(x, name, { names: [`${name}.weight`], into, outs: [out] });
  }

  /** x·Wᵀ + b. */
  linear(x: Value, name: string, into: number, out: number): Value {
    return this.#g.op('Add', [this.project(x, name, into, out), this.#bias(name, out)]);
  }

  /** x·Wᵀ + b in float32: for the small products at the border of a graph. */
  exactLinear(x: Value, name: string, into: number, out: number): Value {
    const stack = { names: [`${name}.weight`], into, outs: [out] };
    const weight = this.floats(name, [into, out], () => transposed(this.source, stack));
    return this.#g.op('Add', [this.#g.op('MatMul', [x, weight]), this.#bias(name, out)]);
  }

  /** A product whose sides are float32 or already as products take them; the result is float32. */
  matmul(a: Value, b: Value): Value {
    return this.#float(this.#g.op('MatMul', [this.ready(a), this.ready(b)]));
  }

  /** As products take it. */
  ready(x: Value): Value {
    if (this.#elem === 'float' || this.#ready.has(x)) return x;
    return this.#made(this.#g.op('Cast', [x], { to: FLOAT16 }));
  }

  /** Moves values in the type of products; `how`: further inputs. */
  moved(
    op: Move,
    values: readonly Value[],
    how: readonly Value[],
    attributes: Readonly<Record<string, AttributeValue>> = {},
  ): Value {
    return this.#made(this.#g.op(op, [...values.map(v => this.ready(v)), ...how], attributes));
  }

  /** A table [vocab, width], for rows and for logits. */
  table(name: string, vocab: number, into: number): Value {
    const stack = { names: [name], into, outs: [vocab] };
    return this.#once(name, () => {
      const at = this.#file.stream(append => forRows(this.source, stack, rows => append(this.#bytes(rows))));
      return this.#g.shared(name, this.#elem, [vocab, into], at);
    });
  }

  /** Rows of a table [vocab, width] → float32 [.., width]. */
  rows(table: Value, ids: Value): Value {
    return this.#float(this.#g.op('Gather', [table, ids], { axis: 0n }));
  }

  /** x [1, width] times a table [vocab, width] → float32 [1, vocab]. */
  logits(x: Value, table: Value): Value {
    return this.#float(this.#g.op('Gemm', [this.ready(x), table], { transB: 1n }));
  }

  #bias(name: string, out: number): Value {
    return this.floats(`${name}.bias`, [out], () => this.source.read(`${name}.bias`));
  }

  #bytes(values: Float32Array): Uint8Array {
    return fromFloat32(values, this.#elem === 'float' ? 'F32' : 'F16');
  }

  #float(x: Value): Value {
    return this.#elem === 'float' ? x : this.#g.op('Cast', [x], { to: FLOAT });
  }

  #made(value: Value): Value {
    this.#ready.add(value);
    return value;
  }

  #once(name: Value, store: () => Value): Value {
    if (!this.#stored.has(name)) this.#stored.add(store());
    return name;
  }
}
