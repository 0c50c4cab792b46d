/** A sentencepiece `.model` of Gemma's kind as the `tokenizer.json` that the engine reads; same ids for every text. */
import { readSmallFile } from './small-file';
import { MAX_TOKENIZER_BYTES, tokenizerInvalid } from './tokenizer';
import { MODEL_TYPES, PIECE_TYPES, readSentencePieceModel, type SentencePiece } from './sentencepiece';

/** The longest piece that may be merged; keeps the search for its parts short. Trainers stop at 16 by default. */
const MAX_CHARACTERS = 256;

const SPACE_MARK = '\u2581';

/**
 * The text of a tokenizer file for an engine: a `.json` as it is, a sentencepiece `.model` converted.
 * @throws OxygenError TOKENIZER_INVALID
 */
export function tokenizerJson(path: string): string {
  try {
    const bytes = readSmallFile(path, MAX_TOKENIZER_BYTES);
    return path.endsWith('.model')
      ? JSON.stringify(sentencePieceToTokenizerJson(bytes))
      : bytes.toString('utf8');
  } catch (error) {
    throw tokenizerInvalid(path, error);
  }
}

/** Throws a plain Error with the reason when the model is damaged or prepares texts in another way than Gemma's. */
export function sentencePieceToTokenizerJson(bytes: Uint8Array): object {
  const { pieces, modelType, byteFallback, normalizer } = readSentencePieceModel(bytes);
  if (pieces.length === 0) throw new Error('it holds no pieces; is it a sentencepiece model?');
  const refused = [
    modelType !== 2 && `it is of the kind ${MODEL_TYPES[modelType] ?? modelType}, only BPE is supported`,
    !byteFallback && 'it has no byte fallback',
    normalizer.charsMap.length > 0 && 'it replaces characters before cutting (only identity is supported)',
    normalizer.dummyPrefix && 'it puts a space before every text',
    normalizer.removeExtraSpaces && 'it removes extra spaces',
    !normalizer.escapeSpaces && 'it does not mark spaces',
  ].filter(reason => reason !== false);
  if (refused.length > 0) throw new Error(refused.join('; '));

  const ids = new Map<string, number>();
  pieces.forEach(({ text, score, type }, id) => {
    if (!(type >= 1 && type <= 6) || type === PIECE_TYPES.unused || Number.isNaN(score)) {
      throw new Error(`the piece ${text} has the type ${type} and the score ${score}`);
    }
    if (ids.has(text)) throw new Error(`the pieces ${ids.get(text)} and ${id} are both ${text}`);
    ids.set(text, id);
  });
  return {
    added_tokens: addedTokens(pieces),
    normalizer: { type: 'Replace', pattern: { String: ' ' }, content: SPACE_MARK },
    pre_tokenizer: null,
    post_processor: null,
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: SPACE_MARK }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
      ],
    },
    model: {
      type: 'BPE',
      byte_fallback: true,
      unk_token: pieces.find(piece => piece.type === PIECE_TYPES.unknown)?.text ?? null,
      vocab: Object.fromEntries(ids),
      ...merges(pieces),
    },
  };
}

/** Control pieces never come from a text; user-defined ones are found before anything is merged, spaces marked already. */
const addedTokens = (pieces: readonly SentencePiece[]): object[] =>
  pieces.flatMap(({ text, type }, id) => {
    const special = type === PIECE_TYPES.control || type === PIECE_TYPES.unknown;
    if (!special && type !== PIECE_TYPES.userDefined) return [];
    return [
      { id, content: text, special, normalized: !special, single_word: false, lstrip: false, rstrip: false },
    ];
  });

/**
 * sentencepiece merges any two neighbours that together are a piece: the one of the highest score first, the leftmost of
 * equal scores. So every way to cut a piece in two is a merge, and all of one score have the same rank.
 */
function merges(pieces: readonly SentencePiece[]): { merges: string[]; merge_ranks: number[] } {
  const normal = pieces.filter(piece => piece.type === PIECE_TYPES.normal);
  const known = new Set(normal.map(piece => piece.text));
  const found: { merge: string; score: number }[] = [];
  for (const { text, score } of normal) {
    const characters = Array.from(text);
    if (characters.length > MAX_CHARACTERS) {
      throw new Error(`a piece has ${characters.length} characters, more than ${MAX_CHARACTERS}`);
    }
    // A single character is where merging starts, piece or not.
    const exists = (part: string, length: number): boolean => length === 1 || known.has(part);
    for (let i = 1, cut = 0; i < characters.length; i++) {
      cut += characters[i - 1]!.length;
      const left = text.slice(0, cut);
      const right = text.slice(cut);
      if (exists(left, i) && exists(right, characters.length - i))
        found.push({ merge: `${left} ${right}`, score });
    }
  }
  found.sort((a, b) => b.score - a.score);
  let rank = -1;
  return {
    merges: found.map(({ merge }) => merge),
    merge_ranks: found.map(({ score }, i) => (score === found[i - 1]?.score ? rank : ++rank)),
  };
}
