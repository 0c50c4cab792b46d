/** x·Wᵀ in the engine's precision: where float32 and int8 engines differ. */
import type { Graph, Value } from './graph';
import { quantized, transposed, width, type Stack, type WeightSource } from './linear-weights';
import type { WeightRange } from './weights-file';

export interface Products extends WeightSource {
  /** x [.., in] times the tensors of `stack` → [.., Σ out]. `label` names the weight in the graph. */
  product(g: Graph, x: Value, label: string, stack: Stack): Value;
  /** Logits: x [.., width] times the embedding table [vocab, width], which lies at `at` in float32 or as the host reads it. */
  logits(g: Graph, x: Value, table: Stack, at: WeightRange): Value;
}

/** Packing a weight takes its size twice in memory; pi0.5's table has 2 GB. */
const MAX_WEIGHT_BYTES = 512 * 1024 * 1024;
/** Slices begin at a page, so that they can be mapped. */
const ROWS_OF_PAGES = 1024;

/** Float32 weights; logits use the table that the host reads embeddings from. */
export function fp32Products(source: WeightSource, maxWeightBytes = MAX_WEIGHT_BYTES): Products {
  return {
    ...delegate(source),
    product: (g, x, label, stack) => {
      const weight = g.weight(label, [stack.into, width(stack)], transposed(source, stack));
      return g.op('MatMul', [x, weight]);
    },
    logits: (g, x, { names: [name = ''], into, outs: [vocab = 0] }, at) => {
      const step = ROWS_OF_PAGES * Math.max(1, Math.floor(maxWeightBytes / (4 * into * ROWS_OF_PAGES)));
      const slices: Value[] = [];
      for (let first = 0; first < vocab; first += step) {
        const rows = Math.min(step, vocab - first);
        const range = { file: at.file, offset: at.offset + 4 * into * first, bytes: 4 * into * rows };
        const slice = g.shared(`${name}/${first}`, 'float', [rows, into], range);
        slices.push(g.contrib('FusedMatMul', [x, slice], { transB: 1n }));
      }
      return slices.length === 1 ? (slices[0] as Value) : g.op('Concat', slices, { axis: -1n });
    },
  };
}

const ZERO_POINT = 128;
const FLOAT = 1n;
const UINT8 = 2n;
/** How much finer the second byte of an activation is: the rest is at most half a step, 127 codes each way. */
const FINER = 254;

/**
 * 8-bit weights with a scale per output, activations of one or two bytes with a scale per row, sums in 32-bit integers.
 * A row's scale depends on that row alone, so in a batch it gets the bits that it gets alone. Both sides are unsigned
 * around 128: with signed weights ONNX Runtime's kernel for CPUs without VNNI saturates in 16 bits.
 *
 * Two bytes cost little where few rows meet many weights, and remove most of the error.
 */
export function int8Products(source: WeightSource, activationBytes: 1 | 2): Products {
  const product = (g: Graph, x: Value, label: string, stack: Stack) => {
    const { codes, scales } = quantized(source, stack);
    const outs = width(stack);
    const weight = g.bytes(label, [stack.into, outs], codes);
    const zero = g.byte(ZERO_POINT);
    const sums = (rows: Value) =>
      g.op('Cast', [g.op('MatMulInteger', [rows, weight, zero, zero])], { to: FLOAT });
    const scale = rowScale(g, x);
    const coarse = toCodes(g, x, scale);
    const unscaled = activationBytes === 1 ? sums(coarse) : fineSums(g, x, scale, coarse, sums);
    return g.op('Mul', [g.op('Mul', [unscaled, scale]), g.weight(`${label}.scale`, [outs], scales)]);
  };
  return { ...delegate(source), product, logits: (g, x, table) => product(g, x, 'lm_head', table) };
}

/** Both bytes as rows of one product, so that the weights are read once. */
function fineSums(g: Graph, x: Value, scale: Value, coarse: Value, sums: (rows: Value) => Value): Value {
  const steps = g.op('Sub', [g.op('Cast', [coarse], { to: FLOAT }), g.scalar(ZERO_POINT)]);
  const rest = g.op('Sub', [x, g.op('Mul', [steps, scale])]);
  const fine = toCodes(g, rest, g.op('Mul', [scale, g.scalar(1 / FINER)]));
  const both = sums(g.op('Concat', [coarse, fine], { axis: -2n }));
  const [high, low] = g.ops('Split', [both], 2, { axis: -2n, num_outputs: 2n }) as [Value, Value];
  return g.op('Add', [high, g.op('Mul', [low, g.scalar(1 / FINER)])]);
}

/** [.., K] → [.., 1]: the largest magnitude of each row becomes 127. */
function rowScale(g: Graph, x: Value): Value {
  const largest = g.op('ReduceMax', [g.op('Abs', [x]), g.ints(-1)], { keepdims: 1n });
  // a row of zeros has no scale of its own; any will do
  return g.op('Mul', [g.op('Max', [largest, g.scalar(1e-30)]), g.scalar(1 / 127)]);
}

/** 128 + round(x / scale), 1..255. The cast cuts the fraction off, so half a step is added before it. */
const toCodes = (g: Graph, x: Value, scale: Value): Value =>
  g.op('Cast', [g.op('Add', [g.op('Div', [x, scale]), g.scalar(ZERO_POINT + 0.5)])], { to: UINT8 });

const delegate = (source: WeightSource): WeightSource => ({
  read: name => source.read(name),
  readRows: (name, first, count) => source.readRows(name, first, count),
});
