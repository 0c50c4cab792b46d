/** A file read in blocks at chosen places: what lies in the block at hand costs no call of the system. */
import type { FileHandle } from 'node:fs/promises';
import { OxygenError } from '../core/errors';

const NOTHING = new Uint8Array(0);

export class FileWindow {
  readonly size: number;
  readonly #handle: FileHandle;
  readonly #blockBytes: number;
  #block: Uint8Array = NOTHING;
  #start = 0;

  constructor(handle: FileHandle, size: number, blockBytes: number) {
    this.#handle = handle;
    this.size = size;
    this.#blockBytes = blockBytes;
  }

  /** The bytes, if they are at hand. Valid as long as they are held. */
  peek(offset: number, bytes: number): Uint8Array | null {
    const from = offset - this.#start;
    if (from < 0 || from + bytes > this.#block.byteLength) return null;
    return this.#block.subarray(from, from + bytes);
  }

  /** The same from the file, which must reach that far. @throws OxygenError BAG_DAMAGED where the disk gives no more */
  async load(offset: number, bytes: number): Promise<Uint8Array> {
    const want = Math.min(Math.max(bytes, this.#blockBytes), this.size - offset);
    // A new block each time: messages that were given are views of the old ones.
    const block = new Uint8Array(Buffer.allocUnsafeSlow(Math.max(want, 0)).buffer);
    let got = 0;
    while (got < block.byteLength) {
      const { bytesRead } = await this.#read(block, got, offset + got);
      if (bytesRead === 0) break;
      got += bytesRead;
    }
    if (got < bytes) throw unreadable(offset + got, 'the file has become shorter while it is read');
    this.#block = block.subarray(0, got);
    this.#start = offset;
    return block.subarray(0, bytes);
  }

  /** `load`, unless it is at hand. */
  async at(offset: number, bytes: number): Promise<Uint8Array> {
    return this.peek(offset, bytes) ?? (await this.load(offset, bytes));
  }

  async #read(into: Uint8Array, from: number, position: number): Promise<{ bytesRead: number }> {
    try {
      return await this.#handle.read(into, from, into.byteLength - from, position);
    } catch (cause) {
      throw unreadable(position, `the disk does not give it (${String(cause)})`);
    }
  }
}

const unreadable = (offset: number, why: string): OxygenError =>
  new OxygenError('BAG_DAMAGED', `cannot be read from byte ${offset}: ${why}`, { details: { offset } });

/** Little-endian numbers of `bytes`. */
export const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);

/** An unsigned 64-bit number; infinite where a double cannot hold it, so that every comparison with a limit fails. */
export function uint64(view: DataView, at: number): number {
  const high = view.getUint32(at + 4, true);
  return high >= 0x200000 ? Infinity : high * 0x100000000 + view.getUint32(at, true);
}
