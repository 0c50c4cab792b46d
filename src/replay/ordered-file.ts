/** A new file that is written from its beginning to its end, as the writer of MCAP wants it. */
import type { IWritable } from '@mcap/core';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

export class OrderedFile implements IWritable {
  readonly #handle: FileHandle;
  #end = 0;

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  static async create(path: string): Promise<OrderedFile> {
    return new OrderedFile(await open(path, 'w'));
  }

  /** One at a time; the bytes must stay as they are until it resolves. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.byteLength;) {
      const { bytesWritten } = await this.#handle.write(bytes, done);
      done += bytesWritten;
    }
    this.#end += bytes.byteLength;
  }

  position(): bigint {
    return BigInt(this.#end);
  }

  /** Everything is on the disk: some say only now that they are full. */
  async finish(): Promise<void> {
    await this.#handle.sync();
    await this.#handle.close();
  }

  /** Gives the file up as it is, if it is still open. */
  async close(): Promise<void> {
    await this.#handle.close();
  }
}
