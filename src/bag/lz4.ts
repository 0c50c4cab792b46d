/**
 * LZ4 frames (lz4_Frame_format.md, lz4_Block_format.md). Our own, because the WebAssembly build that MCAP readers use
 * keeps one context for all: after one damaged chunk it refuses every good one. Checksums inside the frame are not
 * looked at: MCAP has one around the chunk.
 */

const MAGIC = 0x184d2204;
const END = 0;
const UNCOMPRESSED = 0x80000000;
const MIN_MATCH = 4;
/** Bytes up to which a loop is faster than a copy by the runtime. */
const FEW = 64;

/** At most `bytes` bytes, in memory of their own. Throws a plain Error with the reason. */
export function unpackLz4Frame(frame: Uint8Array, bytes: number): Uint8Array {
  // Never a Buffer: the loop below is compiled for one kind of array.
  const input = new Uint8Array(frame.buffer, frame.byteOffset, frame.byteLength);
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (frame.byteLength < 7 || view.getUint32(0, true) !== MAGIC) throw damaged('has no frame header');
  const flags = view.getUint8(4);
  if (flags >> 6 !== 1) throw damaged('is of an unknown version');
  const blockChecksum = (flags & 0x10) !== 0 ? 4 : 0;
  let at = 7 + ((flags & 0x08) !== 0 ? 8 : 0) + ((flags & 0x01) !== 0 ? 4 : 0);

  const out = new Uint8Array(bytes);
  let end = 0;
  for (;;) {
    if (at + 4 > frame.byteLength) throw damaged('is cut');
    const head = view.getUint32(at, true);
    at += 4;
    if (head === END) return out.subarray(0, end);
    const stored = head >= UNCOMPRESSED;
    const length = stored ? head - UNCOMPRESSED : head;
    if (at + length > frame.byteLength) throw damaged('is cut');
    if (stored) {
      if (end + length > bytes) throw damaged('is longer than it claims');
      out.set(input.subarray(at, at + length), end);
      end += length;
    } else end = unpackBlock(input, at, at + length, out, end);
    at += length + blockChecksum;
  }
}

/**
 * Writes to `out` from `end` on, and returns where that ends. Matches may reach into the blocks before. The copies are
 * in line: most are a few bytes long, and a call would cost more than they do.
 */
function unpackBlock(from: Uint8Array, at: number, stop: number, out: Uint8Array, end: number): number {
  const limit = out.length;
  while (at < stop) {
    const token = from[at++]!;
    let literals = token >> 4;
    if (literals === 15) {
      for (let more = 255; more === 255; literals += more) {
        if (at >= stop) throw damaged('is cut');
        more = from[at++]!;
      }
    }
    if (at + literals > stop) throw damaged('is cut');
    if (end + literals > limit) throw damaged('is longer than it claims');
    if (literals > FEW) out.set(from.subarray(at, at + literals), end);
    else for (let i = 0; i < literals; i++) out[end + i] = from[at + i]!;
    at += literals;
    end += literals;
    // The last sequence has literals only.
    if (at === stop) return end;

    if (at + 2 > stop) throw damaged('is cut');
    const distance = from[at]! | (from[at + 1]! << 8);
    at += 2;
    let length = (token & 15) + MIN_MATCH;
    if (length === 15 + MIN_MATCH) {
      for (let more = 255; more === 255; length += more) {
        if (at >= stop) throw damaged('is cut');
        more = from[at++]!;
      }
    }
    if (distance === 0 || distance > end) throw damaged('points before its beginning');
    if (end + length > limit) throw damaged('is longer than it claims');
    const source = end - distance;
    // A match may overlap with what it writes: a distance of 1 repeats one byte.
    if (length > FEW && distance >= length) out.copyWithin(end, source, source + length);
    else for (let i = 0; i < length; i++) out[end + i] = out[source + i]!;
    end += length;
  }
  return end;
}

const damaged = (why: string): Error => new Error(`its lz4 data ${why}`);
