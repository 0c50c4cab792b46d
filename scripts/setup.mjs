#!/usr/bin/env node
// Sets up whatever is missing. `npm start` and `npm test` do the same first.
// usage: npm run setup [-- --only node]
import { parseArgs } from 'node:util';
import { setUp } from './setup/runner.mjs';
import { allSteps, nodeSteps } from './setup/steps.mjs';

const GROUPS = { all: allSteps, node: nodeSteps };

const { values } = parseArgs({ options: { only: { type: 'string', default: 'all' } } });
const steps = GROUPS[values.only];
if (steps === undefined) {
  console.error(`--only ${values.only}: expected one of ${Object.keys(GROUPS).join(', ')}`);
  process.exit(2);
}
const start = performance.now();
if (!(await setUp(steps))) process.exit(1);
console.log(`Set-up is complete (${((performance.now() - start) / 1000).toFixed(1)} s).`);
