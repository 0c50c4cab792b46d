/** Gemma-style tokenizers (`tokenizer.json`): text → ids, and ids → text one token at a time. */
import { Tokenizer as BpeTokenizer } from '@huggingface/tokenizers';
import { OxygenError } from '../core/errors';
import { readSmallFile } from './small-file';
import { BytePairEncoder } from './tokenizer-bpe';
import { parseTokenizerFile, type TokenizerFile } from './tokenizer-file';

/** What a token adds to a text: a string, or one raw byte (0..255) of a character that the vocabulary lacks. */
export type TokenPiece = string | number;

export interface Tokenizer {
  readonly bosId: number;
  readonly eosId: number;
  readonly padId: number;
  /** One more than the highest id. */
  readonly vocabSize: number;
  /** One more than the highest id that a prompt can hold: special tokens other than the three above are left out. */
  readonly textIds: number;
  /** Ids of `text` as it stands, without begin token; `<eos>` and the like in a text are plain characters. */
  encode(text: string): number[];
  decode(ids: readonly number[]): string;
  /** The empty string for special tokens and for ids that the vocabulary does not have. */
  piece(id: number): TokenPiece;
}

/** ignoreBOM: a byte order mark is text like any other. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The text of a run of byte tokens. A run that is not valid UTF-8 as a whole becomes one replacement character per
 * byte: the rule of the Hugging Face decoder, whose output ours must equal.
 */
function textOfBytes(bytes: readonly number[]): string {
  try {
    return utf8.decode(Uint8Array.from(bytes));
  } catch {
    return '\ufffd'.repeat(bytes.length);
  }
}

/**
 * Ids → text as they come. All pieces together equal `decode` of all ids, and none holds a part of a character: a run
 * of byte tokens is given out when it has ended, because its last byte still decides how it reads.
 */
export class TextStream {
  readonly #tokenizer: Pick<Tokenizer, 'piece'>;
  #bytes: number[] = [];

  constructor(tokenizer: Pick<Tokenizer, 'piece'>) {
    this.#tokenizer = tokenizer;
  }

  /** Text that became readable with this token; often empty. */
  push(id: number): string {
    const piece = this.#tokenizer.piece(id);
    if (typeof piece === 'number') {
      this.#bytes.push(piece);
      return '';
    }
    return piece === '' ? '' : this.end() + piece;
  }

  /** What is left when no more tokens come. */
  end(): string {
    if (this.#bytes.length === 0) return '';
    const text = textOfBytes(this.#bytes);
    this.#bytes = [];
    return text;
  }
}

const BYTE_TOKEN = /^<0x([0-9A-Fa-f]{2})>$/;

class GemmaTokenizer implements Tokenizer {
  readonly bosId: number;
  readonly eosId: number;
  readonly padId: number;
  readonly vocabSize: number;
  readonly textIds: number;
  readonly #bpe: BpeTokenizer;
  readonly #file: TokenizerFile;

  constructor(file: TokenizerFile) {
    const idOf = (token: string): number => {
      const id = file.ids.get(token);
      if (id === undefined) throw new Error(`the token ${token} is missing`);
      return id;
    };
    this.bosId = idOf('<bos>');
    this.eosId = idOf('<eos>');
    this.padId = idOf('<pad>');
    this.#file = file;
    this.vocabSize = file.tokens.length;
    const lastText = file.tokens.findLastIndex((token, id) => token !== undefined && !file.special.has(id));
    this.textIds = 1 + Math.max(lastText, this.bosId, this.eosId, this.padId);
    this.#bpe = new BpeTokenizer(file.config, {});
    const encoder = new BytePairEncoder(file);
    this.#bpe.model = Object.assign((words: string[]) => encoder.encode(words), { tokens_to_ids: file.ids });
    // What is wrong with splitting rules shows when they are used.
    this.encode('Task: 1\n');
  }

  encode(text: string): number[] {
    return this.#bpe.encode(text, { add_special_tokens: false }).ids;
  }

  piece(id: number): TokenPiece {
    const { tokens, special, mark } = this.#file;
    const token = tokens[id];
    if (token === undefined || special.has(id)) return '';
    const byte = BYTE_TOKEN.exec(token);
    return byte ? parseInt(byte[1]!, 16) : token.replaceAll(mark.token, mark.text);
  }

  decode(ids: readonly number[]): string {
    const stream = new TextStream(this);
    return ids.map(id => stream.push(id)).join('') + stream.end();
  }
}

/** Gemma's has 34 MB. */
export const MAX_TOKENIZER_BYTES = 128 * 1024 * 1024;

/** @throws TOKENIZER_INVALID when the file is missing, damaged, or not a byte-fallback BPE as Gemma has it. */
export function loadTokenizer(path: string): Tokenizer {
  try {
    return new GemmaTokenizer(
      parseTokenizerFile(JSON.parse(readSmallFile(path, MAX_TOKENIZER_BYTES).toString('utf8'))),
    );
  } catch (error) {
    throw tokenizerInvalid(path, error);
  }
}

export function tokenizerInvalid(path: string, error: unknown): OxygenError {
  const reason = error instanceof Error ? error.message : String(error);
  return new OxygenError(
    'TOKENIZER_INVALID',
    `${path}: ${reason}. Expected is the tokenizer.json or the .model of a PaliGemma or Gemma tokenizer.`,
    { details: { path }, cause: error },
  );
}

/**
 * Whether a model with `vocab` embeddings can read what the tokenizer writes.
 * @throws TOKENIZER_INVALID naming both numbers.
 */
export function checkTokenizer(tokenizer: Tokenizer, vocab: number): void {
  if (tokenizer.textIds <= vocab) return;
  throw new OxygenError(
    'TOKENIZER_INVALID',
    `the tokenizer has ids up to ${tokenizer.textIds - 1}, the model's embedding table ends at ${vocab - 1}; ` +
      'give the tokenizer that the model was trained with',
    { details: { textIds: tokenizer.textIds, vocab } },
  );
}
