/** Messages of the bag whose bytes are none of their type: damage of the bag, though its files are whole. */
import { Faults } from '../bag/faults';
import type { BagMessage } from '../bag/types';
import type { OxygenError } from '../core/errors';
import { counted } from '../core/words';

export class Unreadable {
  readonly #faults = new Faults();
  readonly #byTopic = new Map<string, { messages: number; readonly why: string }>();
  #last: BagMessage | null = null;

  /** A message counts once, whatever it is used for. */
  add(message: BagMessage, why: string): void {
    if (message === this.#last) return;
    this.#last = message;
    const { topic } = message;
    const known = this.#byTopic.get(topic) ?? { messages: 0, why };
    known.messages += 1;
    this.#byTopic.set(topic, known);
    this.#faults.put(
      topic,
      'BAG_DAMAGED',
      `${counted(known.messages, 'message')} of ${topic} cannot be read and were left out, the first because ${known.why}`,
      { messages: known.messages },
    );
  }

  get faults(): readonly OxygenError[] {
    return this.#faults.list;
  }
}
