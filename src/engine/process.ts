/** Entry of the engine process: started by the client with an IPC channel, ends when told to or when the node is gone. */
import { constants, setPriority } from 'node:os';
import { toOxygenError } from '../core/errors';
import { EngineHost } from './host';
import type { FromEngine, ToEngine } from './protocol';

const post = (messages: readonly FromEngine[]): void => {
  // A node that was killed this moment hears nothing any more, and 'disconnect' is on its way.
  if (process.connected) process.send?.(messages, undefined, undefined, () => undefined);
};

const ALIVE_EVERY_MS = 250;

// The node's timer and the camera driver come first. Measured on two busy cores: the lower, the fewer late ticks, and
// the engine loses nothing noticeable.
setPriority(constants.priority.PRIORITY_LOW);
// A terminal's Ctrl-C reaches the whole process group; the node says when the engine stops.
process.on('SIGINT', () => undefined);

const host = new EngineHost(post);
let started = false;
setInterval(() => post([{ type: 'alive' }]), ALIVE_EVERY_MS).unref();

process.on('message', (message: ToEngine) => {
  if (message.type !== 'configure') return host.onMessage(message);
  if (started) return;
  started = true;
  const leave = () => process.connected && process.disconnect();
  host.run(message.options).then(leave, (error: unknown) => {
    const { code, message: text } = toOxygenError(error, 'ENGINE_INVALID');
    process.exitCode = 1;
    const fatal: FromEngine = { type: 'fatal', code, message: text };
    if (process.connected) process.send?.([fatal], leave);
  });
});
const stop = () => host.onMessage({ type: 'stop' });
process.on('SIGTERM', stop);
process.on('disconnect', () => {
  stop();
  // Nothing is left to tell anybody; a run in flight is finished first because exit waits for this thread.
  setImmediate(() => process.exit());
});
