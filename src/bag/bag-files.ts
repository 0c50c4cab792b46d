/** Which files belong to a bag, and in which order. */
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { OxygenError } from '../core/errors';
import type { Faults } from './faults';
import { METADATA_FILE, readMetadata } from './metadata';
import type { Metadata } from './metadata';
import { kindOf } from './sniff';
import type { BagStorage } from './types';

export interface BagFile {
  readonly name: string;
  readonly path: string;
  readonly storage: BagStorage;
  readonly bytes: number;
}

export interface BagFiles {
  readonly files: readonly BagFile[];
  readonly metadata: Metadata | null;
}

/** Endings of files in a folder that are told of when they are no bags. */
const LOOKS_LIKE_A_BAG = /\.(mcap|db3|bag)(\.zstd)?$/;
/** `_2` before `_10`. */
const natural = new Intl.Collator('en', { numeric: true });

/** @throws OxygenError BAG_NOT_FOUND, BAG_UNSUPPORTED */
export async function findBagFiles(path: string, faults: Faults): Promise<BagFiles> {
  const found = await stat(path).catch(() => null);
  if (found === null) throw new OxygenError('BAG_NOT_FOUND', `there is no bag at ${path}`);
  if (found.isDirectory()) return inFolder(path, faults);
  if (basename(path) === METADATA_FILE) return inFolder(dirname(path), faults);
  if (!found.isFile()) throw new OxygenError('BAG_UNSUPPORTED', `${path} is neither a file nor a folder`);
  const file = await bagFile(dirname(path), basename(path));
  if ('not' in file) throw new OxygenError('BAG_UNSUPPORTED', `${path} ${file.not}`);
  return { files: [file], metadata: null };
}

async function inFolder(folder: string, faults: Faults): Promise<BagFiles> {
  const metadata = metadataOf(folder, faults);
  const names = metadata
    ? metadata.files.map(each => insideOf(folder, each))
    : (await readdir(folder)).sort(natural.compare);
  const files: BagFile[] = [];
  const refusals: string[] = [];
  for (const name of new Set(names)) {
    const file = await bagFile(folder, name);
    if ('storage' in file) files.push(file);
    else if (metadata || LOOKS_LIKE_A_BAG.test(name)) refusals.push(`${name} ${file.not}`);
  }
  const first = files[0];
  if (first === undefined)
    throw new OxygenError(
      'BAG_UNSUPPORTED',
      `no bag was found in the folder ${folder}: ` +
        (refusals.length > 0 ? refusals.join('; ') : 'it holds no MCAP file and no SQLite database'),
    );
  const other = files.find(({ storage }) => storage !== first.storage);
  if (other)
    throw new OxygenError(
      'BAG_UNSUPPORTED',
      `${folder} holds two bags: ${first.name} is stored as ${first.storage}, ${other.name} as ${other.storage}; name one of the files`,
    );
  for (const refusal of refusals) faults.put(`file:${refusal}`, 'BAG_DAMAGED', `${refusal}; it was left out`);
  return { files, metadata };
}

function metadataOf(folder: string, faults: Faults): Metadata | null {
  const path = join(folder, METADATA_FILE);
  if (!existsSync(path)) return null;
  try {
    return readMetadata(path);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    faults.put(
      'metadata',
      'BAG_DAMAGED',
      `${METADATA_FILE} cannot be read (${why}); the bag files in the folder are read in the order of their names. ` +
        'Write it anew with "ros2 bag reindex"',
    );
    return null;
  }
}

/** The name in the folder; bags of the first rosbag2 put the name of the folder before it. */
function insideOf(folder: string, name: string): string {
  const outside = relative(resolve(folder), resolve(folder, name)).startsWith('..');
  return !outside && existsSync(join(folder, name)) ? name : basename(name);
}

async function bagFile(folder: string, name: string): Promise<BagFile | { readonly not: string }> {
  const path = join(folder, name);
  try {
    const found = await stat(path);
    if (!found.isFile()) return { not: 'is no file' };
    const kind = await kindOf(path);
    return 'not' in kind ? kind : { name, path, storage: kind.storage, bytes: found.size };
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    return { not: missing ? 'is missing' : `cannot be read (${String(cause)})` };
  }
}
