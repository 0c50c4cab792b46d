#!/usr/bin/env node
// Sets up whatever is missing. `npm start` and `npm test` do the same first.
import { readCommandLine } from './setup/command-line.mjs';
import { setUp } from './setup/runner.mjs';
import { allSteps, nodeSteps } from './setup/steps.mjs';

const GROUPS = { all: allSteps, node: nodeSteps };

const USAGE = `Usage: npm run setup [-- --only node]

Sets up what is missing: packages, a ROS 2 where none is sourced, the messages, the node, the demo's engine. As root,
Debian packages that are missing are installed with apt-get.

  --only node  what the node itself consists of, without demo and tests
  --help       this text`;

const { values } = readCommandLine(USAGE, { options: { only: { type: 'string', default: 'all' } } });
const steps = GROUPS[values.only];
if (steps === undefined) {
  console.error(`--only ${values.only}: expected one of ${Object.keys(GROUPS).join(', ')}`);
  process.exit(2);
}
const start = performance.now();
if (!(await setUp(steps))) process.exit(1);
console.log(`Set-up is complete (${((performance.now() - start) / 1000).toFixed(1)} s).`);
