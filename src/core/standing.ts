/** Standing requests: which of them are asked of the frame that just began. */
import type { LanguageRequest, StandingRequest } from './types';

interface Asked {
  /** How often so far: the number in the next id. */
  readonly count: number;
  /** Frames seen when it was asked last. */
  readonly atFrame: number;
}

export class StandingAsker {
  readonly #asked = new Map<string, Asked>();
  #frames = 0;

  /**
   * The requests to ask of a new frame. What is configured may differ from call to call; a name that comes back goes on
   * counting, so no id is used twice.
   */
  ofNewFrame(
    standing: readonly StandingRequest[],
    isOpen: (id: string) => boolean,
    nowMs: number,
  ): readonly LanguageRequest[] {
    const atFrame = this.#frames++;
    return standing
      .filter(({ name, every }) => {
        const last = this.#asked.get(name);
        if (!last) return true;
        return every.kind === 'ended'
          ? !isOpen(idOf(name, last.count - 1))
          : atFrame - last.atFrame >= every.frames;
      })
      .map(({ name, every: _, deadlineInMs, ...request }) => {
        const count = this.#asked.get(name)?.count ?? 0;
        this.#asked.set(name, { count: count + 1, atFrame });
        const deadlineMs = deadlineInMs === null ? null : nowMs + deadlineInMs;
        return { ...request, id: idOf(name, count), deadlineMs };
      });
  }
}

const idOf = (name: string, count: number): string => `${name}/${count}`;

/** Whose request it is that has this id; `standing`: the names there are. Null: nobody's of them. */
export function standingOf(id: string, standing: { has(name: string): boolean }): string | null {
  const name = id.slice(0, Math.max(0, id.indexOf('/')));
  return standing.has(name) ? name : null;
}
