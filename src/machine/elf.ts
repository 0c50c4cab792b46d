/** Which libraries a shared library wants, read from its dynamic section: a check that loads nothing. */

/** `length` bytes from `offset` on. */
type Read = (offset: number, length: number) => Uint8Array;

const LOAD = 1;
const DYNAMIC = 2;
const NEEDED = 1;
const STRING_TABLE = 5;
const STRING_TABLE_SIZE = 10;
/** Real tables have some kilobytes; symbol names of a large library some megabytes. */
const MAX_TABLE = 64 * 1024 * 1024;

/** Names as the linker looks for them (`libcudart.so.13`). @throws Error if it is no 64-bit little-endian ELF file. */
export function neededLibraries(read: Read): readonly string[] {
  const header = view(read, 0, 64);
  if (header.getUint32(0) !== 0x7f454c46 || header.getUint8(4) !== 2 || header.getUint8(5) !== 1)
    throw new Error('no 64-bit little-endian ELF file');
  const segments = programHeaders(read, header);
  const dynamic = segments.find(({ type }) => type === DYNAMIC);
  if (!dynamic) return [];
  const entries = dynamicEntries(view(read, dynamic.offset, table(dynamic.size)));
  const value = (tag: number): number | undefined => entries.find(entry => entry.tag === tag)?.value;
  const [address, size] = [value(STRING_TABLE), value(STRING_TABLE_SIZE)];
  if (address === undefined || size === undefined) return [];
  const strings = read(offsetOf(address, segments), table(size));
  return entries.filter(({ tag }) => tag === NEEDED).map(({ value: at }) => nameAt(strings, at));
}

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

function programHeaders(read: Read, header: DataView): readonly Segment[] {
  const [start, each, count] = [long(header, 32), header.getUint16(54, true), header.getUint16(56, true)];
  const all = view(read, start, each * count);
  return Array.from({ length: count }, (_, i) => ({
    type: all.getUint32(i * each, true),
    offset: long(all, i * each + 8),
    address: long(all, i * each + 16),
    size: long(all, i * each + 32),
  }));
}

const dynamicEntries = (section: DataView): readonly { readonly tag: number; readonly value: number }[] =>
  Array.from({ length: Math.floor(section.byteLength / 16) }, (_, i) => ({
    tag: long(section, i * 16),
    value: long(section, i * 16 + 8),
  }));

/** Where in the file an address lies that is meant for memory. */
function offsetOf(address: number, segments: readonly Segment[]): number {
  const holds = ({ type, address: from, size }: Segment): boolean =>
    type === LOAD && address >= from && address < from + size;
  const segment = segments.find(holds);
  if (!segment) throw new Error('its string table lies nowhere in the file');
  return address - segment.address + segment.offset;
}

const table = (size: number): number => {
  if (size > MAX_TABLE) throw new Error(`a table of ${size} bytes`);
  return size;
};

function nameAt(strings: Uint8Array, at: number): string {
  const end = strings.indexOf(0, at);
  if (at >= strings.length || end < 0) throw new Error('a name lies outside of its string table');
  return Buffer.from(strings.subarray(at, end)).toString('latin1');
}

const long = (data: DataView, at: number): number => Number(data.getBigUint64(at, true));

function view(read: Read, offset: number, length: number): DataView {
  const bytes = read(offset, length);
  if (bytes.length < length) throw new Error('the file is cut off');
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
