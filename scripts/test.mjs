#!/usr/bin/env node
// Sets up what is missing, then checks types, lint and formatting and runs every test.
// Further arguments go to jest. The last line counts the tests; the exit code is 0 only if nothing failed.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { at, NODE_MODULES, ROOT, STATE } from './setup/paths.mjs';
import { projectEnv } from './setup/ros-env.mjs';
import { setUp } from './setup/runner.mjs';
import { allSteps } from './setup/steps.mjs';
import { summary } from './setup/test-summary.mjs';

const HELP = `Usage: npm test [-- ARGUMENTS OF JEST]

Sets up what is missing, then checks types, lint and formatting and runs every test, one file after the other. The last
line counts the tests; the exit code is 0 only if nothing failed. Arguments go to jest: npm test -- test/core runs the
tests of that folder, npm test -- -t WORDS those with these words in their name.

  --help  this text`;

const REPORT = path.join(STATE, 'jest.json');

/** Runs a tool of node_modules with its output shown; resolves with true if it succeeded. */
const tool = (script, args, env) =>
  new Promise(resolve => {
    const child = spawn(process.execPath, [path.join(NODE_MODULES, script), ...args], {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    child.on('error', () => resolve(false)).on('close', code => resolve(code === 0));
  });

const CHECKS = [
  ['types', 'typescript/bin/tsc', ['--noEmit', '-p', 'tsconfig.json']],
  ['lint', 'eslint/bin/eslint.js', ['.']],
  ['formatting', 'prettier/bin/prettier.cjs', ['--check', '--log-level', 'warn', '.']],
];

const readReport = () => {
  try {
    return JSON.parse(fs.readFileSync(REPORT, 'utf8'));
  } catch {
    return undefined;
  }
};

const main = async jestArgs => {
  const env = projectEnv();
  const failedChecks = [];
  for (const [name, script, args] of CHECKS) {
    const ok = await tool(script, args, env);
    console.log(`${name}: ${ok ? 'ok' : 'FAILED'}`);
    if (!ok) failedChecks.push(name);
  }
  fs.rmSync(REPORT, { force: true });
  // One after the other: several tests measure time, and each may use all cores.
  const jestOk = await tool(
    'jest/bin/jest.js',
    ['--runInBand', '--json', `--outputFile=${REPORT}`, '--testLocationInResults', ...jestArgs],
    env,
  );
  const result = summary({ report: readReport(), jestOk, failedChecks });
  for (const line of result.lines) console.log(line);
  return result.ok ? 0 : 1;
};

if (process.argv.includes('--help')) {
  console.log(HELP);
} else if (await setUp(allSteps)) {
  process.exitCode = await main(process.argv.slice(2));
} else {
  console.log('0 passed, 1 failed, 0 skipped');
  process.exitCode = 1;
}
