/** Every drop has a code and a counter; warnings are few: one per cause, then at most one every few seconds. */
import type { ErrorCode } from '../core/errors';

/** Levels of the ROS log. */
export interface Logger {
  info(text: string): void;
  warn(text: string): void;
  error(text: string): void;
}

const WARN_EVERY_MS = 5000;

interface Warned {
  atMs: number;
  silent: number;
}

export class DropLog {
  readonly #log: Logger;
  readonly #nowMs: () => number;
  readonly #counts = new Map<ErrorCode, bigint>();
  readonly #warned = new Map<string, Warned>();
  #lastError = '';

  /** `nowMs` is a monotonic clock. */
  constructor(log: Logger, nowMs: () => number) {
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** Something was refused or thrown away. `cause` names what repeats (a topic); warnings are limited per cause. */
  drop(code: ErrorCode, message: string, cause: string = code): void {
    this.#counts.set(code, this.count(code) + 1n);
    this.warn(code, message, cause);
  }

  /** Thrown away as it should be: counted, and told as often as a warning, but nothing is wrong. */
  dropByDesign(code: ErrorCode, message: string): void {
    this.#counts.set(code, this.count(code) + 1n);
    this.#tell('info', code, message, code);
  }

  /** A warning that is limited like that of a drop, but counts nothing. */
  warn(code: ErrorCode, message: string, cause: string = code): void {
    this.#lastError = `${code}: ${message}`;
    this.#tell('warn', code, message, cause);
  }

  #tell(level: 'info' | 'warn', code: ErrorCode, message: string, cause: string): void {
    const key = `${code} ${cause}`;
    const nowMs = this.#nowMs();
    const last = this.#warned.get(key);
    if (last && nowMs - last.atMs < WARN_EVERY_MS) {
      last.silent += 1;
      return;
    }
    const more = last && last.silent > 0 ? ` (and ${last.silent} more since the last warning)` : '';
    this.#warned.set(key, { atMs: nowMs, silent: 0 });
    this.#log[level](`${code}: ${message}${more}`);
  }

  /** Says once that a cause of warnings is gone. */
  recovered(code: ErrorCode, cause: string = code): void {
    if (this.#warned.delete(`${code} ${cause}`)) this.#log.info(`recovered: ${cause} (${code})`);
  }

  count(code: ErrorCode): bigint {
    return this.#counts.get(code) ?? 0n;
  }

  /** Counts since the start, by code. */
  counts(): readonly (readonly [ErrorCode, bigint])[] {
    return [...this.#counts];
  }

  /** The last message, empty before the first. */
  get lastError(): string {
    return this.#lastError;
  }
}
