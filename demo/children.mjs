// Starts the processes of the demo, keeps the end of what they say, and ends every one of them for certain.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const TAIL_LINES = 40;
/** What is sent in turn, and how long each may take (ms). The last one goes to the whole process group. */
const ENDING = [
  ['SIGINT', 5000],
  ['SIGTERM', 3000],
  ['SIGKILL', 1000],
];

const signalGroup = (pid, signal) => {
  try {
    process.kill(-pid, signal);
  } catch {
    // It is gone already.
  }
};

const POLL_MS = 20;
const groupLives = pid => {
  try {
    return process.kill(-pid, 0);
  } catch {
    return false;
  }
};

/**
 * Starts a process in a group of its own, so that Ctrl-C in the terminal reaches only us and we end it in order.
 * `input`: it gets a stdin to write to. `orphansMs`: how long what it leaves behind may live on.
 * @returns {{name: string, pid: number, stdin: import('node:stream').Writable | null, ended: Promise<string>,
 *   tail: () => string[], stop: () => Promise<string>}}
 *   `ended` and `stop()` resolve with '' after exit code 0, else with what happened.
 */
export const startChild = (
  name,
  command,
  args,
  { env, input = false, orphansMs = 0, onStdout = () => {}, onStderr = () => {} },
) => {
  const stdio = [input ? 'pipe' : 'ignore', 'pipe', 'pipe'];
  const child = spawn(command, args, { env, stdio, detached: true });
  // A process that is gone reads no more; its end is told by `ended`.
  child.stdin?.on('error', () => {});
  const tail = [];
  const listen = (stream, tell) =>
    createInterface({ input: stream }).on('line', line => {
      tail.push(line);
      if (tail.length > TAIL_LINES) tail.shift();
      tell(line);
    });
  listen(child.stdout, onStdout);
  listen(child.stderr, onStderr);

  const killAtExit = () => signalGroup(child.pid, 'SIGKILL');
  process.once('exit', killAtExit);
  const ended = new Promise(resolve => {
    child.once('error', error => resolve(`could not be started: ${error.message}`));
    child.once('exit', async (code, signal) => {
      const reason = code === 0 ? '' : `ended with ${signal ?? `exit code ${code}`}`;
      child.once('close', () => resolve(reason));
      for (let ms = 0; ms < orphansMs && groupLives(child.pid); ms += POLL_MS) await sleep(POLL_MS);
      // Whatever it has left behind goes too, or it would keep our pipes open.
      signalGroup(child.pid, 'SIGKILL');
    });
  }).finally(() => process.removeListener('exit', killAtExit));

  const stop = async (ending = ENDING) => {
    for (const [signal, patience] of ending) {
      if (child.exitCode !== null || child.signalCode !== null) break;
      if (signal === 'SIGKILL') signalGroup(child.pid, signal);
      else child.kill(signal);
      const waiting = new AbortController();
      await Promise.race([ended, sleep(patience, undefined, { signal: waiting.signal }).catch(() => {})]);
      waiting.abort();
    }
    return ended;
  };
  return { name, pid: child.pid, stdin: child.stdin, ended, tail: () => [...tail], stop };
};
