/** What the NVIDIA checks look at, as an interface: the real machine here, made-up ones in tests. Nothing is loaded. */
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';

export interface Machine {
  readonly platform: string;
  /** As Node names it: `x64`, `arm64`. */
  readonly arch: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder of onnxruntime-node's libraries for this platform, or null if the package is not there. */
  readonly libraries: string | null;
  /** What the installed binding was compiled with, whether or not its libraries are there. Rejects if it cannot load. */
  readonly backends: () => Promise<readonly string[]>;
  readonly exists: (path: string) => boolean;
  /** A small text file, or null when it cannot be read. */
  readonly text: (path: string) => string | null;
  /** The path without links. Throws if there is nothing. */
  readonly real: (path: string) => string;
  /** `length` bytes from `offset` on; fewer at the end of the file. Throws if it cannot be read. */
  readonly bytes: (path: string, offset: number, length: number) => Uint8Array;
  /** Standard output of a command, or why there is none. */
  readonly run: (command: string, args: readonly string[]) => Answer;
}

export type Answer = { readonly output: string } | { readonly missing: true } | { readonly failed: string };

const TIMEOUT_MS = 10_000;

export function thisMachine(): Machine {
  return {
    platform: process.platform,
    arch: process.arch,
    env: process.env,
    libraries: bindingFolder(process.platform, process.arch),
    backends: async () => (await import('onnxruntime-node')).listSupportedBackends().map(({ name }) => name),
    exists: existsSync,
    text: path => {
      try {
        return readFileSync(path, 'utf8');
      } catch {
        return null;
      }
    },
    real: realpathSync,
    bytes: readRange,
    run,
  };
}

/** Where onnxruntime-node's binary for a platform lies, or null: it has none. */
export function bindingFolder(platform: string, arch: string): string | null {
  try {
    const binding = require.resolve(
      `onnxruntime-node/bin/napi-v6/${platform}/${arch}/onnxruntime_binding.node`,
    );
    return dirname(realpathSync(binding));
  } catch {
    return null;
  }
}

function readRange(path: string, offset: number, length: number): Uint8Array {
  const fd = openSync(path, 'r');
  try {
    const bytes = new Uint8Array(length);
    return bytes.subarray(0, readSync(fd, bytes, 0, length, offset));
  } finally {
    closeSync(fd);
  }
}

function run(command: string, args: readonly string[]): Answer {
  try {
    return { output: execFileSync(command, args, { encoding: 'utf8', timeout: TIMEOUT_MS, stdio: 'pipe' }) };
  } catch (error) {
    const { code, stdout, stderr, message } = error as NodeJS.ErrnoException &
      Partial<Record<'stdout' | 'stderr', string>>;
    if (code === 'ENOENT') return { missing: true };
    return { failed: (stdout?.trim() || stderr?.trim() || message).split('\n')[0]! };
  }
}
