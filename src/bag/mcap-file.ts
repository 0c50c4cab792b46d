/** An MCAP file: plain, lz4 or zstd chunks or none, with or without an index, finished or cut. */
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { OxygenError } from '../core/errors';
import { compressionReady } from './compression';
import type { FileFaults } from './faults';
import { FileWindow } from './file-window';
import { Channels } from './mcap-channels';
import { McapPass } from './mcap-pass';
import { readEnding } from './mcap-summary';
import type { Summary } from './mcap-summary';
import { survey, tellsTimes } from './mcap-survey';
import type { Span, StorageFile } from './storage';

/** Small for the walk, which leaps from header to header; larger for reading, where a block is what messages lie in. */
const WALK_BLOCK_BYTES = 64 * 1024;
const READ_BLOCK_BYTES = 256 * 1024;

interface Contents {
  readonly spans: readonly Span[] | null;
  readonly counts: ReadonlyMap<number, number>;
}

/** @throws OxygenError BAG_DAMAGED if the disk gives nothing of it; other damage becomes a fault */
export async function openMcap(path: string, faults: FileFaults): Promise<StorageFile> {
  await compressionReady();
  const handle = await open(path, 'r');
  try {
    return await opened(handle, faults);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function opened(handle: FileHandle, faults: FileFaults): Promise<StorageFile> {
  const { size } = await handle.stat();
  const window = new FileWindow(handle, size, WALK_BLOCK_BYTES);
  const channels = new Channels(faults);
  const ending = await readEnding(window, faults);
  const { spans, counts } = ending.summary
    ? fromSummary(ending.summary, channels)
    : await survey(window, channels, faults);
  if (!ending.finished && !faults.any)
    faults.general(
      'closing',
      'the closing record of the file is cut or damaged; all messages before it are whole',
    );

  const chunked = (ending.summary?.chunks.length ?? 0) > 0;
  return {
    topics: channels.topics(id => counts.get(id) ?? 0),
    spans,
    async *batches(selection) {
      const reader = new FileWindow(handle, size, READ_BLOCK_BYTES);
      const pass = new McapPass(reader, channels, faults, selection, chunked);
      try {
        yield* pass.batches();
      } catch (error) {
        if (!(error instanceof OxygenError)) throw error;
        faults.general('disk', error.message);
      }
      if (!pass.skipped) compareCounts(pass.seen, ending.summary, faults);
    },
    close: () => handle.close(),
  };
}

function fromSummary({ descriptions, statistics, chunks }: Summary, channels: Channels): Contents {
  for (const record of descriptions) channels.add(record, 0);
  const filled = chunks.filter(({ uncompressedSize }) => uncompressedSize > 0n);
  const ofChunks = filled.map(chunk => ({ fromNs: chunk.messageStartTime, toNs: chunk.messageEndTime }));
  const whole = { fromNs: statistics.messageStartTime, toNs: statistics.messageEndTime };
  const loose = statistics.chunkCount === 0 && statistics.messageCount > 0n;
  return {
    spans: loose ? [whole] : ofChunks.every(tellsTimes) ? ofChunks : null,
    counts: new Map([...statistics.channelMessageCounts].map(([id, count]) => [id, Number(count)])),
  };
}

/** The last net: what was lost without a trace. */
function compareCounts(seen: number, summary: Summary | null, faults: FileFaults): void {
  if (!faults.any && summary && BigInt(seen) !== summary.statistics.messageCount)
    faults.general(
      'count',
      `the index of the file counts ${summary.statistics.messageCount} messages, but ${seen} were found`,
    );
}
