/** What the node does with each thing that its engine says. */
import type { EngineEvent } from '../engine/client';
import type { ActionStream } from './action-stream';
import type { DropLog, Logger } from './drops';
import type { FramePull } from './frames';
import type { LanguageService } from './language-service';
import { readyLine } from './log-lines';
import type { StatusBoard } from './status';

export interface EngineListener {
  readonly board: StatusBoard;
  readonly drops: DropLog;
  readonly log: Logger;
  readonly pull: FramePull;
  readonly language: LanguageService;
  readonly actions: ActionStream;
  readonly active: () => boolean;
  /** When the engine process ends, what plays stops at once. */
  readonly holdWhenDown: () => boolean;
  readonly nowNs: () => bigint;
  readonly up: (up: boolean) => void;
}

export function onEngineEvent(event: EngineEvent, node: EngineListener): void {
  const { board, drops, log, pull, language, actions } = node;
  switch (event.type) {
    case 'up':
      board.engineUp(event.info);
      pull.engineUp(event.info);
      for (const note of event.info.providerNotes) log.warn(`PROVIDER_MISSING: ${note}`);
      log.info(readyLine(event.info));
      if (event.info.kvHandOver !== null) log.info(event.info.kvHandOver);
      return node.up(true);
    case 'down':
      board.engineDown();
      pull.engineDown();
      if (node.holdWhenDown()) actions.stopPlaying(node.nowNs());
      drops.drop('ENGINE_DOWN', event.reason);
      return node.up(false);
    case 'want-frame':
      return pull.want();
    case 'chunk':
      if (node.active()) return actions.accept(event.chunk, node.nowNs());
      return drops.dropByDesign('CHUNK_DISABLED', 'a chunk was not played: the node is not active');
    case 'token':
      board.token();
      return language.token(event);
    case 'done':
      board.finished(event);
      // That the end of the node ends its requests is no news.
      return language.done(node.active() ? event : { ...event, error: null });
    case 'stats':
      return board.stats(event.stats);
    case 'language-off':
      board.language('off');
      return drops.drop(event.code, event.message);
    case 'drop':
      if (event.code === 'NON_FINITE') actions.badChunk(node.nowNs());
      return drops.drop(event.code, event.message);
    case 'warning':
      return drops.warn(event.code, event.message, event.message);
    default:
  }
}
