/** Prompts as token ids that fit the model: an instruction that is too long is shortened or refused, never the rest. */
import { OxygenError } from '../core/errors';
import type { PromptProfile } from './manifest';
import { cleanInstruction, promptTexts } from './prompt';
import type { Tokenizer } from './tokenizer';

export const LONG_PROMPTS = ['shorten', 'refuse'] as const;
/** What becomes of a prompt that is too long. */
export type LongPrompt = (typeof LONG_PROMPTS)[number];

export interface PromptRules {
  readonly profile: PromptProfile;
  /** Tokens that the model reads at most, the begin token included. */
  readonly maxTokens: number;
  readonly tooLong: LongPrompt;
}

export interface PromptIds {
  readonly ids: number[];
  /** The instruction as it stands in the prompt: the given one, or its beginning. */
  readonly instruction: string;
}

/**
 * Ids of a prompt with the begin token; `instruction` must be clean. What is left of one that is shortened ends with a
 * whole word where any fits, with a whole character otherwise.
 *
 * @throws PROMPT_TOO_LONG naming both counts, when refusing is wanted or not even one character fits.
 */
export function promptIds(
  tokenizer: Tokenizer,
  instruction: string,
  bins: readonly number[],
  { profile, maxTokens, tooLong }: PromptRules,
): PromptIds {
  const encode = (text: string): number[] => [
    tokenizer.bosId,
    ...promptTexts(profile, text, bins).flatMap(part => tokenizer.encode(part)),
  ];
  const ids = encode(instruction);
  if (ids.length <= maxTokens) return { ids, instruction };
  if (tooLong === 'shorten') {
    for (const unit of ['word', 'grapheme'] as const) {
      const found = longest(beginnings(instruction, unit), text => {
        const shorter = encode(text);
        return shorter.length <= maxTokens ? { ids: shorter, instruction: text } : null;
      });
      if (found) return found;
    }
  }
  throw new OxygenError(
    'PROMPT_TOO_LONG',
    `The prompt has ${ids.length} tokens, the model accepts ${maxTokens}: use a shorter instruction.`,
    { details: { tokens: ids.length, limit: maxTokens } },
  );
}

/** What an instruction can be shortened to, the shortest first. */
function beginnings(instruction: string, granularity: 'word' | 'grapheme'): string[] {
  const parts = new Intl.Segmenter('en', { granularity }).segment(instruction);
  const texts = Array.from(parts, ({ index }) => instruction.slice(0, index).trimEnd());
  return [...new Set(texts)].filter(text => text !== '');
}

/** The last candidate that `fit` accepts, by halving: those after one that is too long are too long as well. */
function longest<T>(candidates: readonly string[], fit: (text: string) => T | null): T | null {
  let best: T | null = null;
  let low = 0;
  let high = candidates.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const found = fit(candidates[middle]!);
    if (found === null) {
      high = middle;
    } else {
      best = found;
      low = middle + 1;
    }
  }
  return best;
}

/**
 * Prompts of frame after frame. The state makes them longer and shorter; words that were left out once stay out, so that
 * the model does not read another instruction in every frame.
 */
export class PromptWriter {
  readonly #tokenizer: Tokenizer;
  readonly #rules: PromptRules;
  readonly #report: (error: OxygenError) => void;
  #given: string | null = null;
  #clean = '';

  /** `report` hears when words are left out. */
  constructor(tokenizer: Tokenizer, rules: PromptRules, report: (error: OxygenError) => void) {
    this.#tokenizer = tokenizer;
    this.#rules = rules;
    this.#report = report;
  }

  /** Throws INSTRUCTION_INVALID or PROMPT_TOO_LONG. */
  ids(instruction: string, bins: readonly number[]): number[] {
    if (instruction !== this.#given) {
      this.#clean = cleanInstruction(instruction);
      this.#given = instruction;
    }
    const prompt = promptIds(this.#tokenizer, this.#clean, bins, this.#rules);
    if (prompt.instruction !== this.#clean) {
      const { length } = prompt.instruction;
      this.#report(
        new OxygenError(
          'PROMPT_SHORTENED',
          `The model reads ${length} of ${this.#clean.length} characters of the instruction, up to ` +
            `"${prompt.instruction.slice(-30)}": its prompt has at most ${this.#rules.maxTokens} tokens.`,
        ),
      );
      this.#clean = prompt.instruction;
    }
    return prompt.ids;
  }
}
