/** The instruction of the robot: last writer wins, the same text again is no change. */
import { OxygenError } from '../core/errors';

/** Identity of a message: the latched and the volatile subscription both get it. */
export interface MessageOrigin {
  readonly publisher: string;
  readonly sentNs: bigint;
}

const MAX_LETTERS = 2000;

export class Instruction {
  #text: string | null = null;
  #origin: MessageOrigin | null = null;

  /** Null before the first. */
  get text(): string | null {
    return this.#text;
  }

  /**
   * True when the instruction has changed. A second copy of a message, or an older one of the same publisher, is
   * ignored.
   * @throws OxygenError INSTRUCTION_INVALID
   */
  set(text: string, origin: MessageOrigin): boolean {
    const last = this.#origin;
    if (last !== null && last.publisher === origin.publisher && origin.sentNs <= last.sentNs) return false;
    const trimmed = text.trim();
    if (trimmed === '')
      throw new OxygenError('INSTRUCTION_INVALID', 'the instruction is empty; the last one stays');
    if (trimmed.length > MAX_LETTERS) {
      throw new OxygenError(
        'INSTRUCTION_INVALID',
        `the instruction has ${trimmed.length} letters, more than ${MAX_LETTERS}; the last one stays`,
      );
    }
    this.#origin = origin;
    if (trimmed === this.#text) return false;
    this.#text = trimmed;
    return true;
  }
}
