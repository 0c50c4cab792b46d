/** A result under a temporary name beside the wanted one, which it gets when it is complete. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

/** What is thrown where a result cannot be written: what was refused, and why. */
export type Refusal = (path: string, why: Error) => Error;

export class Draft {
  /** Write here: a file that is to be made, or an empty folder. */
  readonly path: string;
  readonly #target: string;
  /** A file that tells our folders from those of others; null: the result is a file. */
  readonly #mark: string | null;
  readonly #refusal: Refusal;

  private constructor(target: string, mark: string | null, refusal: Refusal) {
    this.#target = target;
    this.#mark = mark;
    this.#refusal = refusal;
    this.path = beside(target, 'part');
  }

  /** Of a file, which replaces the one of that name. Throws what `refusal` makes. */
  static async file(path: string, refusal: Refusal): Promise<Draft> {
    if (isFolder(path)) throw refusal(path, new Error('it is a folder'));
    return new Draft(path, null, refusal);
  }

  /**
   * Of a folder, which replaces one that is empty or has `mark` in it: any other with content is somebody's work. Throws
   * what `refusal` makes.
   */
  static async folder(path: string, mark: string, refusal: Refusal): Promise<Draft> {
    const draft = new Draft(path, mark, refusal);
    draft.#refuseForeign(mark);
    try {
      // A process of the same number may have been killed.
      await draft.discard();
      await mkdir(draft.path);
    } catch (cause) {
      throw refusal(path, cause as Error);
    }
    return draft;
  }

  async keep(): Promise<void> {
    if (this.#mark === null) return rename(this.path, this.#target);
    this.#refuseForeign(this.#mark);
    await synchronised(this.path);
    // A folder does not take the place of one with content.
    const old = beside(this.#target, 'old');
    const replaces = existsSync(this.#target);
    if (replaces) await rename(this.#target, old);
    try {
      await rename(this.path, this.#target);
    } catch (error) {
      if (replaces) await rename(old, this.#target);
      throw error;
    }
    await rm(old, { recursive: true, force: true });
  }

  /** As far as it can be: why the result is not written matters more. */
  async discard(): Promise<void> {
    await rm(this.path, { recursive: true, force: true }).catch(() => undefined);
  }

  #refuseForeign(mark: string): void {
    const path = this.#target;
    const ours = isFolder(path) && (existsSync(join(path, mark)) || readdirSync(path).length === 0);
    if (existsSync(path) && !ours) throw this.#refusal(path, new Error('something else has that name'));
  }
}

/** The process that left this name behind when it was killed; null: it is no name of a draft. */
export function leftBy(name: string): number | null {
  const pid = /^\..+\.(?:part|old)-(\d+)$/.exec(name)?.[1];
  return pid === undefined ? null : Number(pid);
}

/** The number keeps runs apart that write to the same place at the same time. */
const beside = (path: string, what: 'part' | 'old'): string =>
  join(dirname(resolve(path)), `.${basename(path)}.${what}-${process.pid}`);

const isFolder = (path: string): boolean => existsSync(path) && statSync(path).isDirectory();

/** On the disk: a name must not outlive what it stands for. */
async function synchronised(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
