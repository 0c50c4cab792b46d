/** Files that are read whole: what they are and how large they may be is known before anything is allocated. */
import { readFileSync, statSync } from 'node:fs';

/** Throws a plain Error with the reason, for the caller to say where. */
export function readSmallFile(path: string, maxBytes: number): Buffer {
  const stat = statSync(path);
  if (!stat.isFile()) throw new Error('it is no regular file');
  if (stat.size > maxBytes) throw new Error(`it has ${stat.size} bytes, at most ${maxBytes} are read`);
  return readFileSync(path);
}
