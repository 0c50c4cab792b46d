/**
 * Messages in order of their time. Recorders write nearly in order: chunks and files overlap a little. So the newest
 * second is held back and sorted; what comes later than that begins anew, in the order of the file.
 */
import type { BagMessage } from './types';

const WINDOW_NS = 1_000_000_000n;
/** Of message data that is held back; more than that is given early. */
const WINDOW_BYTES = 64 * 1024 * 1024;

/** Where a message runs backwards. */
export type OnDisorder = (message: BagMessage, newestNs: bigint) => void;

export async function* inOrder(
  batches: AsyncIterable<readonly BagMessage[]>,
  onDisorder: OnDisorder,
  windowBytes = WINDOW_BYTES,
): AsyncGenerator<readonly BagMessage[]> {
  let held = new Held();
  let givenNs: bigint | null = null;
  const given = (messages: readonly BagMessage[]): readonly BagMessage[] => {
    for (const message of messages) {
      if (givenNs !== null && message.logNs < givenNs) onDisorder(message, givenNs);
      else givenNs = message.logNs;
    }
    return messages;
  };

  for await (const batch of batches) {
    for (const message of batch) {
      if (held.newestNs !== null && message.logNs < held.newestNs - WINDOW_NS) {
        yield given(held.all());
        held = new Held();
      }
      held.add(message);
    }
    const ready = held.take(WINDOW_NS, windowBytes);
    if (ready.length > 0) yield given(ready);
  }
  yield given(held.all());
}

/** Sorted; of equal times the first that came is the first. */
class Held {
  #messages: BagMessage[] = [];
  #bytes = 0;

  get newestNs(): bigint | null {
    return this.#messages.at(-1)?.logNs ?? null;
  }

  add(message: BagMessage): void {
    this.#bytes += message.data.byteLength;
    const newest = this.newestNs;
    if (newest === null || message.logNs >= newest) this.#messages.push(message);
    else this.#messages.splice(this.#placeOf(message.logNs), 0, message);
  }

  /** Those older than the window, and more if there are too many bytes. The newest always stays. */
  take(windowNs: bigint, windowBytes: number): readonly BagMessage[] {
    const messages = this.#messages;
    const until = (this.newestNs ?? 0n) - windowNs;
    let count = 0;
    while (count < messages.length - 1 && (messages[count]!.logNs < until || this.#bytes > windowBytes))
      this.#bytes -= messages[count++]!.data.byteLength;
    return messages.splice(0, count);
  }

  all(): readonly BagMessage[] {
    return this.#messages;
  }

  #placeOf(ns: bigint): number {
    let low = 0;
    let high = this.#messages.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#messages[middle]!.logNs <= ns) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
