// Runs a command, keeps what it says, and shows it only when the command fails.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ROOT } from './paths.mjs';

const SHOWN_LINES = 80;
const GRACE_MS = 2000;

/** A failed command, with the end of its output. */
export class CommandError extends Error {
  constructor(command, args, reason, output) {
    super(`${[command, ...args].join(' ')}\n${reason}`);
    this.output = output.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n');
  }
}

const running = new Set();

const killGroup = (child, signal) => {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has ended already.
  }
};

/** Ends every command that is still running, children of its own included; resolves when they are gone. */
export const stopCommands = async () => {
  const children = [...running];
  const gone = Promise.all(children.map(child => once(child, 'close')));
  for (const child of children) killGroup(child, 'SIGTERM');
  const force = setTimeout(() => children.forEach(child => killGroup(child, 'SIGKILL')), GRACE_MS);
  await gone;
  clearTimeout(force);
};

/**
 * Runs to the end; resolves with stdout + stderr, rejects with CommandError.
 * @param options cwd, env, and onLine(line) for the newest line of output
 */
export const run = (command, args, { cwd = ROOT, env = process.env, onLine = () => {} } = {}) =>
  new Promise((resolve, reject) => {
    // A group of its own, so that stopCommands also reaches the compilers that make has started.
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let output = '';
    running.add(child);
    const take = data => {
      output += data;
      const line = String(data).trimEnd().split('\n').at(-1);
      if (line) onLine(line);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('error', error => {
      running.delete(child);
      reject(new CommandError(command, args, `could not be started: ${error.message}`, output));
    });
    child.on('close', (code, signal) => {
      running.delete(child);
      if (code === 0) resolve(output);
      else reject(new CommandError(command, args, `ended with ${signal ?? `exit code ${code}`}`, output));
    });
  });
