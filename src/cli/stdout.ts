/** What a command prints is its result: one that is lost must not look like success. */
import { fstatSync, writeFileSync } from 'node:fs';

/** Once per process: a lost print ends it with exit code 1 and the reason. Whoever closes a pipe, as `head` does, has enough. */
export function watchStdout(): void {
  let lost: NodeJS.ErrnoException | null = null;
  // Without a listener console.log throws errors away.
  process.stdout.on('error', (error: Error) => {
    lost ??= error;
  });
  if (isFile()) {
    // The stream takes a part of a write for all of it, as a disk gives it that fills up.
    process.stdout._write = (chunk: Uint8Array, _encoding, done) => {
      try {
        writeFileSync(process.stdout.fd, chunk);
        done();
      } catch (error) {
        done(error as Error);
      }
    };
  }
  process.once('exit', () => {
    if (lost === null || lost.code === 'EPIPE') return;
    console.error(
      `oxygen: RESULT_NOT_WRITTEN: standard output: ${lost.message}; print to a place that has room`,
    );
    process.exitCode = 1;
  });
}

/** Closed, it is none. */
function isFile(): boolean {
  try {
    return fstatSync(process.stdout.fd).isFile();
  } catch {
    return false;
  }
}
