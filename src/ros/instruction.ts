/**
 * The instruction of the robot: by topic the last writer wins; a standing request may put a subtask in its place. The
 * same text again is no change.
 */
import { OxygenError } from '../core/errors';
import { withoutControls } from '../model/prompt';

/** Identity of a message: the latched and the volatile subscription both get it. */
export interface MessageOrigin {
  readonly publisher: string;
  readonly sentNs: bigint;
}

const MAX_LETTERS = 2000;
/** Publishers that are remembered: those that were heard last. A second copy comes at once. */
const MAX_PUBLISHERS = 64;

export class Instruction {
  #commanded: string | null = null;
  #subtask: string | null = null;
  /** When the newest message of each publisher was sent; who was heard last is last. */
  readonly #heard = new Map<string, bigint>();

  /** By topic; null before the first. */
  get commanded(): string | null {
    return this.#commanded;
  }

  /** In force; null before the first. */
  get text(): string | null {
    return this.#subtask ?? this.#commanded;
  }

  /**
   * By topic. True when it has changed. A second copy of a message, or an older one of the same publisher, is ignored:
   * a bad one is told once, though both subscriptions get it.
   * @throws OxygenError INSTRUCTION_INVALID
   */
  command(text: string, origin: MessageOrigin): boolean {
    if (!this.#isNew(origin)) return false;
    const trimmed = withoutControls(text).trim();
    if (trimmed === '')
      throw new OxygenError('INSTRUCTION_INVALID', 'the instruction is empty; the last one stays');
    if (trimmed.length > MAX_LETTERS) {
      throw new OxygenError(
        'INSTRUCTION_INVALID',
        `the instruction has ${trimmed.length} letters, more than ${MAX_LETTERS}; the last one stays`,
      );
    }
    if (trimmed === this.#commanded) return false;
    this.#commanded = trimmed;
    this.#subtask = null;
    return true;
  }

  #isNew({ publisher, sentNs }: MessageOrigin): boolean {
    const last = this.#heard.get(publisher);
    if (last !== undefined && sentNs <= last) return false;
    this.#heard.delete(publisher);
    this.#heard.set(publisher, sentNs);
    for (const oldest of this.#heard.keys()) {
      if (this.#heard.size <= MAX_PUBLISHERS) break;
      this.#heard.delete(oldest);
    }
    return true;
  }

  /** Puts a text in the place of the commanded one until the next command. True when the one in force has changed. */
  follow(text: string): boolean {
    const trimmed = text.trim();
    if (trimmed === '' || trimmed === this.text) return false;
    this.#subtask = trimmed;
    return true;
  }

  /** Back to the commanded one. */
  unfollow(): void {
    this.#subtask = null;
  }
}
