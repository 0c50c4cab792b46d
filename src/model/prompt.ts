/** The prompts of pi0.5 as texts, exactly as training wrote them, for instructions and states that make sense. */
import { OxygenError } from '../core/errors';
import type { ModelConfig } from './config';
import type { PromptProfile } from './manifest';

/** Far beyond any prompt limit; keeps a runaway publisher from costing tokeniser time. */
const MAX_CHARACTERS = 20_000;

/** Without control characters but tabs and newlines: no training text had them, and terminals obey them. */
export const withoutControls = (text: string): string => text.replace(/[^\P{Cc}\t\n]/gu, '');

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
  const clean = withoutControls(text)
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

/** What Python calls punctuation, at the end of a text. */
const LAST_PUNCTUATION = /[!-/:-@[-`{-~]$/;

/**
 * The texts of a prompt, to be tokenised one by one and joined, the begin token first. Their ends tell the model what is
 * wanted of it: whatever has to be shortened, it is the instruction.
 */
const TEXTS: Readonly<
  Record<PromptProfile, (instruction: string, bins: readonly number[]) => readonly string[]>
> = {
  // openpi and lerobot
  pi05_state: (instruction, bins) => [`Task: ${instruction}, State: ${bins.join(' ')};\nAction: `],
  // openpi without discrete_state_input, e.g. pi05_libero
  pi05_no_state: instruction => [instruction, '\n'],
  // OxyGen's own pi05_o2 configs
  oxygen_subtask: instruction => [
    `Task: ${instruction.toLowerCase().replace(LAST_PUNCTUATION, '')}. Subtask: `,
  ],
};

/** `instruction` must be clean; `bins` counts for profiles with the state only. */
export const promptTexts = (
  profile: PromptProfile,
  instruction: string,
  bins: readonly number[],
): readonly string[] => TEXTS[profile](instruction, bins);

export const readsState = (profile: PromptProfile): boolean => profile === 'pi05_state';

/** The profile that a checkpoint was trained with. */
export function promptProfileOf({
  name,
  discreteState,
}: Pick<ModelConfig, 'name' | 'discreteState'>): PromptProfile {
  if (/^pi05_o2(_|$)/.test(name)) return 'oxygen_subtask';
  return discreteState ? 'pi05_state' : 'pi05_no_state';
}
