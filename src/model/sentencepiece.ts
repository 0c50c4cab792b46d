/** Reads a sentencepiece `.model`: a protocol buffer of pieces and of how a text is prepared for them. */

import { fields, integer, message } from './protobuf';

/** Values of `SentencePiece.type`. */
export const PIECE_TYPES = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;
export const MODEL_TYPES = ['', 'UNIGRAM', 'BPE', 'WORD', 'CHAR'] as const;

export interface SentencePiece {
  readonly text: string;
  /** Pieces of a higher score are merged first. */
  readonly score: number;
  readonly type: number;
}

export interface SentencePieceModel {
  /** By id. */
  readonly pieces: readonly SentencePiece[];
  /** Index into MODEL_TYPES. */
  readonly modelType: number;
  readonly byteFallback: boolean;
  readonly normalizer: {
    /** A table of characters to replace; empty is none. */
    readonly charsMap: Uint8Array;
    readonly dummyPrefix: boolean;
    readonly removeExtraSpaces: boolean;
    readonly escapeSpaces: boolean;
  };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Throws a plain Error with the reason. Fields that are not listed here do not change how a text is cut. */
export function readSentencePieceModel(bytes: Uint8Array): SentencePieceModel {
  const pieces: SentencePiece[] = [];
  // The defaults of the format.
  let modelType = 1;
  let byteFallback = false;
  let normalizer = {
    charsMap: new Uint8Array(),
    dummyPrefix: true,
    removeExtraSpaces: true,
    escapeSpaces: true,
  };
  for (const { number, value } of fields(bytes)) {
    if (number === 1) pieces.push(readPiece(message(value)));
    if (number === 2) {
      for (const field of fields(message(value))) {
        if (field.number === 3) modelType = integer(field.value);
        if (field.number === 35) byteFallback = integer(field.value) !== 0;
      }
    }
    if (number === 3) {
      for (const field of fields(message(value))) {
        if (field.number === 2)
          normalizer = { ...normalizer, charsMap: Uint8Array.from(message(field.value)) };
        if (field.number === 3) normalizer = { ...normalizer, dummyPrefix: integer(field.value) !== 0 };
        if (field.number === 4) normalizer = { ...normalizer, removeExtraSpaces: integer(field.value) !== 0 };
        if (field.number === 5) normalizer = { ...normalizer, escapeSpaces: integer(field.value) !== 0 };
      }
    }
  }
  return { pieces, modelType, byteFallback, normalizer };
}

function readPiece(bytes: Uint8Array): SentencePiece {
  let text = '';
  let score = 0;
  let type: number = PIECE_TYPES.normal;
  for (const { number, value } of fields(bytes)) {
    if (number === 1) text = utf8.decode(message(value));
    if (number === 2) score = float(message(value));
    if (number === 3) type = integer(value);
  }
  if (text === '' || text.includes(' ')) throw new Error(`the piece "${text}" is empty or holds a space`);
  return { text, score, type };
}

function float(bytes: Uint8Array): number {
  if (bytes.length !== 4) throw new Error(`a score has ${bytes.length} bytes`);
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getFloat32(0, true);
}
