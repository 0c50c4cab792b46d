/**
 * The header of a safetensors file, checked whole before a byte of data is read: {name: {dtype, shape, data_offsets}}
 * and `__metadata__`. As the format demands, the tensors cover the data exactly: no overlap, no hole, nothing after.
 */

/** Bytes of one element. */
export const DTYPE_BYTES = {
  F64: 8,
  F32: 4,
  F16: 2,
  BF16: 2,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U8: 1,
  BOOL: 1,
} as const;
export type Dtype = keyof typeof DTYPE_BYTES;

export interface TensorInfo {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  /** Byte range in the file. */
  readonly begin: number;
  readonly end: number;
}

/** 812 tensors take 0.2 MB; what JSON becomes in memory is bounded by this and by DEEPEST. */
export const MAX_HEADER_BYTES = 16 * 1024 * 1024;
/** header > entry > shape */
const DEEPEST = 3;

/**
 * `header`: the JSON bytes; `dataStart`, `fileBytes`: where the data begins and the file ends.
 * Throws what `invalid` makes of the reason.
 */
export function parseHeader(
  header: Uint8Array,
  dataStart: number,
  fileBytes: number,
  invalid: (why: string) => Error,
): ReadonlyMap<string, TensorInfo> {
  const { depth, members } = scanJson(header);
  if (depth > DEEPEST) throw invalid('the header is nested too deeply');
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(header));
  } catch (cause) {
    throw invalid(`the header is not JSON (${printable(String(cause))})`);
  }
  if (!isObject(json)) throw invalid('the header is no object');

  const tensors = new Map<string, TensorInfo>();
  let keys = 0;
  for (const [name, value] of Object.entries(json)) {
    if (!isObject(value)) throw invalid(`${printable(name)} in the header is no object`);
    keys += 1 + Object.keys(value).length;
    if (name === '__metadata__') continue;
    const entry = tensorInfo(value, dataStart);
    if (typeof entry === 'string') throw invalid(`tensor ${printable(name)} ${entry}`);
    tensors.set(name, entry);
  }
  if (keys !== members) throw invalid('the header holds a key twice, or an object where none belongs');
  checkCover(tensors, dataStart, fileBytes, invalid);
  return tensors;
}

/** Deepest nesting and number of object members of a JSON text, without making anything of it. */
function scanJson(text: Uint8Array): { depth: number; members: number } {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c === 0x5c) i++;
      else if (c === 0x22) quoted = false;
    } else if (c === 0x22) quoted = true;
    else if (c === 0x3a) members++;
    else if (c === 0x7b || c === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (c === 0x7d || c === 0x5d) depth--;
  }
  return { depth: deepest, members };
}

/** The entry as a TensorInfo, or what is wrong with it. */
function tensorInfo(entry: Readonly<Record<string, unknown>>, dataStart: number): TensorInfo | string {
  const { dtype, shape, data_offsets: range } = entry;
  if (!isSizes(shape)) return 'has no shape of whole numbers';
  if (!isSizes(range) || range.length !== 2) return 'has no data_offsets of two whole numbers';
  if (typeof dtype !== 'string') return 'has no dtype';
  if (!isDtype(dtype)) {
    return `has the dtype ${printable(dtype)}, which is not known here (${Object.keys(DTYPE_BYTES).join(', ')})`;
  }
  const [begin = 0, end = 0] = range;
  const bytes = shape.reduce((n, d) => n * d, DTYPE_BYTES[dtype]);
  if (!Number.isSafeInteger(bytes)) return `has a shape of more than 2^53 bytes`;
  if (end - begin !== bytes) return `${shapeText(shape)} ${dtype} needs ${bytes} bytes, has ${end - begin}`;
  return { dtype, shape, begin: dataStart + begin, end: dataStart + end };
}

function checkCover(
  tensors: ReadonlyMap<string, TensorInfo>,
  dataStart: number,
  fileBytes: number,
  invalid: (why: string) => Error,
): void {
  let end = dataStart;
  let last = 'the header';
  for (const [name, t] of [...tensors].sort((a, b) => a[1].begin - b[1].begin || a[1].end - b[1].end)) {
    if (t.end > fileBytes) {
      throw invalid(
        `tensor ${printable(name)} ends at byte ${t.end}, the file at ${fileBytes}; it is truncated`,
      );
    }
    if (t.begin < end) throw invalid(`tensors ${last} and ${printable(name)} overlap`);
    if (t.begin > end) throw invalid(`there is a hole between ${last} and ${printable(name)}`);
    end = t.end;
    last = printable(name);
  }
  if (end !== fileBytes) throw invalid(`${fileBytes - end} bytes follow the last tensor`);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isSizes = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every(n => Number.isSafeInteger(n) && n >= 0);
const isDtype = (name: string): name is Dtype => Object.hasOwn(DTYPE_BYTES, name);

/** A name from a file as it may stand in a message: one line, not longer than a line. */
export const printable = (name: string): string =>
  (name.length > 160 ? `${name.slice(0, 160)}...` : name).replace(/[\u0000-\u001f\u007f-\u009f]/g, '?');

export const shapeText = (shape: readonly number[]): string =>
  `[${shape.slice(0, 8).join()}${shape.length > 8 ? ',...' : ''}]`;
