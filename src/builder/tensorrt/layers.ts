/** Products of one graph for TensorRT: which values are in the type of products, and which in float32. */
import type { HalfWeights } from '../cuda/half-weights';
import type { Graph, Value } from '../graph';
import type { Stack } from '../linear-weights';
import type { AttributeValue, Elem } from '../onnx';

/** Of weights and of both sides of products. All else is float32. */
export type ProductElem = Extract<Elem, 'float' | 'float16'>;

/** Stores weights; matrices and tables in the type of products. */
export type WeightStore = Pick<HalfWeights, 'matrix' | 'table' | 'exact'>;

const FLOAT = 1n;
const FLOAT16 = 10n;

/** Operators that move values and compute nothing. */
type Move = 'Concat' | 'Transpose' | 'Unsqueeze';

export class Layers {
  readonly #g: Graph;
  readonly #weights: WeightStore;
  readonly #elem: ProductElem;
  /** Values that are in the type of products already. */
  readonly #ready = new Set<Value>();

  constructor(g: Graph, weights: WeightStore, elem: ProductElem) {
    this.#g = g;
    this.#weights = weights;
    this.#elem = elem;
  }

  /** A float32 weight; `values` makes it from tensors of the checkpoint. */
  exact(name: string, dims: readonly number[], values: Parameters<WeightStore['exact']>[3]): Value {
    return this.#weights.exact(this.#g, name, dims, values);
  }

  /** x [.., in] times the tensors of `stack` → float32 [.., Σ out]. */
  product(x: Value, label: string, stack: Stack): Value {
    return this.matmul(x, this.#made(this.#weights.matrix(this.#g, label, stack)));
  }

  /** x·Wᵀ without bias. */
  project(x: Value, name: string, into: number, out: number): Value {
    const weight = `${name}.weight`;
    return this.product(x, weight, { names: [weight], into, outs: [out] });
  }

  /** x·Wᵀ + b. */
  linear(x: Value, name: string, into: number, out: number): Value {
    return this.#g.op('Add', [this.project(x, name, into, out), this.bias([name], out)]);
  }

  /** float32 [Σ out] of the biases of `names`. */
  bias(names: readonly string[], length: number): Value {
    return this.exact(`${names.join('+')}.bias/float`, [length], read => {
      const all = new Float32Array(length);
      names.forEach((name, i) => all.set(read(`${name}.bias`), (i * length) / names.length));
      return all;
    });
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

  /** A table [rows, columns]. */
  table(name: string, rows: number, columns: number): Value {
    return this.#weights.table(this.#g, name, rows, columns);
  }

  /** Rows of a table [vocab, width] → float32 [.., width]. */
  rows(table: Value, ids: Value): Value {
    return this.#float(this.#g.op('Gather', [table, ids], { axis: 0n }));
  }

  /** x [1, width] times a table [vocab, width] → float32 [1, vocab]. */
  logits(x: Value, table: Value): Value {
    return this.#float(this.#g.op('Gemm', [this.ready(x), table], { transB: 1n }));
  }

  #float(x: Value): Value {
    return this.#elem === 'float' ? x : this.#g.op('Cast', [x], { to: FLOAT });
  }

  #made(value: Value): Value {
    this.#ready.add(value);
    return value;
  }
}
