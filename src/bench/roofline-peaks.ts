/** What ONNX Runtime can do on this machine: its fastest matrix product and its fastest pass over memory. */
import * as ort from 'onnxruntime-node';
import { encodeModel, type Initializer, type Node, type ValueInfo } from '../builder/onnx';
import type { Manifest } from '../model/manifest';
import { layerProducts, type Peaks, type Product } from './roofline';
import { sessionOptions, type Pool } from '../engine/session-options';

/** The machine may be shared: rounds of either kind go on for so long, and the fastest counts. */
const BUDGET_MS = 2500;
const MIN_ROUNDS = 3;
/** Larger weights are cut to this many values: a peak needs no more. */
const MAX_WEIGHT = 8 << 20;
/** Far more than any cache holds. */
const STREAM_BYTES = 256 << 20;
/** Weights of the packed pattern: parts of [rows, columns]. */
const PACKED_ROWS = 2048;
const PACKED_PARTS = 4;
const SQUARE: Product = { rows: 1024, into: 1024, out: 1024 };

type Constant = Extract<Initializer, { raw: Uint8Array }>;

/** A run to be timed, and how much it does. */
interface Probe {
  readonly label: string;
  readonly work: number;
  readonly run: () => Promise<unknown>;
  readonly release: () => Promise<void>;
}

/**
 * Peaks of a session's threads, at the shapes of a prefill of `tokens` positions in the engine's precision.
 * Takes about 6 s and 800 MB.
 */
export async function measurePeaks(
  manifest: Pick<Manifest, 'model' | 'precision'>,
  tokens: number,
  pool: Pool,
  budgetMs = BUDGET_MS,
): Promise<Peaks> {
  const shapes = [...layerProducts(manifest.model, tokens).map(cut), SQUARE];
  const gemm = await best(
    budgetMs,
    await opened(shapes.map(s => () => product(s, manifest.precision, pool))),
  );
  const stream = await best(budgetMs, await opened(streams(pool)));
  return {
    threads: pool.threads,
    gemm_gflops: gemm.rate / 1e9,
    gemm_shape: gemm.label,
    bandwidth_gb_s: stream.rate / 1e9,
    bandwidth_pattern: stream.label,
  };
}

const cut = ({ rows, into, out }: Product): Product => ({
  rows,
  into,
  out: Math.max(1, Math.min(out, Math.floor(MAX_WEIGHT / into))),
});

/** One after the other; when one cannot be had the others are released. */
async function opened(probes: readonly (() => Promise<Probe>)[]): Promise<readonly Probe[]> {
  const open: Probe[] = [];
  try {
    for (const probe of probes) open.push(await probe());
    return open;
  } catch (error) {
    for (const probe of open) await probe.release();
    throw error;
  }
}

/** The highest rate per second of all probes, run in turns for `budgetMs`. Releases them. */
async function best(budgetMs: number, probes: readonly Probe[]): Promise<{ label: string; rate: number }> {
  let found = { label: '', rate: 0 };
  try {
    for (const probe of probes) await probe.run();
    const end = performance.now() + budgetMs;
    for (let round = 0; round < MIN_ROUNDS || performance.now() < end; round++) {
      for (const { label, work, run } of probes) {
        const start = performance.now();
        await run();
        const rate = work / ((performance.now() - start) / 1000);
        if (rate > found.rate) found = { label, rate };
      }
    }
  } finally {
    for (const probe of probes) await probe.release();
  }
  return found;
}

/** x [rows, into] · constant [into, out]; only the first row leaves the graph. */
async function product(p: Product, precision: Manifest['precision'], pool: Pool): Promise<Probe> {
  const int8 = precision === 'int8';
  const weight = constant('w', int8 ? 'uint8' : 'float', [p.into, p.out], 1);
  const multiply = int8
    ? node('MatMulInteger', ['x', 'w', 'zero', 'zero'], 'y')
    : node('MatMul', ['x', 'w'], 'y');
  const ends = ['start', 'end'].map((name, i) => int64(name, [i]));
  const session = await open(
    {
      input: { name: 'x', elem: int8 ? 'uint8' : 'float', dims: [p.rows, p.into] },
      output: { elem: int8 ? 'int32' : 'float', dims: [1, p.out] },
      nodes: [multiply, node('Slice', ['y', ...ends.map(e => e.name)], 'out')],
      initializers: [weight, ...ends, { name: 'zero', elem: 'uint8', dims: [], raw: Uint8Array.of(128) }],
    },
    pool,
  );
  const x = constant('x', int8 ? 'uint8' : 'float', [p.rows, p.into], 2);
  const feed = int8
    ? new ort.Tensor('uint8', x.raw, [p.rows, p.into])
    : new ort.Tensor('float32', new Float32Array(x.raw.buffer), [p.rows, p.into]);
  return {
    label: `${p.rows}×${p.into}×${p.out}`,
    work: 2 * p.rows * p.into * p.out,
    run: () => session.run({ x: feed }),
    release: () => session.release(),
  };
}

/** Passes over STREAM_BYTES that only read. */
function streams(pool: Pool): readonly (() => Promise<Probe>)[] {
  const into = 4096;
  const rows = STREAM_BYTES / 4 / into;
  const matrix = {
    x: new ort.Tensor('float32', new Float32Array(rows * into).fill(0.5), [rows, into]),
  };
  const input = { name: 'x', elem: 'float', dims: [rows, into] } as const;
  const vector = constant('v', 'float', [1, into], 1);
  const probe =
    (label: string, io: Io, feeds: ort.InferenceSession.FeedsType) => async (): Promise<Probe> => {
      const session = await open(io, pool);
      return { label, work: STREAM_BYTES, run: () => session.run(feeds), release: () => session.release() };
    };
  const largest = node('ReduceMax', ['x'], 'out', { keepdims: 0n });
  const fed = { ...node('FusedMatMul', ['v', 'x'], 'out', { transB: 1n }), domain: 'com.microsoft' } as const;
  return [
    probe('largest value', { input, output: { elem: 'float', dims: [] }, nodes: [largest], initializers: [] }, matrix),
    probe('row times matrix', { input, output: { elem: 'float', dims: [1, rows] }, nodes: [fed], initializers: [vector] }, matrix),
    probe('row times packed weights', packedWeights(), { x: new ort.Tensor('float32', new Float32Array(PACKED_ROWS).fill(1), [1, PACKED_ROWS]) }),
  ]; // prettier-ignore
}

/** STREAM_BYTES of weights as a decode step reads them. They are made in the graph, which keeps the model small. */
function packedWeights(): Io {
  const columns = STREAM_BYTES / 4 / PACKED_ROWS / PACKED_PARTS;
  const parts = Array.from({ length: PACKED_PARTS }, (_, i) => i);
  return {
    input: { name: 'x', elem: 'float', dims: [1, PACKED_ROWS] },
    output: { elem: 'float', dims: [] },
    nodes: [
      ...parts.flatMap(i => [
        node('Expand', [`value${i}`, 'shape'], `w${i}`),
        node('MatMul', ['x', `w${i}`], `y${i}`),
        node('ReduceMax', [`y${i}`], `largest${i}`, { keepdims: 0n }),
      ]),
      node('Max', parts.map(i => `largest${i}`), 'out'),
    ], // prettier-ignore
    initializers: [
      int64('shape', [PACKED_ROWS, columns]),
      // equal parts would be merged into one
      ...parts.map(i => constant(`value${i}`, 'float', [1], i)),
    ],
  };
}

/** A model with the input `x` or another name and the output `out`. */
interface Io {
  readonly input: ValueInfo;
  readonly output: Omit<ValueInfo, 'name'>;
  readonly nodes: readonly Node[];
  readonly initializers: readonly Initializer[];
}

const open = ({ input, output, nodes, initializers }: Io, pool: Pool): Promise<ort.InferenceSession> =>
  ort.InferenceSession.create(
    encodeModel({
      name: 'peak',
      producerVersion: '1',
      inputs: [input],
      outputs: [{ name: 'out', ...output }],
      nodes,
      initializers,
    }),
    sessionOptions(pool),
  );

const node = (
  op: string,
  inputs: readonly string[],
  output: string,
  attributes: Node['attributes'] = {},
): Node => ({ op, domain: '', name: output, inputs, outputs: [output], attributes });

const int64 = (name: string, values: readonly number[]): Constant => ({
  name,
  elem: 'int64',
  dims: [values.length],
  raw: new Uint8Array(BigInt64Array.from(values, BigInt).buffer),
});

/** All values equal; another `seed`, another value. */
function constant(name: string, elem: 'float' | 'uint8', dims: readonly number[], seed: number): Constant {
  const count = dims.reduce((a, b) => a * b, 1);
  const raw =
    elem === 'uint8'
      ? new Uint8Array(count).fill(129 + seed)
      : new Uint8Array(new Float32Array(count).fill(0.5 + seed / 8).buffer);
  return { name, elem, dims, raw };
}
