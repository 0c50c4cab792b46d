/**
 * The weights of the float16 graphs in one file: each is written once, however many graphs use it. Matrices, tables and
 * biases are float16, rounded to nearest even; what norms and rotary angles need is float32.
 */
import { OxygenError } from '../../core/errors';
import type { Graph, Value } from '../graph';
import { forRows, transposed, width, type Stack, type WeightSource } from '../linear-weights';
import type { Elem } from '../onnx';
import { fromFloat32 } from '../safetensors-floats';
import type { WeightRange, WeightsFile } from '../weights-file';

/** The first magnitude that rounds to infinity. */
const OVERFLOW = 65520;

export class HalfWeights {
  readonly #source: WeightSource;
  readonly #file: WeightsFile;
  readonly #written = new Map<string, WeightRange>();

  constructor(source: WeightSource, file: WeightsFile) {
    this.#source = source;
    this.#file = file;
  }

  /** [in, Σ out] of a stack of [out, in] tensors, for x·Wᵀ. */
  matrix(g: Graph, label: string, stack: Stack): Value {
    return this.#once(g, label, 'float16', [stack.into, width(stack)], append =>
      append(toHalf(transposed(this.#source, stack), label)),
    );
  }

  /** [rows, width] as it is in the checkpoint. */
  table(g: Graph, name: string, rows: number, columns: number): Value {
    const stack = { names: [name], into: columns, outs: [rows] };
    return this.#once(g, name, 'float16', [rows, columns], append =>
      forRows(this.#source, stack, values => append(toHalf(values, name))),
    );
  }

  /** Tensors one after the other, as one vector. */
  vector(g: Graph, label: string, names: readonly string[], length: number): Value {
    return this.#once(g, label, 'float16', [length], append => {
      for (const name of names) append(toHalf(this.#source.read(name), name));
    });
  }

  /** A float32 tensor; `values` makes it from those of the checkpoint's tensor. */
  exact(
    g: Graph,
    name: string,
    dims: readonly number[],
    values: (read: WeightSource['read']) => Float32Array,
  ): Value {
    return this.#once(g, name, 'float', dims, append => append(values(tensor => this.#source.read(tensor))));
  }

  #once(
    g: Graph,
    name: string,
    elem: Elem,
    dims: readonly number[],
    write: (append: (values: Float32Array | Uint8Array) => void) => void,
  ): Value {
    if (g.has(name)) return name;
    const range = this.#written.get(name) ?? this.#file.stream(write);
    this.#written.set(name, range);
    return g.shared(name, elem, dims, range);
  }
}

/** Little-endian float16, rounded to nearest, ties to even. @throws OxygenError MODEL_UNSUPPORTED where it overflows. */
export function toHalf(values: Float32Array, name: string): Uint8Array {
  for (const value of values) {
    if (!(value < OVERFLOW && value > -OVERFLOW)) {
      throw new OxygenError(
        'MODEL_UNSUPPORTED',
        `${name} holds ${value}, float16 ends at 65504; this model runs with --target cpu only`,
      );
    }
  }
  return fromFloat32(values, 'F16');
}
