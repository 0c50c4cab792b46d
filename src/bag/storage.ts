/** One file of a bag, whatever its format. */
import type { BagMessage, BagTopic } from './types';

/** Messages from `fromNs` to `toNs`, both included, lie in some part of the file. */
export interface Span {
  readonly fromNs: bigint;
  readonly toNs: bigint;
}

export interface StorageSelection {
  /** Names and types. */
  readonly topics: ReadonlyMap<string, string>;
  /** Inclusive; null is the beginning. */
  readonly fromNs: bigint | null;
  /** Exclusive; null is the end. */
  readonly toNs: bigint | null;
}

export interface StorageFile {
  readonly topics: readonly BagTopic[];
  /** Of its parts, in file order; all messages lie in them. Empty: there are none. Null: only a reading can tell. */
  readonly spans: readonly Span[] | null;
  /** The selected messages in file order, a few at a time; those of a batch stay valid as long as they are held. */
  batches(selection: StorageSelection): AsyncIterable<readonly BagMessage[]>;
  close(): Promise<void>;
}

export const inTime = (ns: bigint, { fromNs, toNs }: StorageSelection): boolean =>
  (fromNs === null || ns >= fromNs) && (toNs === null || ns < toNs);
