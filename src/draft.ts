/** A result under a temporary name beside the wanted one, which it gets when it is complete. */
import { lstatSync } from 'node:fs';
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

/** What is thrown where a result cannot be written: what was refused, and why. */
export type Refusal = (path: string, why: Error) => Error;

/** Whether the file or folder of that name is an earlier result. Any other is somebody's work, and stays. */
export type Ours = (path: string) => boolean;

type Kind = 'file' | 'folder';

export class Draft {
  /** Write here: an empty file or folder. */
  readonly path: string;
  readonly #target: string;
  readonly #kind: Kind;
  readonly #ours: Ours;
  readonly #refusal: Refusal;

  private constructor(target: string, kind: Kind, ours: Ours, refusal: Refusal) {
    this.#target = target;
    this.#kind = kind;
    this.#ours = ours;
    this.#refusal = refusal;
    this.path = beside(target, 'part');
  }

  /** Of a file, which replaces a regular one that is ours. Throws what `refusal` makes. */
  static async file(path: string, ours: Ours, refusal: Refusal): Promise<Draft> {
    const draft = new Draft(path, 'file', ours, refusal);
    draft.#refuseForeign();
    try {
      // A process of the same number may have been killed. What is no file is not ours to empty.
      if (lstatSync(draft.path, { throwIfNoEntry: false })?.isFile() ?? true) await writeFile(draft.path, '');
    } catch (cause) {
      throw refusal(path, cause as Error);
    }
    return draft;
  }

  /** Of a folder, which replaces one that is ours. Throws what `refusal` makes. */
  static async folder(path: string, ours: Ours, refusal: Refusal): Promise<Draft> {
    const draft = new Draft(path, 'folder', ours, refusal);
    draft.#refuseForeign();
    try {
      await draft.discard();
      await mkdir(draft.path);
    } catch (cause) {
      throw refusal(path, cause as Error);
    }
    return draft;
  }

  async keep(): Promise<void> {
    this.#refuseForeign();
    await synchronised(this.path);
    if (this.#kind === 'file') return rename(this.path, this.#target);
    // A folder does not take the place of one with content.
    const old = beside(this.#target, 'old');
    const replaces = lstatSync(this.#target, { throwIfNoEntry: false }) !== undefined;
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

  #refuseForeign(): void {
    let why: Error | null;
    try {
      why = foreign(this.#target, this.#kind, this.#ours);
    } catch (cause) {
      why = cause as Error;
    }
    if (why !== null) throw this.#refusal(this.#target, why);
  }
}

/** Why what has the name may not be replaced; null: it may, or there is nothing. */
function foreign(path: string, kind: Kind, ours: Ours): Error | null {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined) return null;
  // To replace it would not write where it leads.
  if (there.isSymbolicLink()) return new Error('it is a link');
  if (kind === 'file' && there.isDirectory()) return new Error('it is a folder');
  if (kind === 'file' && !there.isFile()) return new Error('it is no regular file');
  const right = kind === 'file' || there.isDirectory();
  return right && ours(path) ? null : new Error('something else has that name');
}

/** The process that left this name behind when it was killed; null: it is no name of a draft. */
export function leftBy(name: string): number | null {
  const pid = /^\..+\.(?:part|old)-(\d+)$/.exec(name)?.[1];
  return pid === undefined ? null : Number(pid);
}

/** The number keeps runs apart that write to the same place at the same time. */
const beside = (path: string, what: 'part' | 'old'): string =>
  join(dirname(resolve(path)), `.${basename(resolve(path))}.${what}-${process.pid}`);

/** On the disk: a name must not outlive what it stands for. */
async function synchronised(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
