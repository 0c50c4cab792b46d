/** Small sentencepiece models, byte by byte. */
import { byteToken } from '../../src/model/tokenizer-bpe';

function field(number: number, value: number | Uint8Array): number[] {
  if (typeof value === 'number') return [number * 8, value];
  return [...varint(number * 8 + 2), ...varint(value.length), ...value];
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}

export function piece(text: string, score: number, type: number): Uint8Array {
  const float = new Uint8Array(Float32Array.of(score).buffer);
  return Uint8Array.from([...field(1, Buffer.from(text)), 2 * 8 + 5, ...float, ...field(3, type)]);
}

/** A model as Gemma's: BPE, byte fallback, texts taken as they are. */
export function modelBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const trainer = Uint8Array.from([...field(3, 2), ...varint(35 * 8), 1]);
  const normalizer = Uint8Array.from([...field(3, 0), ...field(4, 0)]);
  return Buffer.concat([
    ...pieces
      .map(bytes => Uint8Array.from([...varint(8 + 2), ...varint(bytes.length)]))
      .flatMap((head, i) => [head, pieces[i]!]),
    Uint8Array.from(field(2, trainer)),
    Uint8Array.from(field(3, normalizer)),
  ]);
}

/** The special and byte pieces that Gemma's model begins with, but for the places of the latter. */
export const GEMMA_FIRST: readonly Uint8Array[] = [
  ...['<pad>', '<eos>', '<bos>'].map(text => piece(text, 0, 3)),
  piece('<unk>', 0, 2),
  ...Array.from({ length: 256 }, (_, byte) => piece(byteToken(byte), 0, 6)),
];
