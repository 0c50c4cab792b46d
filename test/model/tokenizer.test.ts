import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { loadTokenizer, TextStream, type Tokenizer } from '../../src/model/tokenizer';

const data = join(__dirname, '../data');
const temporary = join(__dirname, '../.tmp/tokenizer');
const readJson = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8')) as T;

interface WholePath {
  readonly cases: readonly {
    readonly case: string;
    readonly prompt: string;
    readonly ids: number[];
    readonly language: {
      readonly seed: string;
      readonly seed_ids: number[];
      readonly tokens: number[];
      readonly text: string;
    }[];
  }[];
}

interface HfVectors {
  readonly texts: string[];
  readonly variants: {
    readonly name: string;
    readonly patch: object;
    readonly encode: number[][];
    readonly decode: { readonly ids: number[]; readonly text: string }[];
  }[];
}

const tinyPath = join(data, 'golden/tiny/tokenizer.json');
const tiny = loadTokenizer(tinyPath);

/** The tiny tokenizer with other top-level entries. */
function variant(name: string, patch: object): string {
  mkdirSync(temporary, { recursive: true });
  const path = join(temporary, `${name}.json`);
  writeFileSync(path, JSON.stringify({ ...readJson<object>(tinyPath), ...patch }));
  return path;
}

describe.each(['tiny', 'odd'])('whole_path of %s', config => {
  const tokenizer = loadTokenizer(join(data, `golden/${config}/tokenizer.json`));
  const { cases } = readJson<WholePath>(join(data, `golden/${config}/whole_path.json`));
  for (const c of cases) {
    test(`${c.case} prompt`, () => expect([tokenizer.bosId, ...tokenizer.encode(c.prompt)]).toEqual(c.ids));
    test.each(c.language)(`${c.case} seed "$seed"`, ({ seed, seed_ids, tokens, text }) => {
      expect(tokenizer.encode(seed)).toEqual(seed_ids);
      expect(tokenizer.decode(tokens)).toBe(text);
    });
  }
});

test('special ids', () => {
  expect([tiny.padId, tiny.eosId, tiny.bosId, tiny.vocabSize]).toEqual([0, 1, 2, 663]);
});

/**
 * hf_vectors.json: texts and ids through the Rust `tokenizers` 0.23.3 (encode_special_tokens on, skip_special_tokens
 * on), with the tiny tokenizer and with variants that split like Gemma's or have added tokens that are not special.
 */
describe('Hugging Face vectors', () => {
  const { texts, variants } = readJson<HfVectors>(join(data, 'tokenizer/hf_vectors.json'));
  for (const { name, patch, encode, decode } of variants) {
    const tokenizer = loadTokenizer(variant(name, patch));
    test(`${name} encode`, () => expect(texts.map(t => tokenizer.encode(t))).toEqual(encode));
    test(`${name} decode`, () => {
      expect(decode.length).toBeGreaterThan(50);
      for (const { ids, text } of decode) expect(tokenizer.decode(ids)).toBe(text);
    });
  }
});

test('names of special tokens in a text are plain characters', () => {
  const ids = tiny.encode('reach <eos> <bos><pad><unk>');
  for (const special of [tiny.eosId, tiny.bosId, tiny.padId, 3]) expect(ids).not.toContain(special);
  expect(tiny.decode(ids)).toBe('reach <eos> <bos><pad><unk>');
});

test('special and unknown ids add no text', () => {
  expect(tiny.decode([2, 651, 1, 0, 3, 9999, -1, 1.5, NaN])).toBe(tiny.decode([651]));
  expect(tiny.decode([])).toBe('');
});

describe('TextStream', () => {
  /** The plain rule, over the whole sequence: runs of bytes are valid UTF-8 as a whole or one U+FFFD per byte. */
  function decodeWhole(tokenizer: Tokenizer, ids: readonly number[]): string {
    const pieces = ids.map(id => tokenizer.piece(id)).filter(piece => piece !== '');
    let text = '';
    for (let i = 0; i < pieces.length;) {
      const piece = pieces[i]!;
      if (typeof piece === 'string') {
        text += piece;
        i++;
        continue;
      }
      let end = i;
      while (typeof pieces[end] === 'number') end++;
      const bytes = Buffer.from(pieces.slice(i, end) as number[]);
      const decoded = bytes.toString('utf8');
      text += Buffer.from(decoded, 'utf8').equals(bytes) ? decoded : '\ufffd'.repeat(bytes.length);
      i = end;
    }
    return text;
  }
  const byteIds = (text: string): number[] => [...Buffer.from(text)].map(byte => byte + 4);
  const ids = fc
    .array(
      fc.oneof(
        fc.integer({ min: -1, max: 700 }).map(id => [id]),
        fc.integer({ min: 4, max: 259 }).map(id => [id]),
        fc.constantFrom('🤖', 'é', '日本', '\ufeff', '👩‍🔧').map(byteIds),
      ),
      { maxLength: 30 },
    )
    .map(parts => parts.flat());

  test('all pieces together are the text of all ids, and no piece holds half a character', () => {
    fc.assert(
      fc.property(ids, sequence => {
        const stream = new TextStream(tiny);
        const pieces = [...sequence.map(id => stream.push(id)), stream.end()];
        expect(pieces.join('')).toBe(decodeWhole(tiny, sequence));
        expect(pieces.join('')).toBe(tiny.decode(sequence));
        for (const piece of pieces) expect(piece).not.toMatch(/\p{Surrogate}/u);
      }),
      { numRuns: 500 },
    );
  });

  test('ordinary tokens come at once, byte tokens when their run has ended', () => {
    const stream = new TextStream(tiny);
    const [word] = tiny.encode(' reach');
    expect(stream.push(word!)).toBe(' reach');
    expect(byteIds('🤖').map(id => stream.push(id))).toEqual(['', '', '', '']);
    expect(stream.push(word!)).toBe('🤖 reach');
    expect([stream.push(4 + 0xe8), stream.end(), stream.end()]).toEqual(['', '\ufffd', '']);
  });

  test('time grows with the number of tokens, not with its square', () => {
    const time = (n: number): number => {
      const stream = new TextStream(tiny);
      const begin = performance.now();
      for (let i = 0; i < n; i++) stream.push(i % 3 === 0 ? 651 : 4 + 0xe8);
      stream.end();
      return performance.now() - begin;
    };
    time(10_000);
    expect(time(200_000)).toBeLessThan(5000);
  });
});

describe('files that cannot be used', () => {
  const json = readJson<{
    model: { vocab: Record<string, number>; merges: unknown[] };
    added_tokens: object[];
  }>(tinyPath);
  const without = (token: string): object =>
    Object.fromEntries(Object.entries(json.model.vocab).filter(([t]) => t !== token));
  test.each([
    ['missing_decoder', { decoder: null }, 'decoder'],
    ['other_decoder', { decoder: { type: 'ByteLevel' } }, 'decoder'],
    ['unigram', { model: { ...json.model, type: 'Unigram' } }, 'model.type'],
    ['no_byte_fallback', { model: { ...json.model, byte_fallback: false } }, 'model.byte_fallback'],
    ['no_merges', { model: { ...json.model, merges: null } }, 'model.merges'],
    ['no_vocab', { model: { ...json.model, vocab: null } }, 'model.vocab'],
    ['bad_id', { model: { ...json.model, vocab: { ...json.model.vocab, x: 1e12 } } }, 'the id 1000000000000'],
    ['no_bos', { added_tokens: [], model: { ...json.model, vocab: without('<bos>') } }, '<bos> is missing'],
    ['no_byte', { model: { ...json.model, vocab: without('<0xC3>') } }, '<0xC3> is missing'],
    ['same_id', { model: { ...json.model, vocab: { ...json.model.vocab, x: 300 } } }, 'the same id 300'],
    ['gap', { model: { ...json.model, vocab: { ...json.model.vocab, x: 5000 } } }, 'the id 5000'],
    ['other_id', { added_tokens: [{ id: 700, content: '<bos>', special: true }] }, 'the ids 2 and 700'],
    ['merge_of_nothing', { model: { ...json.model, merges: [['a', '\u2603']] } }, 'a\u2603 is missing'],
    ['merge_of_three', { model: { ...json.model, merges: ['a b c'] } }, 'is missing'],
    ['merge_of_one', { model: { ...json.model, merges: ['ab'] } }, 'model.merges.0 is no pair'],
    ['merge_number', { model: { ...json.model, merges: [7] } }, 'model.merges.0 is no pair'],
    ['dropout', { model: { ...json.model, dropout: 0.1 } }, 'model.dropout'],
    [
      'single_word',
      { added_tokens: [...json.added_tokens, { id: 663, content: 'x', special: false, single_word: true }] },
      'single_word',
    ],
    [
      'contiguous',
      { pre_tokenizer: { type: 'Split', pattern: { String: 'x' }, behavior: 'Contiguous', invert: false } },
      'pre_tokenizer.behavior',
    ],
    ['unknown_normalizer', { normalizer: { type: 'Nonsense' } }, 'normalizer.type'],
    ['no_pattern', { normalizer: { type: 'Replace', content: 'x' } }, 'normalizer.pattern'],
    [
      'bad_pattern',
      { normalizer: { type: 'Replace', content: 'x', pattern: { Regex: '(' } } },
      'Invalid regular expression',
    ],
  ])('%s', (name, patch, reason) => {
    const path = variant(name, patch);
    expect(() => loadTokenizer(path)).toThrow(
      expect.objectContaining({ code: 'TOKENIZER_INVALID', message: expect.stringContaining(reason) }),
    );
    expect(() => loadTokenizer(path)).toThrow(path);
  });

  test('no file and no JSON', () => {
    mkdirSync(temporary, { recursive: true });
    const broken = join(temporary, 'broken.json');
    writeFileSync(broken, '{"model": ');
    for (const path of [join(temporary, 'absent.json'), broken]) {
      expect(() => loadTokenizer(path)).toThrow(expect.objectContaining({ code: 'TOKENIZER_INVALID' }));
    }
  });
});
