import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';

export const ROOT = resolve(__dirname, '../..');

/** Engines built by the global set-up. */
export const engineDir = (
  name:
    'tiny' | 'odd' | 'demo' | 'tiny-int8' | 'odd-int8' | 'demo-int8' | 'tiny-cuda' | 'odd-cuda' | 'tiny-bf16',
): string => join(ROOT, 'test/.tmp/engines', name);

export const goldenDir = (name: 'tiny' | 'odd'): string => join(ROOT, 'test/data/golden', name);

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the compiled command line as a process of its own. */
export function oxygen(args: readonly string[], cwd = ROOT): Promise<CliResult> {
  return new Promise(done => {
    const options = { cwd, maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, [join(ROOT, 'dist/main.js'), ...args], options, (error, stdout, stderr) => {
      done({ code: typeof error?.code === 'number' ? error.code : error ? 1 : 0, stdout, stderr });
    });
  });
}
