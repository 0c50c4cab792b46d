/** Language requests of the ROS graph: refuses malformed ones, passes the others on, and publishes every token. */
import { ERROR_CODES } from '../core/errors';
import type { ErrorCode } from '../core/errors';
import type { EngineEvent } from '../engine/client';
import type { StandingInput, ToEngine } from '../engine/protocol';
import type { DropLog } from './drops';
import { LanguageDesk } from './language';
import type { LanguageRequestMessage } from './messages';
import { finishMessage, refusalMessage, tokenMessage } from './outputs';
import type { LanguageTokenMessage } from './outputs';

type TokenEvent = Extract<EngineEvent, { type: 'token' }>;
type DoneEvent = Extract<EngineEvent, { type: 'done' }>;

export interface LanguageDeps {
  /** Upper limit of a request's max_tokens. */
  readonly maxTokens: number;
  readonly drops: DropLog;
  /** Why no request is taken now; null when they are. */
  readonly closed: () => ErrorCode | null;
  /** False when the engine is not there. */
  readonly send: (message: ToEngine) => boolean;
  readonly publishToken: (message: LanguageTokenMessage) => void;
  readonly publishCaption: (text: string) => void;
  /** A standing request has ended well. `frameStampNs`: of the frame that it looked at. */
  readonly onAnswer: (name: string, text: string, frameStampNs: bigint) => void;
}

/** Letters of a stranger's id that a log line shows. */
const SHOWN_LETTERS = 60;

export class LanguageService {
  readonly #deps: LanguageDeps;
  readonly #desk: LanguageDesk;
  #shown = '';

  constructor(deps: LanguageDeps) {
    this.#deps = deps;
    this.#desk = new LanguageDesk(deps.maxTokens);
  }

  standing(requests: readonly StandingInput[]): void {
    this.#desk.standing(requests);
  }

  request(message: LanguageRequestMessage): void {
    const { drops, publishToken, send, closed } = this.#deps;
    const admission = this.#desk.admit(message);
    if (!admission.admitted) {
      drops.drop(admission.code, admission.message);
      if (admission.announce) publishToken(refusalMessage(admission.id, 'rejected'));
      return;
    }
    const { request } = admission;
    const reason = closed();
    if (reason !== null) {
      this.#desk.close(request.id);
      drops.drop(reason, `language_request ${request.id}: ${ERROR_CODES[reason]}`);
      publishToken(refusalMessage(request.id, 'rejected'));
      return;
    }
    if (send({ type: 'request', request })) return;
    this.#desk.close(request.id);
    drops.drop('ENGINE_DOWN', `language_request ${request.id}: the engine is not running`);
    publishToken(refusalMessage(request.id, 'failed'));
  }

  cancel(id: string): void {
    if (this.#desk.isOpen(id)) {
      this.#deps.send({ type: 'cancel', id });
      return;
    }
    const shown = id.slice(0, SHOWN_LETTERS);
    this.#deps.drops.drop('REQUEST_UNKNOWN', `cancel_request: no unfinished request has the id '${shown}'`);
  }

  token(event: TokenEvent): void {
    this.#desk.append(event.id, event.text);
    this.#deps.publishToken(tokenMessage(event));
  }

  /** Refused requests are drops; one that failed on the way is only worth a warning. */
  done(event: DoneEvent): void {
    const { id, reason, error } = event;
    this.#desk.append(id, event.text);
    const { standing, text } = this.#desk.close(id);
    this.#deps.publishToken(finishMessage(event));
    const well = reason === 'end' || reason === 'length';
    if (standing !== null && well) this.#deps.onAnswer(standing, text, event.frameStampNs);
    if (error === null) return;
    const refused = reason === 'rejected' || reason === 'dropped';
    this.#deps.drops[refused ? 'drop' : 'warn'](
      error.code,
      `language_request ${id} ${reason}: ${error.message}`,
    );
  }

  get caption(): string {
    return this.#desk.caption();
  }

  /** Publishes the running caption when it has changed. */
  showCaption(): void {
    const caption = this.#desk.caption();
    if (caption === this.#shown) return;
    this.#shown = caption;
    this.#deps.publishCaption(caption);
  }
}
