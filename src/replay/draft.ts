/** A result under a temporary name beside the wanted one, which it gets when it is complete. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { OxygenError } from '../core/errors';

export class Draft {
  /** Write here: a file that is to be made, or an empty folder. */
  readonly path: string;
  readonly #target: string;
  /** A file that tells our folders from those of others; null: the result is a file. */
  readonly #mark: string | null;

  private constructor(target: string, mark: string | null) {
    this.#target = target;
    this.#mark = mark;
    this.path = beside(target, 'part');
  }

  /** Of a file, which replaces the one of that name. Throws RESULT_NOT_WRITTEN. */
  static async file(path: string): Promise<Draft> {
    if (isFolder(path)) throw notWritten(path, new Error('it is a folder'));
    return new Draft(path, null);
  }

  /** Of a folder, which replaces one that is empty or has `mark` in it, and no other. Throws RESULT_NOT_WRITTEN. */
  static async folder(path: string, mark: string): Promise<Draft> {
    refuseForeign(path, mark);
    const draft = new Draft(path, mark);
    try {
      // A process of the same number may have been killed.
      await draft.discard();
      await mkdir(draft.path);
    } catch (cause) {
      throw notWritten(path, cause);
    }
    return draft;
  }

  async keep(): Promise<void> {
    if (this.#mark === null) return rename(this.path, this.#target);
    refuseForeign(this.#target, this.#mark);
    // A folder does not take the place of one with content.
    const old = beside(this.#target, 'old');
    if (existsSync(this.#target)) await rename(this.#target, old);
    await rename(this.path, this.#target);
    await rm(old, { recursive: true, force: true });
  }

  /** As far as it can be: why the result is not written matters more. */
  async discard(): Promise<void> {
    await rm(this.path, { recursive: true, force: true }).catch(() => undefined);
  }
}

export const notWritten = (path: string, cause: unknown): OxygenError =>
  new OxygenError(
    'RESULT_NOT_WRITTEN',
    // The rest of a system error is the temporary name.
    `${path}: ${(cause as Error).message.split(',')[0]}; choose a place that exists, may be written and has room`,
    { cause },
  );

/** The number keeps runs apart that write to the same place at the same time. */
const beside = (path: string, what: string): string =>
  join(dirname(resolve(path)), `.${basename(path)}.${what}-${process.pid}`);

const isFolder = (path: string): boolean => existsSync(path) && statSync(path).isDirectory();

function refuseForeign(path: string, mark: string): void {
  const mayReplace = isFolder(path) && (existsSync(join(path, mark)) || readdirSync(path).length === 0);
  if (existsSync(path) && !mayReplace) throw notWritten(path, new Error('something else has that name'));
}
