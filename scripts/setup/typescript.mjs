import fs from 'node:fs';
import path from 'node:path';
import { run } from './command.mjs';
import { at, NODE_MODULES, RCLNODEJS } from './paths.mjs';

export const typescript = {
  name: 'TypeScript build',
  inputs: () => [
    [
      at('src'),
      at('tsconfig.json'),
      at('tsconfig.build.json'),
      at('package-lock.json'),
      path.join(RCLNODEJS, 'types/interfaces.d.ts'),
    ],
  ],
  outputs: [at('dist/main.js')],
  run: async ({ onLine }) => {
    // Else the output of deleted sources would stay.
    fs.rmSync(at('dist'), { recursive: true, force: true });
    await run(
      process.execPath,
      [path.join(NODE_MODULES, 'typescript/bin/tsc'), '-p', 'tsconfig.build.json'],
      {
        onLine,
      },
    );
  },
};
