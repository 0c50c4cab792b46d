/**
 * Publishes in order, one message per turn of the event loop. A decode step brings a token for every request, and
 * publishing one costs about a millisecond: in one go, the action timer would wait for all of them.
 */
export class Trickle<T> {
  readonly #publish: (message: T) => void;
  readonly #nextTurn: (call: () => void) => void;
  #waiting: T[] = [];

  constructor(publish: (message: T) => void, nextTurn: (call: () => void) => void = setImmediate) {
    this.#publish = publish;
    this.#nextTurn = nextTurn;
  }

  push(message: T): void {
    if (this.#waiting.push(message) === 1) this.#nextTurn(() => this.#one());
  }

  /** All that waits, at once: for the end. */
  flush(): void {
    for (const message of this.#waiting.splice(0)) this.#publish(message);
  }

  #one(): void {
    const message = this.#waiting.shift();
    if (message === undefined) return;
    // Before the publication: whatever that throws, the others follow.
    if (this.#waiting.length > 0) this.#nextTurn(() => this.#one());
    this.#publish(message);
  }
}
