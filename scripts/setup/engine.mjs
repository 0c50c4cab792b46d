// The engine of the demo, from the checkpoint in demo/.
import path from 'node:path';
import { run } from './command.mjs';
import { at, ENGINE } from './paths.mjs';

export const engine = {
  name: 'demo engine',
  // What runs is dist/, made from these sources by the step before.
  inputs: () => [
    ['demo/checkpoint', 'src/builder', 'src/cli/build.ts', 'src/model/manifest.ts'].map(name => at(name)),
  ],
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
