/** `oxygen replay` as a command, with the demo's engine and robot on one thread. */
import { join } from 'node:path';
import { engineDir, oxygen, ROOT } from '../support/engines';
import type { CliResult } from '../support/engines';

export const ROBOT = join(ROOT, 'config/robots/demo.yaml');

/** `cost`: a file of stage times, so that nothing depends on where the engine was built. */
export const replayWith =
  (cost: string) =>
  (bag: string, ...more: readonly string[]): Promise<CliResult> =>
    oxygen([
      ...['replay', bag, '--engine', engineDir('demo'), '--robot', ROBOT],
      ...['--cost', cost, '--threads', '1', ...more],
    ]);
