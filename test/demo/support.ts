import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

export const ROOT = path.resolve(__dirname, '../..');
const RUN = promisify(execFile);

/** Runs a line of ESM JavaScript in the repository root and returns the JSON it prints. */
export const evaluate = (code: string): unknown =>
  JSON.parse(execFileSync('node', ['--input-type=module', '-e', code], { cwd: ROOT, encoding: 'utf8' }));

/** The environment of the demo with a ROS domain of its own, so that tests and a running demo do not meet. */
export const demoEnv = (): NodeJS.ProcessEnv => ({
  ...(evaluate(
    `import { projectEnv } from './scripts/setup/ros-env.mjs'; console.log(JSON.stringify(projectEnv()));`,
  ) as NodeJS.ProcessEnv),
  ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST',
  ROS_DOMAIN_ID: String(100 + (process.pid % 100)),
});

/** Runs Python unit tests of a file beside this one; rejects with their output. */
export const pythonTests = async (file: string): Promise<string> => {
  const { stderr } = await RUN('python3', ['-W', 'error::DeprecationWarning', path.join(__dirname, file)], {
    env: demoEnv(),
    cwd: ROOT,
  });
  return stderr;
};

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

/** A Python process with everything it says. */
export const startPython = (
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): { child: ChildProcess; stdout: () => string; ended: Promise<Ending> } => {
  const child = spawn('python3', args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let stdout = '';
  child.stdout.on('data', (data: Buffer) => {
    stdout += data.toString();
    output += data.toString();
  });
  child.stderr.on('data', (data: Buffer) => (output += data.toString()));
  const ended = new Promise<Ending>(resolve =>
    child.once('close', (code, signal) => resolve({ code, signal, output })),
  );
  return { child, stdout: () => stdout, ended };
};
