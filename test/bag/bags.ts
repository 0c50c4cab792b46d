/** Bags that independent libraries write, and what our reader makes of them. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { openBag } from '../../src/bag/open';
import { messageReader } from '../../src/bag/decode';
import type { OxygenError } from '../../src/core/errors';
import type { BagSelection, BagTopic } from '../../src/bag/types';

const ROOT = join(__dirname, '../..');

/** Topic, log time and text; write_bag.py says what becomes of them. */
export type Line = readonly [topic: string, logNs: bigint, text: string];

export const START_NS = 1_700_000_000_000_000_000n;
const MS = 1_000_000n;

/** One every 10 ms, on three topics by turns. */
export const lines = (count: number, topics = ['/a', '/b', '/joint_states']): Line[] =>
  Array.from({ length: count }, (_, i) => [
    topics[i % topics.length]!,
    START_NS + BigInt(i) * 10n * MS,
    `text ${i}`,
  ]);

/** Runs the writer once for all of them. */
export function writeBags(jobs: readonly object[]): void {
  const json = JSON.stringify(jobs, (_, value: unknown) =>
    typeof value === 'bigint' ? `\u0001${value}\u0001` : value,
  ).replaceAll(/"\\u0001(-?\d+)\\u0001"/g, '$1');
  execFileSync(join(ROOT, '.venv/bin/python'), [join(__dirname, 'write_bag.py'), json], { stdio: 'pipe' });
}

export const EVERYTHING: BagSelection = { topics: null, fromNs: null, toNs: null };

export interface Read {
  readonly lines: readonly Line[];
  readonly faults: readonly OxygenError[];
  readonly topics: ReadonlyMap<string, BagTopic>;
  readonly startNs: bigint | null;
  readonly endNs: bigint | null;
  readonly files: readonly string[];
}

interface Decoded {
  readonly data?: unknown;
  readonly name?: readonly string[];
}

/** The whole bag, decoded to what was written. */
export async function readBag(path: string, selection: Partial<BagSelection> = {}): Promise<Read> {
  const bag = await openBag(path);
  try {
    const readers = new Map<string, (data: Uint8Array) => Decoded>();
    const read: Line[] = [];
    for await (const { topic, logNs, data } of bag.messages({ ...EVERYTHING, ...selection })) {
      let reader = readers.get(topic);
      if (!reader) readers.set(topic, (reader = messageReader<Decoded>(bag.topics.get(topic)!)));
      const { data: text, name } = reader(data);
      read.push([topic, logNs, text instanceof Uint8Array ? `${text.length}` : String(text ?? name![0])]);
    }
    const { faults, topics, startNs, endNs, files } = bag;
    return { lines: read, faults, topics, startNs, endNs, files };
  } finally {
    await bag.close();
  }
}
