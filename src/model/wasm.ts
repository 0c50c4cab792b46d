/**
 * Just enough of an assembler to write one WebAssembly function in TypeScript. An expression is the code that leaves
 * its value on the stack; a statement leaves nothing there. Numbers are 32-bit integers; `lanes` are 128-bit values.
 */
export type Code = readonly number[];

/** Not among the types of Node 20. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

export interface WasmMemory {
  /** Another buffer after `grow`. */
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

export const PAGE_BYTES = 65536;

const I32 = 0x7f;
const V128 = 0x7b;
const END = 0x0b;
/** Loads and stores here promise the alignment of four bytes, as a power of two; it is a hint only. */
const ALIGN = 2;

/** Little-endian groups of 7 bits (LEB128). */
function unsigned(n: number): Code {
  return n < 128 ? [n] : [(n & 127) | 128, ...unsigned(n >>> 7)];
}
function signed(n: number): Code {
  return n >= -64 && n < 64 ? [n & 127] : [(n & 127) | 128, ...signed(n >> 7)];
}

const simd = (opcode: number): Code => [0xfd, ...unsigned(opcode)];

export const get = (local: number): Code => [0x20, local];
export const set = (local: number, value: Code): Code => [...value, 0x21, local];
export const constant = (n: number): Code => [0x41, ...signed(n)];
export const add = (a: Code, b: Code): Code => [...a, ...b, 0x6a];
/** Of addresses, so without a sign. */
export const isBelow = (a: Code, b: Code): Code => [...a, ...b, 0x49];
export const load = (address: Code, offset: number): Code => [...address, 0x28, ALIGN, offset];
/** Runs `body`, and again as long as `condition` holds. */
export const loop = (body: readonly Code[], condition: Code): Code => [
  ...[0x03, 0x40],
  ...body.flat(),
  ...condition,
  ...[0x0d, 0],
  END,
];

/** The number in all four lanes. */
export const lanesOf = (n: Code): Code => [...n, ...simd(0x11)];
export const lanesAdd = (a: Code, b: Code): Code => [...a, ...b, ...simd(0xae)];
export const lanesMultiply = (a: Code, b: Code): Code => [...a, ...b, ...simd(0xb5)];
export const lanesShiftRight = (a: Code, bits: number): Code => [...a, ...constant(bits), ...simd(0xac)];
/** One number at `address`, in all four lanes. */
export const loadInAllLanes = (address: Code): Code => [...address, ...simd(0x09), ALIGN, 0];
/** Four bytes at `address` without a sign, one in each lane: v128.load32_zero, u8 → u16 → u32. */
export const loadBytes = (address: Code): Code => [
  ...address,
  ...[...simd(0x5c), ALIGN, 0],
  ...simd(0x89),
  ...simd(0xa9),
];
/** Four lanes as four bytes; numbers outside 0..255 become 0 or 255: i32 → i16 → u8 with saturation. */
export const storeBytes = (address: Code, lanes: Code): Code => [
  ...address,
  ...[...lanes, ...lanesOf(constant(0)), ...simd(0x85)],
  ...[...lanesOf(constant(0)), ...simd(0x66)],
  ...[...simd(0x5a), ALIGN, 0, 0],
];

/** A module of `memory` and one function `run` of `parameters` numbers; its further locals are numbers, then lanes. */
export function instantiate<Run>(
  parameters: number,
  numbers: number,
  lanes: number,
  body: readonly Code[],
): { readonly memory: WasmMemory; readonly run: Run } {
  const sized = (bytes: Code): Code => [...unsigned(bytes.length), ...bytes];
  const section = (id: number, content: Code): Code => [id, ...sized(content)];
  const name = (text: string): Code => sized([...Buffer.from(text)]);
  const type = [0x60, parameters, ...Array<number>(parameters).fill(I32), 0];
  const code = [2, numbers, I32, lanes, V128, ...body.flat(), END];
  const bytes = [
    ...[0, ...Buffer.from('asm'), 1, 0, 0, 0],
    ...section(1, [1, ...type]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 1]),
    ...section(7, [2, ...name('memory'), 2, 0, ...name('run'), 0, 0]),
    ...section(10, [1, ...sized(code)]),
  ];
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(bytes)));
  return exports as { memory: WasmMemory; run: Run };
}
