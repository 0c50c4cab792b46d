/** The action prompt of pi0.5, exactly as openpi builds it, for texts and states that make sense. */
import { OxygenError } from '../core/errors';
import type { Tokenizer } from './tokenizer';

/** Far beyond any prompt limit; keeps a runaway publisher from costing tokeniser time. */
const MAX_CHARACTERS = 20_000;

/**
 * An instruction as the model was trained to read it: trimmed, every `_` and newline a space. Case, punctuation, tabs
 * and inner spaces stay; other control characters, which no training text had, are removed.
 *
 * @throws INSTRUCTION_INVALID when nothing is left, or when it is longer than 20 000 characters.
 */
export function cleanInstruction(text: string): string {
  if (text.length > MAX_CHARACTERS) {
    throw new OxygenError(
      'INSTRUCTION_INVALID',
      `The instruction has ${text.length} characters, more than the limit of ${MAX_CHARACTERS}.`,
      { details: { characters: text.length, limit: MAX_CHARACTERS } },
    );
  }
  const clean = text
    .replace(/[^\P{Cc}\t\n]/gu, '')
    // Before the underscores: openpi trims first, so `_x_` keeps a space on each side.
    .replace(/^\p{White_Space}+|\p{White_Space}+$/gu, '')
    .replace(/[\n_]/g, ' ');
  if (clean.trim() === '') {
    throw new OxygenError('INSTRUCTION_INVALID', 'The instruction is empty: say what the robot should do.', {
      details: { text: text.slice(0, 100) },
    });
  }
  return clean;
}

/**
 * Normalised state → bin numbers, -1 below the range and 0..255 in it and above: the left edges are -1 + i/128.
 *
 * @throws STATE_INVALID for NaN, naming the dimension.
 */
export function stateBins(normalised: Float64Array): number[] {
  return Array.from(normalised, (x, dimension) => {
    if (Number.isNaN(x)) {
      throw new OxygenError('STATE_INVALID', `Dimension ${dimension} of the normalised state is NaN.`, {
        details: { dimension },
      });
    }
    const bin = Math.max(-1, Math.min(255, Math.floor((x + 1) * 128)));
    // x + 1 may round up onto an edge that x itself has not reached; the edge is exact.
    return x < bin / 128 - 1 ? Math.max(-1, bin - 1) : bin;
  });
}

/** `instruction` must be clean. */
export const actionPrompt = (instruction: string, bins: readonly number[]): string =>
  `Task: ${instruction}, State: ${bins.join(' ')};\nAction: `;

/**
 * Ids of the action prompt with the begin token; `instruction` must be clean. `bins` null is for models trained without
 * the state in the prompt: they read the instruction and a newline, tokenised apart.
 *
 * A prompt that does not fit is refused, never cut: its end is the state and the word `Action:`.
 *
 * @throws PROMPT_TOO_LONG naming both counts.
 */
export function promptIds(
  tokenizer: Tokenizer,
  instruction: string,
  bins: readonly number[] | null,
  maxTokens: number,
): number[] {
  const texts = bins === null ? [instruction, '\n'] : [actionPrompt(instruction, bins)];
  const ids = [tokenizer.bosId, ...texts.flatMap(text => tokenizer.encode(text))];
  if (ids.length > maxTokens) {
    throw new OxygenError(
      'PROMPT_TOO_LONG',
      `The action prompt has ${ids.length} tokens, the model accepts ${maxTokens}: use a shorter instruction.`,
      { details: { tokens: ids.length, limit: maxTokens } },
    );
  }
  return ids;
}
