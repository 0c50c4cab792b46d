import { readdirSync, readlinkSync } from 'node:fs';

/** Descriptors of this process that are open on `path` or, if it is a folder, on something below it. */
export const openFiles = (path: string): string[] =>
  readdirSync('/proc/self/fd').flatMap(fd => {
    const file = target(fd);
    return file === path || file?.startsWith(`${path}/`) ? [file] : [];
  });

/** Null for the one that lists them, which is closed by now. */
function target(fd: string): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return null;
  }
}
