/** Results of a command as files: what may be replaced by one, and what is said where one cannot be written. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { OxygenError, toOxygenError } from './core/errors';
import { Draft } from './draft';
import type { Ours } from './draft';

export const notWritten = (path: string, cause: Error): OxygenError =>
  new OxygenError(
    'RESULT_NOT_WRITTEN',
    // The rest of a system error is the temporary name.
    `${path}: ${cause.message.split(',')[0]}; choose a place that exists, may be written and has room`,
    { cause },
  );

/** What the system refuses has its reason there; all else is what it is. */
export const asNotWritten = (path: string, cause: unknown): OxygenError =>
  typeof (cause as NodeJS.ErrnoException).syscall === 'string'
    ? notWritten(path, cause as Error)
    : toOxygenError(cause);

/** A file of the same kind, told by its first bytes, or an empty one: with either, nothing but a result is lost. */
export const beginsWith =
  (first: Uint8Array): Ours =>
  path => {
    const fd = openSync(path, 'r');
    try {
      const found = Buffer.alloc(first.length);
      return fstatSync(fd).size === 0 || (readSync(fd, found) === first.length && found.equals(first));
    } finally {
      closeSync(fd);
    }
  };

/** Our pages begin so. */
export const HTML = beginsWith(Buffer.from('<!doctype html>'));

/** What keeps one result from its name costs no other. Throws RESULT_NOT_WRITTEN with all that were not written. */
export async function allWritten(results: readonly (Promise<void> | undefined)[]): Promise<void> {
  const settled = await Promise.allSettled(results);
  const failures = settled.flatMap(one => (one.status === 'rejected' ? [one.reason as Error] : []));
  const [first] = failures;
  if (failures.length === 1) throw first;
  if (failures.length > 1)
    throw new OxygenError('RESULT_NOT_WRITTEN', failures.map(({ message }) => message).join('\n  '), {
      cause: first,
    });
}

/** A result of text that replaces one of its kind. */
export class TextResult {
  readonly #path: string;
  readonly #ours: Ours;

  private constructor(path: string, ours: Ours) {
    this.#path = path;
    this.#ours = ours;
  }

  /** What can be known before there is a result is said now. Throws RESULT_NOT_WRITTEN. */
  static async check(path: string, ours: Ours): Promise<TextResult> {
    await (await Draft.file(path, ours, notWritten)).discard();
    return new TextResult(path, ours);
  }

  /** Throws RESULT_NOT_WRITTEN; then nothing is left, and an earlier result stays. */
  async write(text: string): Promise<void> {
    const draft = await Draft.file(this.#path, this.#ours, notWritten);
    try {
      await writeFile(draft.path, text);
      await draft.keep();
    } catch (cause) {
      await draft.discard();
      throw asNotWritten(this.#path, cause);
    }
  }
}
