/** What a file is, by its first bytes: endings lie. */
import { MCAP_MAGIC } from '@mcap/core';
import { open } from 'node:fs/promises';
import { isZstd } from './compression';
import type { BagStorage } from './types';

/** A storage that is read, or what the file is instead, with the cure. */
export type Kind = { readonly storage: BagStorage } | { readonly not: string };

const SQLITE = 'SQLite format 3\0';
const ROS1 = '#ROSBAG V';
const ROS1_CURE =
  'is a ROS 1 bag; convert it with "rosbags-convert --src FILE.bag --dst FOLDER" (Python package rosbags)';
const ZSTD_CURE =
  'is compressed as a whole (compression_mode: FILE); decompress it with "zstd -d FILE" and take the result, ' +
  'or convert the bag with "ros2 bag convert"';

/** Magic numbers of what is found beside bags. */
const OTHERS: readonly (readonly [magic: string, name: string])[] = [
  ['\x89PNG\r\n', 'a PNG picture'],
  ['\xff\xd8\xff', 'a JPEG picture'],
  ['PK\x03\x04', 'a ZIP archive'],
  ['\x1f\x8b', 'a gzip file'],
  ['\x7fELF', 'a program'],
  ['%PDF', 'a PDF document'],
  ['\x89HDF\r\n', 'an HDF5 file'],
];

/** Throws what the file system says. */
export async function kindOf(path: string): Promise<Kind> {
  const handle = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(64), 0, 64, 0);
    return kindOfBytes(buffer.subarray(0, bytesRead));
  } finally {
    await handle.close();
  }
}

function kindOfBytes(start: Buffer): Kind {
  const text = start.toString('latin1');
  if (text.length === 0) return { not: 'is empty: the recording ended before anything was written' };
  const magic = String.fromCharCode(...MCAP_MAGIC);
  if (text.startsWith(magic)) return { storage: 'mcap' };
  if (text.startsWith(SQLITE)) return { storage: 'sqlite3' };
  if (magic.startsWith(text) || SQLITE.startsWith(text))
    return { not: `has only ${text.length} bytes: the recording ended before anything was written` };
  if (text.startsWith(ROS1)) return { not: ROS1_CURE };
  if (isZstd(start)) return { not: ZSTD_CURE };
  const other = OTHERS.find(([bytes]) => text.startsWith(bytes));
  if (other) return { not: `is ${other[1]}, no bag` };
  if (/^[\t\n\r\x20-\x7e]+$/.test(text)) return { not: 'is a text, no bag' };
  return { not: 'is no bag (neither MCAP nor an SQLite database)' };
}
