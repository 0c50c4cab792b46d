/** What is wrong with a bag, each thing once, however often the bag is read. */
import { OxygenError } from '../core/errors';
import type { ErrorCode } from '../core/errors';

/** A bag that is damaged everywhere shall not fill a report. */
const MOST = 100;

export class Faults {
  readonly #byKey = new Map<string, OxygenError>();

  /** `key`: what and where; a later finding under the same key takes the place of the earlier one. */
  put(key: string, code: ErrorCode, message: string, details: Readonly<Record<string, unknown>> = {}): void {
    if (this.#byKey.size >= MOST && !this.#byKey.has(key)) {
      this.#byKey.set(
        'more',
        new OxygenError('BAG_DAMAGED', `there is more damage than these ${MOST} places; it is not listed`),
      );
      return;
    }
    // Names and reasons come from the bag: whatever is in them, it is one line.
    const line = message.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ');
    this.#byKey.set(key, new OxygenError(code, line, { details }));
  }

  get list(): readonly OxygenError[] {
    return [...this.#byKey.values()];
  }
}

/** Damage in one storage file. */
export class FileFaults {
  readonly file: string;
  readonly #all: Faults;
  #any = false;

  constructor(file: string, all: Faults) {
    this.file = file;
    this.#all = all;
  }

  get any(): boolean {
    return this.#any;
  }

  damaged(offset: number, what: string, details: Readonly<Record<string, unknown>> = {}): void {
    this.#any = true;
    this.#all.put(`${this.file}:${offset}`, 'BAG_DAMAGED', `${this.file}, byte ${offset}: ${what}`, {
      file: this.file,
      offset,
      ...details,
    });
  }

  /** Damage that has no one place, under a key of its own. */
  general(
    key: string,
    what: string,
    details: Readonly<Record<string, unknown>> = {},
    code: ErrorCode = 'BAG_DAMAGED',
  ): void {
    this.#any = true;
    this.#all.put(`${this.file}:${key}`, code, `${this.file}: ${what}`, { file: this.file, ...details });
  }
}
