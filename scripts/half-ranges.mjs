// How near do the float16 values of an engine for CUDA come to the end of float16? Prints Max |x| of each, as the CPU
// computes them for a frame of noise and four decode steps, and fails above 30,000 (float16 ends at 65,504).
import { createRequire } from 'node:module';
import os from 'node:os';
import { readCommandLine } from './setup/command-line.mjs';
import { at } from './setup/paths.mjs';

const SHOWN = 20;
const USAGE = `Usage: node scripts/half-ranges.mjs ENGINE [--all]

How near the float16 values of an engine for CUDA come to the end of float16, computed on the CPU.

  --all   all values, not the ${SHOWN} largest
  --help  this text`;

const { positionals, values } = readCommandLine(USAGE, {
  options: { all: { type: 'boolean' } },
  operands: [1, 1],
});

const require = createRequire(import.meta.url);
const { halfRanges } = require(at('dist/engine/half-ranges.js'));
const { RANGE_LIMIT } = require(at('dist/model/ranges.js'));
const { describeError } = require(at('dist/core/errors.js'));

try {
  const ranges = await halfRanges(positionals[0], os.availableParallelism());
  for (const { graph, value, max } of values.all ? ranges : ranges.slice(0, SHOWN))
    console.log(`${max.toFixed(2).padStart(10)}  ${graph.padEnd(6)}  ${value}`);
  const beyond = ranges.filter(r => !(r.max <= RANGE_LIMIT)).length;
  console.log(`${ranges.length} float16 values, ${beyond} beyond ${RANGE_LIMIT}`);
  process.exitCode = beyond > 0 ? 1 : 0;
} catch (error) {
  console.error(describeError(error));
  process.exitCode = 2;
}
