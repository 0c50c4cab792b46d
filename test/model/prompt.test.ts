import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { PROMPT_PROFILES, type PromptProfile } from '../../src/model/manifest';
import { cleanInstruction, promptProfileOf, promptTexts, stateBins } from '../../src/model/prompt';
import { promptIds } from '../../src/model/prompt-ids';
import { loadTokenizer } from '../../src/model/tokenizer';

const data = join(__dirname, '../data');
const { discretize, prompts } = JSON.parse(readFileSync(join(data, 'transforms/prompt.json'), 'utf8')) as {
  discretize: Record<string, number[]> & { values_f64: (number | string)[] };
  prompts: { prompt: string; state: number[]; texts: Record<PromptProfile, string[]> }[];
};

interface WholePathCase {
  readonly case: string;
  readonly instruction: string;
  readonly state_normalized: number[];
  readonly bins: number[];
  readonly prompt: string;
  readonly ids: number[];
}

const tokenizer = loadTokenizer(join(data, 'golden/tiny/tokenizer.json'));
const bins = (values: number[]): number[] => stateBins(Float64Array.from(values));

describe('O-13 cleaning', () => {
  test.each([
    ['  Pick_up_the\nred_cube \n', 'Pick up the red cube'],
    ['stack the blocks.', 'stack the blocks.'],
    ["what's_this?  ", "what's this?"],
    ['_x_\n', ' x '],
    ['multi   space\tand tab', 'multi   space\tand tab'],
    ['pick\r\nup', 'pick up'],
    ['re\u0000ach\u0007 it\u007f\u0085', 'reach it'],
    ['Öffne – 🤖', 'Öffne – 🤖'],
  ])('%j', (text, clean) => expect(cleanInstruction(text)).toBe(clean));

  test.each(['', ' ', '\n\t', '___', '\u0000', '\u0085\u00a0'])('%j is empty and refused', text => {
    expect(() => cleanInstruction(text)).toThrow(expect.objectContaining({ code: 'INSTRUCTION_INVALID' }));
  });

  test('a runaway instruction is refused before it is tokenised', () => {
    expect(() => cleanInstruction('a'.repeat(1_000_000))).toThrow(
      expect.objectContaining({ code: 'INSTRUCTION_INVALID', message: expect.stringContaining('1000000') }),
    );
  });

  test('nothing unprintable but the tab survives', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        try {
          expect(cleanInstruction(text)).not.toMatch(/[^\P{Cc}\t]|_/u);
        } catch (error) {
          expect(error).toMatchObject({ code: 'INSTRUCTION_INVALID' });
        }
      }),
    );
  });
});

describe('state bins', () => {
  test('golden values, with the edges and their neighbours', () => {
    discretize.values_f64.forEach((golden, i) => {
      if (golden === 'nan') return;
      const value = golden === 'inf' ? Infinity : golden === '-inf' ? -Infinity : Number(golden);
      expect([value, ...bins([value])]).toEqual([value, discretize.bins![i]]);
    });
    expect(bins(discretize.random_f32!)).toEqual(discretize.random_bins);

    const edges = Array.from({ length: 256 }, (_, i) => -1 + i / 128);
    expect(bins(edges)).toEqual(discretize.edges_exact_bins);
    expect(bins(edges.map(e => neighbour32(e, -1)))).toEqual(discretize.edges_f32_minus_ulp_bins);
    expect(bins(edges.map(e => neighbour32(e, 1)))).toEqual(discretize.edges_f32_plus_ulp_bins);
  });

  test('the number of left edges not above x, minus one, for any double', () => {
    const edges = Array.from({ length: 256 }, (_, i) => -1 + i / 128);
    const near = fc
      .tuple(fc.constantFrom(...edges), fc.constantFrom(-1e-17, -5e-324, 0, 5e-324, 1e-17))
      .map(([e, d]) => e + d);
    fc.assert(
      fc.property(
        fc.oneof(fc.double({ noNaN: true }), fc.double({ min: -1.1, max: 1.1, noNaN: true }), near),
        x => {
          expect(bins([x])).toEqual([edges.filter(edge => edge <= x).length - 1]);
        },
      ),
      { numRuns: 2000 },
    );
  });

  test('NaN is refused by name, not turned into 255', () => {
    expect(() => bins([0, 1, NaN])).toThrow(
      expect.objectContaining({ code: 'STATE_INVALID', message: expect.stringContaining('Dimension 2') }),
    );
  });
});

/** The float32 next to `x`. */
function neighbour32(x: number, direction: 1 | -1): number {
  const float = new Float32Array([x]);
  const bits = new Int32Array(float.buffer);
  if (x === 0) return direction * 2 ** -149;
  bits[0]! += Math.sign(x) * direction;
  return float[0]!;
}

describe('O-12 the prompt', () => {
  test('three numbers for three values, a newline before Action, one trailing space', () => {
    expect(promptTexts('pi05_state', cleanInstruction('pick up the cube'), bins([-1.3, 0, 0.5]))).toEqual([
      'Task: pick up the cube, State: -1 128 192;\nAction: ',
    ]);
  });

  test('fourteen numbers for fourteen values, whatever the width of the model', () => {
    const [text] = promptTexts('pi05_state', 'pick', bins(new Array<number>(14).fill(0)));
    expect(text!.match(/128/g)).toHaveLength(14);
  });

  describe.each(PROMPT_PROFILES)('golden %s', profile => {
    test.each(prompts.filter(p => p.prompt !== ''))('$prompt', ({ prompt, state, texts }) => {
      expect(promptTexts(profile, cleanInstruction(prompt), bins(state))).toEqual(texts[profile]);
    });
  });

  test('the begin token once; texts are tokenised apart', () => {
    const encode = tokenizer.encode.bind(tokenizer);
    const text = 'reach the red block';
    const rules = { maxTokens: 48, tooLong: 'refuse' } as const;
    expect(promptIds(tokenizer, text, [7], { profile: 'pi05_no_state', ...rules }).ids).toEqual([
      tokenizer.bosId,
      ...encode(text),
      ...encode('\n'),
    ]);
  });

  describe.each(['tiny', 'odd'])('whole_path of %s', config => {
    const path = join(data, `golden/${config}/whole_path.json`);
    const { cases } = JSON.parse(readFileSync(path, 'utf8')) as { cases: WholePathCase[] };
    test.each(cases)('$case', c => {
      const found = bins(c.state_normalized);
      expect(found).toEqual(c.bins);
      expect(promptTexts('pi05_state', cleanInstruction(c.instruction), found)).toEqual([c.prompt]);
      const rules = { profile: 'pi05_state', maxTokens: c.ids.length, tooLong: 'refuse' } as const;
      expect(promptIds(tokenizer, c.instruction, found, rules).ids).toEqual(c.ids);
    });
  });
});

describe('O-13 the language prompt of OxyGen', () => {
  test.each([
    ['  Pick_up_the\nred_cube \n', 'Task: pick up the red cube. Subtask: '],
    ['stack the blocks.', 'Task: stack the blocks. Subtask: '],
    ["what's_this?  ", "Task: what's this. Subtask: "],
    ['stop!!', 'Task: stop!. Subtask: '],
    ['do\u3002', 'Task: do\u3002. Subtask: '],
  ])('%j', (text, prompt) => {
    expect(promptTexts('oxygen_subtask', cleanInstruction(text), [])).toEqual([prompt]);
  });
});

test.each([
  ['pi05', true, 'pi05_state'],
  ['pi05_libero', false, 'pi05_no_state'],
  ['pi05_o2_libero', true, 'oxygen_subtask'],
  ['pi05_o2', false, 'oxygen_subtask'],
  ['my_pi05_o2x', true, 'pi05_state'],
] as const)('a checkpoint named %s with discreteState %s reads %s', (name, discreteState, profile) => {
  expect(promptProfileOf({ name, discreteState })).toBe(profile);
});
