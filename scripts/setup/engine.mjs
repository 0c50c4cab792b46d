// The engine of the demo, from the checkpoint in demo/.
import path from 'node:path';
import { run } from './command.mjs';
import { at, ENGINE } from './paths.mjs';

export const engine = {
  name: 'demo engine',
  // The code that runs is dist/, which the TypeScript build renews whenever these sources change.
  inputs: () => [[at('demo/checkpoint'), at('src/builder'), at('package-lock.json')]],
  outputs: [path.join(ENGINE, 'engine.json')],
  run: ({ env, onLine }) =>
    run(
      process.execPath,
      [at('dist/main.js'), 'build', '--checkpoint', at('demo/checkpoint'), '--out', ENGINE],
      {
        env,
        onLine,
      },
    ),
};
