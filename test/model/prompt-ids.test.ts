import { join } from 'node:path';
import fc from 'fast-check';
import type { OxygenError } from '../../src/core/errors';
import { PROMPT_PROFILES, type PromptProfile } from '../../src/model/manifest';
import { cleanInstruction, promptTexts } from '../../src/model/prompt';
import { promptIds, PromptWriter, type LongPrompt, type PromptRules } from '../../src/model/prompt-ids';
import { loadTokenizer } from '../../src/model/tokenizer';

const tokenizer = loadTokenizer(join(__dirname, '../data/golden/tiny/tokenizer.json'));
const state = Array.from({ length: 14 }, (_, i) => i * 10);
const rules = (
  maxTokens: number,
  tooLong: LongPrompt,
  profile: PromptProfile = 'pi05_state',
): PromptRules => ({
  profile,
  maxTokens,
  tooLong,
});
const countOf = (instruction: string, profile?: PromptProfile): number =>
  promptIds(tokenizer, instruction, state, rules(1e6, 'refuse', profile)).ids.length;
const tails = { pi05_state: ';\nAction: ', pi05_no_state: '\n', oxygen_subtask: ' Subtask: ' };
const tailOf = (profile: PromptProfile): number[] => tokenizer.encode(tails[profile]);

describe('O-14 prompt too long', () => {
  const words = (n: number): string => new Array(n).fill('red').join(' ');
  const room = 200;
  const exact = words(room - countOf('red') + 1);

  test('exactly the limit passes whole', () => {
    const prompt = promptIds(tokenizer, exact, state, rules(room, 'shorten'));
    expect(prompt.ids).toHaveLength(room);
    expect(prompt.instruction).toBe(exact);
  });

  test('one more is shortened by one word', () => {
    const prompt = promptIds(tokenizer, `${exact} red`, state, rules(room, 'shorten'));
    expect(prompt.instruction).toBe(exact);
    expect(prompt.ids).toEqual(promptIds(tokenizer, exact, state, rules(room, 'refuse')).ids);
  });

  test('5000 characters keep the state and the word Action', () => {
    const { ids, instruction } = promptIds(tokenizer, words(1250), state, rules(room, 'shorten'));
    expect(instruction).toBe(exact);
    expect(ids.length).toBeLessThanOrEqual(room);
    expect(tokenizer.decode(ids)).toMatch(/ red, State: 0 10 20 .* 130;\nAction: $/);
  });

  test('one word of 5000 letters is cut between letters', () => {
    const { ids, instruction } = promptIds(tokenizer, 'a'.repeat(5000), state, rules(room, 'shorten'));
    expect(ids).toHaveLength(room);
    expect(instruction).toMatch(/^a+$/);
  });

  test.each([201, 5000])('%d more are refused, naming both counts', more => {
    const text = `${exact} ${words(more - 200)}`;
    const tokens = countOf(text);
    expect(() => promptIds(tokenizer, text, state, rules(room, 'refuse'))).toThrow(
      expect.objectContaining({
        code: 'PROMPT_TOO_LONG',
        message: expect.stringMatching(new RegExp(`${tokens} tokens.* ${room}`)),
        details: { tokens, limit: room },
      }),
    );
  });

  test('a limit that the state alone fills is refused', () => {
    expect(() => promptIds(tokenizer, 'red block', state, rules(countOf('') - 1, 'shorten'))).toThrow(
      expect.objectContaining({ code: 'PROMPT_TOO_LONG' }),
    );
  });

  test('whatever the instruction: never above the limit, a beginning in whole characters, the tail as it is', () => {
    const characters = [
      ...'ab ,.;:éß日本語\u0301🤖',
      '👩‍🔧',
      '👨‍👩‍👧‍👦',
      '\ud83c\udde9\ud83c\uddea',
      ', State: 1',
      'pick up ',
    ];
    const graphemes = new Intl.Segmenter('en');
    fc.assert(
      fc.property(
        fc
          .array(fc.constantFrom(...characters), { minLength: 1, maxLength: 60 })
          .map(parts => parts.join('')),
        fc.constantFrom(...PROMPT_PROFILES),
        fc.integer({ min: 1, max: 80 }),
        (text, profile, more) => {
          fc.pre(text.trim() !== '');
          const instruction = cleanInstruction(text);
          const limit = countOf('', profile) + more;
          try {
            const prompt = promptIds(tokenizer, instruction, state, rules(limit, 'shorten', profile));
            expect(prompt.ids.length).toBeLessThanOrEqual(limit);
            expect(prompt.ids.slice(-tailOf(profile).length)).toEqual(tailOf(profile));
            expect(prompt.ids[0]).toBe(tokenizer.bosId);
            expect(instruction.startsWith(prompt.instruction)).toBe(true);
            const ends = [...graphemes.segment(instruction)].map(({ index }) =>
              instruction.slice(0, index).trimEnd(),
            );
            expect([instruction, ...ends]).toContain(prompt.instruction);
            const texts = promptTexts(profile, prompt.instruction, state);
            expect(prompt.ids.slice(1)).toEqual(texts.flatMap(t => tokenizer.encode(t)));
          } catch (error) {
            expect(error).toMatchObject({ code: 'PROMPT_TOO_LONG' });
            const first = [...graphemes.segment(instruction.trimStart())][0]!.segment;
            const least = instruction.slice(0, instruction.indexOf(first) + first.length);
            expect(countOf(least, profile)).toBeGreaterThan(limit);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('O-14 frame after frame', () => {
  const reports: OxygenError[] = [];
  const writer = (maxTokens: number): PromptWriter => {
    reports.length = 0;
    return new PromptWriter(tokenizer, rules(maxTokens, 'shorten'), error => reports.push(error));
  };
  const text = 'put the red block on the blue block and the green block on the red block';

  test('words left out once stay out, and are reported once', () => {
    const short = [1, 1, 1];
    const long = [1, 1, 1, 1, 1, 1];
    const fitsShort = promptIds(tokenizer, text, short, rules(1e6, 'refuse')).ids.length;
    const prompts = writer(fitsShort);
    const seen = (bins: number[]): string => tokenizer.decode(prompts.ids(text, bins)).split(',')[0]!;
    expect(seen(short)).toBe(`Task: ${text}`);
    expect(reports).toEqual([]);
    const shortened = seen(long);
    expect(shortened.length).toBeLessThan(`Task: ${text}`.length);
    for (const bins of [short, long, short]) expect(seen(bins)).toBe(shortened);
    expect(reports).toEqual([
      expect.objectContaining({
        code: 'PROMPT_SHORTENED',
        message: expect.stringContaining(`${text.length} char`),
      }),
    ]);
    prompts.ids('reach the red block', short);
    expect(seen(short)).toBe(`Task: ${text}`);
  });

  test('an unusable instruction is refused in every frame and never replaced by the one before', () => {
    const prompts = writer(100);
    prompts.ids(text, [1]);
    for (let frame = 0; frame < 2; frame++) {
      expect(() => prompts.ids('  ', [1])).toThrow(expect.objectContaining({ code: 'INSTRUCTION_INVALID' }));
    }
  });
});
