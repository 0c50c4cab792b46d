/**
 * Byte-pair encoding in place of the library's, which spends seconds and hundreds of megabytes on half a million merges.
 * Merges in the order of Hugging Face and sentencepiece: lowest rank first, leftmost of equal ranks.
 */
import type { TokenizerFile } from './tokenizer-file';

/** Ids, lengths and ranks stay below these: a merge is one exact number (merged id, length of its left part, rank). */
export const MAX_IDS = 2 ** 21;
const RANKS = 2 ** 21;
const LENGTHS = 2 ** 11;

/** (merged token, where it is cut in two) → rank, as one sorted table of numbers. */
export class MergeTable {
  readonly #entries: Float64Array;
  #size = 0;

  constructor(capacity: number) {
    if (capacity > RANKS) throw new Error(`${capacity} merges are more than ${RANKS}`);
    this.#entries = new Float64Array(capacity);
  }

  /** `leftLength` in UTF-16 units. Throws for a rank that is no number of a merge. */
  add(mergedId: number, leftLength: number, rank: unknown): void {
    if (!Number.isInteger(rank) || (rank as number) < 0 || (rank as number) >= RANKS) {
      throw new Error(`a merge has the rank ${rank}`);
    }
    if (leftLength >= LENGTHS) throw new Error(`a merged token has more than ${LENGTHS} characters`);
    this.#entries[this.#size++] = (mergedId * LENGTHS + leftLength) * RANKS + (rank as number);
  }

  /** To be called after the last `add`. */
  finish(): void {
    this.#entries.sort();
  }

  /** -1: the two parts are not merged. */
  rank(mergedId: number, leftLength: number): number {
    const key = (mergedId * LENGTHS + leftLength) * RANKS;
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#entries[middle]! < key + RANKS) low = middle + 1;
      else high = middle;
    }
    // Of a merge that is there twice the last counts.
    const entry = this.#entries[low - 1];
    return entry !== undefined && entry >= key ? entry - key : -1;
  }
}

export const byteToken = (byte: number): string => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;

const utf8 = new TextEncoder();

/** Words → tokens of the vocabulary. */
export class BytePairEncoder {
  readonly #file: Pick<TokenizerFile, 'ids' | 'merges' | 'ignoreMerges'>;

  constructor(file: Pick<TokenizerFile, 'ids' | 'merges' | 'ignoreMerges'>) {
    this.#file = file;
  }

  encode(words: readonly string[]): string[] {
    const { ids, ignoreMerges } = this.#file;
    return words
      .flatMap(word => (ignoreMerges && ids.has(word) ? [word] : this.#merge(word)))
      .flatMap(token => (ids.has(token) ? [token] : Array.from(utf8.encode(token), byteToken)));
  }

  /** Symbols are a linked list over positions; '' is one that its left neighbour has taken in. */
  #merge(word: string): string[] {
    const { ids, merges } = this.#file;
    const symbols = Array.from(word);
    const previous = Int32Array.from(symbols, (_, i) => i - 1);
    const next = Int32Array.from(symbols, (_, i) => i + 1);
    /** Of the merge of each symbol with the one after it, as it was offered last; -1 is none. */
    const ranks = new Int32Array(symbols.length).fill(-1);
    const queue = new MergeQueue();
    const offer = (i: number): void => {
      const left = symbols[i]!;
      const right = symbols[next[i]!];
      const merged = right === undefined ? undefined : ids.get(left + right);
      ranks[i] = merged === undefined ? -1 : merges.rank(merged, left.length);
      if (ranks[i]! >= 0) queue.push(ranks[i]!, i);
    };
    for (let i = 0; i < symbols.length; i++) offer(i);
    for (let first = queue.pop(); first !== undefined; first = queue.pop()) {
      const { rank, position: i } = first;
      // Its parts may have been merged with others since.
      if (ranks[i] !== rank) continue;
      const taken = next[i]!;
      symbols[i] += symbols[taken]!;
      symbols[taken] = '';
      ranks[taken] = -1;
      next[i] = next[taken]!;
      if (next[i]! < symbols.length) previous[next[i]!] = i;
      if (i > 0) offer(previous[i]!);
      offer(i);
    }
    return symbols.filter(symbol => symbol !== '');
  }
}

/** Positions beyond any text that is encoded. */
const POSITIONS = 2 ** 31;

/** A binary heap of (rank, position), lowest first; a pair is one number. */
class MergeQueue {
  readonly #heap: number[] = [];

  push(rank: number, position: number): void {
    const heap = this.#heap;
    const value = rank * POSITIONS + position;
    let i = heap.length;
    while (i > 0 && heap[(i - 1) >> 1]! > value) {
      heap[i] = heap[(i - 1) >> 1]!;
      i = (i - 1) >> 1;
    }
    heap[i] = value;
  }

  pop(): { rank: number; position: number } | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined) return undefined;
    if (heap.length > 0) {
      let i = 0;
      for (let child = 1; child < heap.length; child = 2 * i + 1) {
        if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child++;
        if (heap[child]! >= last) break;
        heap[i] = heap[child]!;
        i = child;
      }
      heap[i] = last;
    }
    return { rank: Math.floor(top / POSITIONS), position: top % POSITIONS };
  }
}
