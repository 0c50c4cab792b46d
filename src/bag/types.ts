/** What is read of a bag, whatever its storage. Times are nanoseconds of the recording's receive clock (log time). */
import type { OxygenError } from '../core/errors';

export const BAG_STORAGES = ['mcap', 'sqlite3'] as const;
export type BagStorage = (typeof BAG_STORAGES)[number];

export interface BagTopic {
  readonly name: string;
  /** ROS 2 type name, such as `sensor_msgs/msg/Image`. */
  readonly type: string;
  /** Messages that are given; null: the bag has no statistics (no index, no metadata.yaml). */
  readonly count: number | null;
  /** ros2msg text with all that it uses (`===`, `MSG: `); empty: the bag does not say. */
  readonly definition: string;
  /** Only messages in `cdr` are given. */
  readonly serialization: string;
}

export interface BagMessage {
  readonly topic: string;
  readonly logNs: bigint;
  /** CDR with its encapsulation header; a view of its chunk, which stays as long as it is held. */
  readonly data: Uint8Array;
}

export interface BagSelection {
  /** Names; null is all. */
  readonly topics: ReadonlySet<string> | null;
  /** Inclusive; null is the beginning. */
  readonly fromNs: bigint | null;
  /** Exclusive; null is the end. */
  readonly toNs: bigint | null;
  /** Also messages whose times are days apart from the part that is given else. */
  readonly far?: true;
}

export interface Bag {
  /** As it was given. */
  readonly path: string;
  readonly storage: BagStorage;
  readonly bytes: number;
  /** Names of the storage files, in the order in which they are read. */
  readonly files: readonly string[];
  readonly topics: ReadonlyMap<string, BagTopic>;
  /** Of the first and the last message that are given; null: the bag does not tell. */
  readonly startNs: bigint | null;
  readonly endNs: bigint | null;
  /** Messages whose times are days apart from those that are given: only a selection with `far` has them. */
  readonly far: number;
  /**
   * What was found damaged (BAG_DAMAGED) or out of order (BAG_DISORDER) so far: complete when `messages` has ended. All
   * that is whole is given nevertheless.
   */
  readonly faults: readonly OxygenError[];
  /**
   * In ascending order of `logNs`: what is out of order by up to a second is put in order, what runs backwards further
   * is given as the files have it and told of (BAG_DISORDER). Where no message falls on a whole day (UTC), the bag is cut
   * in parts, and only the part with most messages is given, which is told when the bag is opened (BAG_DISORDER): a
   * stamp of 0 shall not make a replay idle for years.
   * @throws OxygenError only for bugs; damage goes to `faults`
   */
  messages(selection: BagSelection): AsyncIterable<BagMessage>;
  close(): Promise<void>;
}
