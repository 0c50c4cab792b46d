/** sentencepiece models: converted, they give the ids of the sentencepiece library; damaged ones give an error. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { tokenizerJson } from '../../src/model/sentencepiece-json';
import { loadTokenizer, type Tokenizer } from '../../src/model/tokenizer';
import { GEMMA_FIRST, modelBytes, piece } from './sentencepiece-writer';
import { askPeer, type PeerAnswer } from './tokenizer-peer';
import { randomTexts, TEXTS } from './tokenizer-texts';

const temporary = join(__dirname, '../.tmp/tokenizer');
const modelPath = (name: string): string => join(temporary, `${name}.model`);

/** As Gemma's model was trained. */
const GEMMA = {
  model_type: 'bpe',
  vocab_size: 1500,
  hard_vocab_limit: false,
  character_coverage: 0.995,
  byte_fallback: true,
  split_digits: true,
  allow_whitespace_only_pieces: true,
  add_dummy_prefix: false,
  remove_extra_whitespaces: false,
  normalization_rule_name: 'identity',
  pad_id: 0,
  eos_id: 1,
  bos_id: 2,
  unk_id: 3,
  pad_piece: '<pad>',
  eos_piece: '<eos>',
  bos_piece: '<bos>',
  unk_piece: '<unk>',
};
const BY_HAND = [
  '\n',
  '\n\n',
  '\n\n\n',
  '▁▁',
  '▁▁▁▁',
  '\t\t',
  '<loc0000>',
  '<loc0001>',
  '<table>',
  'ab',
  'abra',
];
const MODELS: Readonly<Record<string, object>> = {
  gemma: { ...GEMMA, user_defined_symbols: BY_HAND },
  // Runs of one character, words across spaces: pieces that can be put together in several ways.
  runs: { ...GEMMA, split_by_whitespace: false, split_by_unicode_script: false, split_by_number: false },
  unigram: { ...GEMMA, model_type: 'unigram', vocab_size: 900 },
  spaces: { ...GEMMA, add_dummy_prefix: true, remove_extra_whitespaces: true },
  nfkc: { ...GEMMA, normalization_rule_name: 'nfkc' },
  bytes: { ...GEMMA, byte_fallback: false },
};
const WORDS = [
  'pick',
  ' up',
  ' the',
  ' red',
  ' cup',
  'a',
  'aa',
  'aaa',
  '-',
  '--',
  '...',
  ' ',
  '  ',
  ' put it on',
  '12',
  'abra',
];
const corpus = [
  ...TEXTS.filter(text => text.length < 200),
  ...fc
    .sample(fc.array(fc.constantFrom(...WORDS), { minLength: 3, maxLength: 20 }), { numRuns: 600, seed: 3 })
    .map(words => words.join('')),
].flatMap(text => text.replaceAll('\0', ' ').split('\n'));

beforeAll(async () => {
  mkdirSync(temporary, { recursive: true });
  await askPeer(
    ...Object.entries(MODELS).map(
      ([name, options]) => ({ library: 'trainer', path: modelPath(name), texts: corpus, options }) as const,
    ),
  );
});

/** The path of the converted file. */
function converted(name: string): string {
  const path = join(temporary, `${name}_converted.json`);
  writeFileSync(path, tokenizerJson(modelPath(name)));
  return path;
}

describe.each(['gemma', 'runs'])('%s', name => {
  let tokenizer: Tokenizer;
  let peer: PeerAnswer;
  let texts: string[];

  beforeAll(async () => {
    tokenizer = loadTokenizer(converted(name));
    const words = Array.from({ length: tokenizer.vocabSize }, (_, id) => String(tokenizer.piece(id))).filter(
      Boolean,
    );
    texts = [...TEXTS, ...randomTexts([...words, 'a', 'aa', '-', '--', '..', 'ab'], 2000, 11)];
    const ids = texts.map(text => tokenizer.encode(text));
    [peer] = (await askPeer({ library: 'sentencepiece', path: modelPath(name), texts, ids })) as [PeerAnswer];
  });

  test('ids of every text', () => {
    expect(tokenizer.vocabSize).toBeGreaterThan(1000);
    const wrong = texts.filter((text, i) => String(tokenizer.encode(text)) !== String(peer.ids[i]));
    expect(wrong).toEqual([]);
  });

  test('texts of every ids', () => {
    expect(peer.ids.map(ids => tokenizer.decode(ids))).toEqual(peer.texts);
  });

  test('special ids', () => {
    expect([tokenizer.padId, tokenizer.eosId, tokenizer.bosId]).toEqual([0, 1, 2]);
  });
});

test('models made by chance: equal scores, characters that are no pieces, pieces defined by hand', async () => {
  const letters = fc
    .array(fc.constantFrom('a', 'a', 'b', '-'), { minLength: 2, maxLength: 5 })
    .map(l => l.join(''));
  const models = fc.sample(
    fc.record({
      characters: fc.subarray(['a', 'b', '-', '▁', '日']),
      pieces: fc.uniqueArray(fc.record({ text: letters, score: fc.integer({ min: -6, max: 0 }) }), {
        selector: p => p.text,
        minLength: 4,
        maxLength: 20,
      }),
      byHand: fc.uniqueArray(letters, { maxLength: 2 }),
      texts: fc.array(
        fc
          .array(fc.constantFrom('a', 'aa', 'b', '-', 'ab', '日'), { maxLength: 14 })
          .map(parts => parts.join('')),
        { minLength: 30, maxLength: 30 },
      ),
    }),
    { numRuns: 150, seed: 5 },
  );
  const requests = models.map(({ characters, pieces, byHand, texts }, i) => {
    const path = modelPath(`chance_${i}`);
    const byScore = pieces.filter(({ text }) => !byHand.includes(text));
    writeFileSync(
      path,
      modelBytes([
        ...GEMMA_FIRST,
        ...byHand.map(text => piece(text, 0, 4)),
        ...byScore.map(({ text, score }) => piece(text, score, 1)),
        ...characters.map(text => piece(text, -100, 1)),
      ]),
    );
    return { library: 'sentencepiece', path, texts, ids: [] } as const;
  });
  const peers = await askPeer(...requests);
  requests.forEach(({ path, texts }, i) => {
    const json = join(temporary, 'chance.json');
    writeFileSync(json, tokenizerJson(path));
    const tokenizer = loadTokenizer(json);
    expect(texts.map(text => [text, tokenizer.encode(text)])).toEqual(
      texts.map((text, k) => [text, peers[i]!.ids[k]]),
    );
  });
});

describe('models of another kind are refused', () => {
  test.each([
    ['unigram', 'of the kind UNIGRAM, only BPE'],
    ['spaces', 'it puts a space before every text; it removes extra spaces'],
    ['nfkc', 'replaces characters'],
    ['bytes', 'no byte fallback'],
  ])('%s', (name, reason) => {
    expect(() => tokenizerJson(modelPath(name))).toThrow(
      expect.objectContaining({ code: 'TOKENIZER_INVALID', message: expect.stringContaining(reason) }),
    );
    expect(() => tokenizerJson(modelPath(name))).toThrow(modelPath(name));
  });
});

test('a tokenizer.json is taken as it is', () => {
  const path = join(__dirname, '../data/golden/tiny/tokenizer.json');
  expect(tokenizerJson(path)).toBe(readFileSync(path, 'utf8'));
});
