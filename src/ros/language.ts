/** Keeps the open language requests of the node: admission by form, and the running caption. */
import type { ErrorCode } from '../core/errors';
import { standingOf } from '../core/standing';
import type { LanguageRequestInput, StandingInput } from '../engine/protocol';
import type { LanguageRequestMessage } from './messages';

export type Admission =
  | { readonly admitted: true; readonly request: LanguageRequestInput }
  | {
      readonly admitted: false;
      readonly id: string;
      readonly code: ErrorCode;
      readonly message: string;
      /** False when a finish message would look like the end of another request with the same id. */
      readonly announce: boolean;
    };

interface OpenRequest {
  readonly seed: string;
  text: string;
}

/** What a request said, and whose it was; null: not a standing request's. */
export interface Answer {
  readonly standing: string | null;
  readonly text: string;
}

/** Bounds of what a peer may send; the engine checks tokens, this is about letters. */
const MAX_ID_LETTERS = 128;
const MAX_TEXT_LETTERS = 4096;
const CAPTION_LINES = 8;

export class LanguageDesk {
  readonly #maxTokens: number;
  readonly #open = new Map<string, OpenRequest>();
  /** Seed texts of the standing requests that are or were. */
  readonly #standing = new Map<string, string>();
  #made = 0;
  #lastLine = '';

  constructor(maxTokens: number) {
    this.#maxTokens = maxTokens;
  }

  /** The engine asks these by itself, under ids `name/0`, `name/1`, … */
  standing(requests: readonly StandingInput[]): void {
    for (const { name, text } of requests) this.#standing.set(name, text);
  }

  /** Checks the form of a request and opens it. An empty id is replaced by one of ours. */
  admit(message: LanguageRequestMessage): Admission {
    const id = message.id === '' ? this.#nextId() : message.id;
    const fault = this.#fault(message);
    if (fault !== null) {
      const text = `language_request '${shortened(id)}': ${fault}`;
      return { admitted: false, id, code: 'REQUEST_INVALID', message: text, announce: !this.#open.has(id) };
    }
    if (this.#open.has(id)) {
      const text = `language_request '${id}': a request with this id is not finished yet`;
      return { admitted: false, id, code: 'REQUEST_INVALID', message: text, announce: false };
    }
    const standing = standingOf(id, this.#standing);
    if (standing !== null) {
      const text = `language_request '${shortened(id)}': ids that begin with ${standing}/ are those of a standing request`;
      return { admitted: false, id, code: 'REQUEST_INVALID', message: text, announce: false };
    }
    this.#open.set(id, { seed: message.text, text: '' });
    const deadlineMs = message.deadline.sec * 1000 + message.deadline.nanosec / 1e6;
    return {
      admitted: true,
      request: {
        id,
        text: message.text,
        maxTokens: message.max_tokens,
        temperature: message.temperature,
        topK: message.top_k,
        topP: message.top_p === 0 ? 1 : message.top_p,
        // 53 bits are what a number holds exactly; equal seeds stay equal.
        samplingSeed: Number(BigInt(message.seed) & ((1n << 53n) - 1n)),
        priority: message.priority,
        deadlineInMs: deadlineMs === 0 ? null : deadlineMs,
        keepOnInstruction: message.keep_on_instruction,
      },
    };
  }

  isOpen(id: string): boolean {
    return this.#open.has(id);
  }

  /** Adds readable text to a request; a standing one opens with its first token. */
  append(id: string, text: string): void {
    const standing = standingOf(id, this.#standing);
    if (standing !== null && !this.#open.has(id)) {
      this.#open.set(id, { seed: this.#standing.get(standing)!, text: '' });
    }
    const request = this.#open.get(id);
    if (request) request.text += text;
  }

  close(id: string): Answer {
    const request = this.#open.get(id);
    if (!request) return { standing: null, text: '' };
    this.#open.delete(id);
    this.#lastLine = line(request);
    return { standing: standingOf(id, this.#standing), text: request.text };
  }

  /** One line per open request, the newest last; the last finished one while none is open. */
  caption(): string {
    if (this.#open.size === 0) return this.#lastLine;
    return [...this.#open.values()].slice(-CAPTION_LINES).map(line).join('\n');
  }

  #nextId(): string {
    let id: string;
    do id = `request-${++this.#made}`;
    while (this.#open.has(id));
    return id;
  }

  #fault(message: LanguageRequestMessage): string | null {
    const { max_tokens: maxTokens, temperature, top_k: topK, top_p: topP, deadline } = message;
    if (message.id.length > MAX_ID_LETTERS) return `the id has more than ${MAX_ID_LETTERS} letters`;
    if (message.text.length > MAX_TEXT_LETTERS) return `the text has more than ${MAX_TEXT_LETTERS} letters`;
    if (maxTokens < 1 || maxTokens > this.#maxTokens) {
      return `max_tokens is ${maxTokens}; 1 to ${this.#maxTokens} are allowed (parameter max_tokens)`;
    }
    if (!Number.isFinite(temperature) || temperature < 0)
      return `temperature is ${temperature}; it must be 0 or more`;
    if (topK < 0) return `top_k is ${topK}; it must be 0 (off) or more`;
    if (!(topP >= 0 && topP <= 1)) return `top_p is ${topP}; it must be from 0 (off) to 1`;
    if (deadline.sec < 0) return `deadline is negative; zero means none`;
    return null;
  }
}

const line = (request: OpenRequest): string => `${request.seed}${request.text}`.replaceAll('\n', ' ').trim();

const shortened = (id: string): string => (id.length > 40 ? `${id.slice(0, 40)}…` : id);
