/** Language requests from the question to the end, as the messages on `language/tokens` tell it. */
import type { StandingInput } from '../engine/protocol';
import { standingOf } from '../core/standing';
import { END_REASONS } from '../core/types';
import type { EndReason } from '../core/types';
import type { LanguageTokenMessage } from '../ros/outputs';
import type { ReplaySummary, TextEvent } from './result';

/** Texts that are kept; the others are counted. */
export const MAX_TEXTS = 500;

interface Open {
  readonly seed: string;
  text: string;
  tokens: number;
  fromS: number;
  /** Where it is kept; null: not yet, or there are too many. */
  index: number | null;
}

export class TextLog {
  readonly #standing = new Map<string, string>();
  readonly #open = new Map<string, Open>();
  readonly #texts: TextEvent[] = [];
  readonly #ended = new Map<string, number>();
  #more = 0;
  #tokens = 0;

  /** Seed texts of the requests that the engine asks itself, as `name/0`, `name/1`, … */
  standing(requests: readonly Pick<StandingInput, 'name' | 'text'>[]): void {
    for (const { name, text } of requests) this.#standing.set(name, text);
  }

  /** The engine was asked. */
  request(id: string, seed: string): void {
    if (!this.#open.has(id)) this.#open.set(id, { seed, text: '', tokens: 0, fromS: 0, index: null });
  }

  /** A token or the end of a request. True: it was a token. */
  hear(message: LanguageTokenMessage, atS: number): boolean {
    const { request_id: id, text_delta: text, finish_reason: reason } = message;
    const standing = standingOf(id, this.#standing);
    this.request(id, standing === null ? '' : this.#standing.get(standing)!);
    const request = this.#open.get(id)!;
    request.text += text;
    const token = reason === '';
    if (token) {
      this.#tokens += 1;
      request.tokens += 1;
      if (request.tokens === 1) this.#begin(id, request, atS);
    } else {
      this.#open.delete(id);
      this.#ended.set(reason, (this.#ended.get(reason) ?? 0) + 1);
      this.#keep(id, request, atS, reason as EndReason);
    }
    return token;
  }

  get tokens(): number {
    return this.#tokens;
  }

  /** Counts of requests. */
  requests(): ReplaySummary['requests'] {
    const by_reason: Partial<Record<EndReason, number>> = {};
    let finished = 0;
    for (const reason of END_REASONS) {
      const count = this.#ended.get(reason);
      if (count === undefined) continue;
      by_reason[reason] = count;
      finished += count;
    }
    return { finished, by_reason, open: this.#open.size };
  }

  /** Those that said something, in the order in which they began. */
  texts(): { readonly texts: TextEvent[]; readonly more_texts: number } {
    for (const [id, request] of this.#open) this.#keep(id, request, null, null);
    return { texts: [...this.#texts], more_texts: this.#more };
  }

  #begin(id: string, request: Open, atS: number): void {
    request.fromS = atS;
    if (this.#texts.length === MAX_TEXTS) {
      this.#more += 1;
      return;
    }
    request.index = this.#texts.length;
    this.#keep(id, request, null, null);
  }

  #keep(
    id: string,
    { seed, text, fromS, tokens, index }: Open,
    to_s: number | null,
    reason: EndReason | null,
  ): void {
    if (index === null) return;
    const standing = standingOf(id, this.#standing);
    this.#texts[index] = { id, standing, seed, text, from_s: fromS, to_s, reason, tokens };
  }
}
