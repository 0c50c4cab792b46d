/** Entry of a bench process: one engine, loaded once, that runs what it is told. Ends when told to or when the bench is gone. */
import * as ort from 'onnxruntime-node';
import { OxygenError, toOxygenError } from '../core/errors';
import { ModelSessions } from '../engine/model-sessions';
import { runBlock } from './block';
import type { FromChild, LoadOrder, Order, Replies, ToChild } from './messages';
import { measureParts } from './parts';
import { measurePeaks } from './roofline-peaks';
import { measurePrefillProducts } from './roofline-profile';
import { Frames } from './workload';

interface Loaded {
  readonly order: LoadOrder;
  readonly sessions: ModelSessions;
  readonly frames: Frames;
}

let loaded: Loaded | null = null;
/** Starts the frame that waits. */
let ready: () => void = () => undefined;

const post = (message: FromChild): void => {
  if (process.connected) process.send?.(message);
};

async function load(order: LoadOrder): Promise<Replies['load']> {
  const sessions = await ModelSessions.load(order.engineDir, order.threads, order.spinUs);
  loaded = { order, sessions, frames: new Frames(sessions.manifest.model, order.seed) };
  return { onnxruntime: String(ort.env.versions.node) };
}

async function obey(order: Order): Promise<Replies[keyof Replies]> {
  if (order.type === 'load') return load(order);
  if (!loaded)
    throw new OxygenError('INTERNAL', `a bench process was told to run ${order.type} before it loaded`);
  const { sessions, frames, order: loadOrder } = loaded;
  switch (order.type) {
    case 'block':
      return runBlock(sessions, frames, order.block, {
        frame: start => {
          ready = start;
          post({ type: 'frame' });
          if (!order.block.paced) start();
        },
      });
    case 'parts':
      return measureParts(sessions, frames, order.block);
    case 'peaks': {
      const { engineDir } = loadOrder;
      return {
        peaks: await measurePeaks(sessions.manifest, order.tokens, loadOrder),
        gemmMs: await measurePrefillProducts(engineDir, order.tokens, loadOrder),
      };
    }
  }
}

process.on('message', (message: ToChild) => {
  if (message.type === 'go') return ready();
  if (message.type === 'stop') return process.disconnect();
  obey(message).then(
    value => post({ type: 'reply', value }),
    (error: unknown) => {
      const { code, message: text } = toOxygenError(error, 'RUN_FAILED');
      post({ type: 'failed', code, message: text });
    },
  );
});
// What has been sent is on its way; the sessions' threads go with the process.
process.on('disconnect', () => process.exit());
post({ type: 'started' });
