/** A progress bar on stderr with the time left; silent when stderr is no terminal. */
export class Progress {
  readonly #label: string;
  readonly #start = performance.now();
  #ended = false;
  #lastMs = -Infinity;

  constructor(label: string) {
    this.#label = label;
  }

  update(done: number, total: number, what: string): void {
    const now = performance.now();
    // ten times a second is enough for eyes
    if (!process.stderr.isTTY || (now - this.#lastMs < 100 && done < total)) return;
    this.#lastMs = now;
    const share = total > 0 ? done / total : 1;
    const bar = '#'.repeat(Math.round(share * 24)).padEnd(24, '.');
    const left = done > 0 ? ((now - this.#start) / 1000) * (1 / share - 1) : 0;
    const line = `${this.#label} [${bar}] ${Math.round(share * 100)} % ${left.toFixed(0)} s left  ${what}`;
    process.stderr.write(`\r${line.slice(0, (process.stderr.columns || 80) - 1)}\x1b[K`);
  }

  /** Clears the bar; the summary goes to stdout. */
  end(summary?: string): void {
    if (!this.#ended && process.stderr.isTTY) process.stderr.write('\r\x1b[K');
    this.#ended = true;
    if (summary !== undefined)
      console.log(`${summary}  (${((performance.now() - this.#start) / 1000).toFixed(1)} s)`);
  }
}
