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

/**
 * Starts a process in a group of its own, so that Ctrl-C in the terminal reaches only us and we end it in order.
 * @returns {{name: string, ended: Promise<string>, tail: () => string[], stop: () => Promise<string>}}
 *   `ended` and `stop()` resolve with '' after exit code 0, else with what happened.
 */
export const startChild = (name, command, args, { env, onStdout = () => {}, onStderr = () => {} }) => {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
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
    child.once('exit', (code, signal) => {
      // Whatever it has left behind goes too, or it would keep our pipes open.
      signalGroup(child.pid, 'SIGKILL');
      const reason = code === 0 ? '' : `ended with ${signal ?? `exit code ${code}`}`;
      child.once('close', () => resolve(reason));
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
  return { name, ended, tail: () => [...tail], stop };
};
