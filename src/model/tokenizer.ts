/** Gemma-style tokenizers (`tokenizer.json`): text → ids, and ids → text one token at a time. */
import { readFileSync } from 'node:fs';
import { Tokenizer as BpeTokenizer } from '@huggingface/tokenizers';
import { OxygenError } from '../core/errors';
import { libraryConfig, parseTokenizerFile, type TokenPiece, type TokenizerFile } from './tokenizer-file';

export interface Tokenizer {
  readonly bosId: number;
  readonly eosId: number;
  readonly padId: number;
  /** One more than the highest id. */
  readonly vocabSize: number;
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

class GemmaTokenizer implements Tokenizer {
  readonly bosId: number;
  readonly eosId: number;
  readonly padId: number;
  readonly vocabSize: number;
  readonly #bpe: BpeTokenizer;
  readonly #pieces: readonly TokenPiece[];

  constructor(file: TokenizerFile) {
    this.bosId = file.idOf('<bos>');
    this.eosId = file.idOf('<eos>');
    this.padId = file.idOf('<pad>');
    this.#pieces = file.pieces;
    this.vocabSize = file.pieces.length;
    this.#bpe = new BpeTokenizer(libraryConfig(file.json), {});
  }

  encode(text: string): number[] {
    return this.#bpe.encode(text, { add_special_tokens: false }).ids;
  }

  piece(id: number): TokenPiece {
    return this.#pieces[id] ?? '';
  }

  decode(ids: readonly number[]): string {
    const stream = new TextStream(this);
    return ids.map(id => stream.push(id)).join('') + stream.end();
  }
}

/** @throws TOKENIZER_INVALID when the file is missing, damaged, or not a byte-fallback BPE as Gemma has it. */
export function loadTokenizer(path: string): Tokenizer {
  try {
    return new GemmaTokenizer(parseTokenizerFile(JSON.parse(readFileSync(path, 'utf8'))));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OxygenError(
      'TOKENIZER_INVALID',
      `${path}: ${reason}. Expected is the tokenizer.json of a PaliGemma or Gemma tokenizer.`,
      { details: { path }, cause: error },
    );
  }
}
