import { OxygenError } from '../../src/core/errors';
import { languageRequest, standingRequests } from '../../src/engine/language-io';
import type { LanguageRequestInput, StandingInput } from '../../src/engine/protocol';

const LIMITS = { maxTokens: 8, maxSeedTokens: 4 };
/** One token per letter. */
const io = {
  seedIds: (text: string, most: number): number[] => {
    if (text.length > most) throw new OxygenError('REQUEST_INVALID', `${text.length} tokens`);
    return [...text].map(letter => letter.charCodeAt(0));
  },
};

const SAMPLING = {
  temperature: 0,
  topK: 3,
  topP: 0.9,
  samplingSeed: 1,
  priority: 2,
  keepOnInstruction: true,
};
const request: LanguageRequestInput = { id: 'a', text: 'ab', maxTokens: 8, deadlineInMs: 50, ...SAMPLING };
const standing = (name: string, over: Partial<StandingInput> = {}): StandingInput => ({
  name,
  text: 'ab',
  every: { kind: 'ended' },
  maxTokens: 8,
  deadlineInMs: null,
  ...SAMPLING,
  ...over,
});

test('a request: seed ids for its text, the deadline on the engine’s clock, all else as it came', () => {
  expect(languageRequest(request, io, LIMITS, 1000)).toEqual({
    id: 'a',
    seedIds: [97, 98],
    maxTokens: 8,
    deadlineMs: 1050,
    ...SAMPLING,
  });
  expect(languageRequest({ ...request, deadlineInMs: null }, io, LIMITS, 1000).deadlineMs).toBeNull();
});

test.each([{ maxTokens: 0 }, { maxTokens: 9 }, { text: 'abcde' }])('refused: %p', over => {
  expect(() => languageRequest({ ...request, ...over }, io, LIMITS, 0)).toThrow(
    expect.objectContaining({ code: 'REQUEST_INVALID' }),
  );
});

test('a standing request that cannot be is one drop that names it; the others go on', () => {
  const drops: OxygenError[] = [];
  const inputs = [
    standing('a'),
    standing('b', { text: 'abcde' }),
    standing('c', { maxTokens: 9 }),
    standing('d'),
  ];
  const found = standingRequests(inputs, io, LIMITS, error => drops.push(error));
  expect(found).toMatchObject([
    { name: 'a', seedIds: [97, 98], every: { kind: 'ended' }, topK: 3 },
    { name: 'd', seedIds: [97, 98] },
  ]);
  expect(found[0]).not.toHaveProperty('text');
  expect(drops.map(({ code, message }) => [code, message])).toEqual([
    ['REQUEST_INVALID', 'standing request b is not asked: 5 tokens'],
    ['REQUEST_INVALID', 'standing request c is not asked: max_tokens is 9; allowed are 1 to 8'],
  ]);
});
