/**
 * Writes the ONNX protobuf: only the messages and fields that the engine's graphs need.
 * Field numbers are those of onnx.proto3. Weights live outside, as external data.
 */

/** ONNX element types. */
export const ELEM = { float: 1, uint8: 2, int32: 6, int64: 7, bool: 9, float16: 10 } as const;
export type Elem = keyof typeof ELEM;

export type Dim = number | string;

export interface ValueInfo {
  readonly name: string;
  readonly elem: Elem;
  /** A string is a symbolic dimension. */
  readonly dims: readonly Dim[];
}

/** A branch of an `If` or the body of a `Loop`: it may use every value of the graph around it. */
export interface Body {
  readonly nodes: readonly Node[];
  /** A branch has none. */
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
}

export type AttributeValue = number | bigint | string | readonly bigint[] | Body;

export interface Node {
  readonly op: string;
  readonly domain: '' | 'com.microsoft';
  readonly name: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** number → FLOAT, bigint → INT, string → STRING, bigint[] → INTS, Body → GRAPH. */
  readonly attributes: Readonly<Record<string, AttributeValue>>;
}

export type Initializer =
  | { readonly name: string; readonly elem: Elem; readonly dims: readonly number[]; readonly raw: Uint8Array }
  | {
      readonly name: string;
      readonly elem: Elem;
      readonly dims: readonly number[];
      readonly external: External;
    };

export interface External {
  /** A bare file name beside the model. */
  readonly location: string;
  readonly offset: number;
  readonly length: number;
  /** ONNX Runtime's packed copy of the weight in the same file: `key|offset;length;...`. */
  readonly prepacked?: string;
}

/** What a reader of the model must know. */
export interface Dialect {
  /** Version of the file format. */
  readonly ir: bigint;
  /** Version of the standard operators. */
  readonly opset: bigint;
  /** Whether ONNX Runtime's own operators (com.microsoft) may occur. */
  readonly contrib: boolean;
}

/** Of graphs that ONNX Runtime 1.30 runs itself. */
export const ORT_DIALECT: Dialect = { ir: 11n, opset: 23n, contrib: true };

export interface Model {
  readonly name: string;
  readonly producerVersion: string;
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  readonly nodes: readonly Node[];
  readonly initializers: readonly Initializer[];
}

export function encodeModel(m: Model, dialect = ORT_DIALECT): Uint8Array {
  const opset = (domain: string, version: bigint) => concat(string(1, domain), int(2, version));
  return concat(
    int(1, dialect.ir),
    string(2, 'oxygen-vla'),
    string(3, m.producerVersion),
    message(7, encodeGraph(m)),
    message(8, opset('', dialect.opset)),
    ...(dialect.contrib ? [message(8, opset('com.microsoft', 1n))] : []),
  );
}

const encodeGraph = (m: Pick<Model, 'name' | 'nodes' | 'initializers' | 'inputs' | 'outputs'>): Uint8Array =>
  concat(
    ...m.nodes.map(n => message(1, encodeNode(n))),
    string(2, m.name),
    ...m.initializers.map(t => message(5, encodeInitializer(t))),
    ...m.inputs.map(v => message(11, encodeValueInfo(v))),
    ...m.outputs.map(v => message(12, encodeValueInfo(v))),
  );

const encodeNode = (n: Node): Uint8Array =>
  concat(
    ...n.inputs.map(i => string(1, i)),
    ...n.outputs.map(o => string(2, o)),
    string(3, n.name),
    string(4, n.op),
    ...Object.entries(n.attributes).map(([name, value]) => message(5, encodeAttribute(name, value))),
    string(7, n.domain),
  );

function encodeAttribute(name: string, value: AttributeValue): Uint8Array {
  const type = { FLOAT: 1n, INT: 2n, STRING: 3n, GRAPH: 5n, INTS: 7n };
  if (typeof value === 'number') return concat(string(1, name), float(2, value), int(20, type.FLOAT));
  if (typeof value === 'bigint') return concat(string(1, name), int(3, value), int(20, type.INT));
  if (typeof value === 'string') return concat(string(1, name), string(4, value), int(20, type.STRING));
  if ('nodes' in value) {
    const body = encodeGraph({ ...value, name, initializers: [] });
    return concat(string(1, name), message(6, body), int(20, type.GRAPH));
  }
  return concat(string(1, name), ...value.map(v => int(8, v)), int(20, type.INTS));
}

function encodeInitializer(t: Initializer): Uint8Array {
  const head = concat(...t.dims.map(d => int(1, BigInt(d))), int(2, BigInt(ELEM[t.elem])), string(8, t.name));
  if ('raw' in t) return concat(head, message(9, t.raw));
  const { location, offset, length, prepacked } = t.external;
  const entry = (key: string, value: string) => message(13, concat(string(1, key), string(2, value)));
  const external = 1n;
  return concat(
    head,
    entry('location', location),
    entry('offset', String(offset)),
    entry('length', String(length)),
    ...(prepacked === undefined ? [] : [entry('prepacked_0', prepacked)]),
    int(14, external),
  );
}

function encodeValueInfo(v: ValueInfo): Uint8Array {
  const dims = v.dims.map(d => message(1, typeof d === 'number' ? int(1, BigInt(d)) : string(2, d)));
  const tensorType = concat(int(1, BigInt(ELEM[v.elem])), message(2, concat(...dims)));
  return concat(string(1, v.name), message(2, message(1, tensorType)));
}

// Wire format: a key is (field << 3 | wire type); 0 varint, 2 length-delimited, 5 four bytes.

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 0x80 : low);
  } while (rest > 0n);
  return Uint8Array.from(bytes);
}

const key = (field: number, wire: number): Uint8Array => varint(BigInt((field << 3) | wire));
const int = (field: number, value: bigint): Uint8Array => concat(key(field, 0), varint(value));
const message = (field: number, body: Uint8Array): Uint8Array =>
  concat(key(field, 2), varint(BigInt(body.byteLength)), body);
const string = (field: number, text: string): Uint8Array => message(field, Buffer.from(text, 'utf8'));

function float(field: number, value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setFloat32(0, value, true);
  return concat(key(field, 5), bytes);
}

const concat = (...parts: readonly Uint8Array[]): Uint8Array => Buffer.concat(parts);
