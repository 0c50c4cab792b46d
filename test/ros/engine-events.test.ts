/** What becomes of the engine's events: nothing that it computed vanishes without a count. */
import type { EngineEvent } from '../../src/engine/client';
import { DropLog } from '../../src/ros/drops';
import { onEngineEvent } from '../../src/ros/engine-events';
import type { EngineListener } from '../../src/ros/engine-events';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

test.each([true, false])('a chunk is played or counted: active is %s', active => {
  const drops = new DropLog(silent, () => 0);
  const accept = jest.fn();
  const node = {
    drops,
    active: () => active,
    nowNs: () => 7n,
    actions: { accept },
  } as unknown as EngineListener;
  const chunk = { epoch: 3 };
  onEngineEvent({ type: 'chunk', chunk } as unknown as EngineEvent, node);
  expect(accept.mock.calls).toEqual(active ? [[chunk, 7n]] : []);
  expect(drops.counts()).toEqual(active ? [] : [['CHUNK_DISABLED', 1n]]);
  expect(drops.lastError).toBe('');
});
