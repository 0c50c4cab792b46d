/** A process of the bench that dies, also while nobody waits for it. */
import { join } from 'node:path';
import type * as ProcessModule from '../../src/bench/process';
import { ROOT } from '../support/engines';

// The compiled one: it starts the compiled process beside it.
// eslint-disable-next-line @typescript-eslint/no-require-imports
const { BenchProcess } = require(join(ROOT, 'dist/bench/process.js')) as typeof ProcessModule;

it('killed while idle: the next order is told so at once', async () => {
  const lane = await BenchProcess.start('oxygen');
  process.kill(lane.pid, 'SIGKILL');
  // As long as it takes until its end is known.
  while (isRunning(lane.pid)) await new Promise(resolve => setTimeout(resolve, 10));
  await new Promise(resolve => setTimeout(resolve, 100));
  await expect(lane.order({ type: 'peaks', tokens: 1 })).rejects.toMatchObject({
    code: 'ENGINE_DOWN',
    message: 'the bench process for oxygen was ended by SIGKILL; memory may have run out',
  });
  await lane.stop();
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
