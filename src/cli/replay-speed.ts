/** How fast a replay was; the one thing there that looks at a clock, and no result depends on it. */
import type { Owner } from '../replay/world';

export class Speed {
  readonly #startMs = performance.now();
  #begunMs = 0;
  #turnMs = 0;
  #owner: Owner = 'node';
  readonly #ms: Record<Owner, number> = { engine: 0, node: 0 };

  begun(): void {
    this.#begunMs = this.#turnMs = performance.now();
    this.#ms.engine = this.#ms.node = 0;
  }

  turnOf(owner: Owner): void {
    const now = performance.now();
    this.#ms[this.#owner] += now - this.#turnMs;
    this.#turnMs = now;
    this.#owner = owner;
  }

  line(frames: number): string {
    this.turnOf('node');
    const { engine, node } = this.#ms;
    const s = (ms: number): string => (ms / 1000).toFixed(1);
    const playedMs = engine + node;
    return (
      `${frames} frames in ${s(playedMs)} s (${((1000 * frames) / playedMs).toFixed(1)} frames/s); the engine took ` +
      `${s(engine)} s of them, all else ${((100 * node) / engine).toFixed(1)} % on top; loaded in ${s(this.#begunMs - this.#startMs)} s`
    );
  }
}
