#!/usr/bin/env node
// Measures the installed node on this machine, from an independent peer, and prints the table of the README.
import fs from 'node:fs';
import os from 'node:os';
import { parseArgs } from 'node:util';
import { projectEnv } from './setup/ros-env.mjs';
import { setUp } from './setup/runner.mjs';
import { allSteps } from './setup/steps.mjs';

/** Names, and the file and function that finds their figures. */
const PARTS = {
  probes: ['probes', 'measureProbes', ['remote_probes_survived']],
  start: ['start', 'measureStart', ['node_up_ms', 'active_ms']],
  rate: ['rate', 'measureRate', ['rate_hz', 'missed_ticks', 'dt_p99_ms', 'dt_heard_p99_ms']],
  safe: ['safe', 'measureSafe', ['safe_command_ms']],
  diagnostics: ['diagnostics', 'measureDiagnostics', ['fault_to_diagnostics_ms', 'qos_mismatch_ms']],
  kill: ['kill', 'measureKill', ['kill9_recovered']],
  lifecycle: ['lifecycle', 'measureLifecycle', ['lifecycle_loops', 'lifecycle_rss_growth_pct']],
  soak: [
    'soak',
    'measureSoak',
    ['soak_rss_mb_per_min', 'soak_node_rss_mb_per_min', 'soak_engine_rss_mb_per_min'],
  ],
};
const NAMES = Object.entries(PARTS).map(([part, [, , names]]) => `  ${part.padEnd(12)} ${names.join(', ')}`);
const HELP = `Usage: npm run measure -- [--quick] [--only NAME,...] [--json]

Runs the installed node with the demo's engine and an independent ROS 2 peer on a graph of its own, breaks it in many
ways, and prints what it measured. Takes about 25 minutes; figures hold for a machine with nothing else to do.

  --quick       under 5 minutes: 20 s instead of 60 s of commands, 2 faults of each kind instead of 5, 3 starts instead
                of 5, 20 lifecycle loops instead of 200, 3 kills instead of 20, 60 s of soak instead of 600 s
  --only NAMES  some of them, by the name of the part or of a figure
  --json        {name: {value, limit, ok}} as the last line of stdout; all else goes to stderr
  --help        this text

Parts and their figures:
${NAMES.join('\n')}

Exit code: 0 when every figure is within its limit, 1 when not, 2 for a wrong command line.`;

class UsageError extends Error {}

const OPTIONS = {
  quick: { type: 'boolean', default: false },
  only: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
};

const readOptions = args => {
  try {
    const { only, ...options } = parseArgs({ args, options: OPTIONS }).values;
    return { ...options, parts: partsOf(only) };
  } catch (error) {
    throw new UsageError(error.message);
  }
};

const partsOf = only => {
  if (only === undefined) return Object.keys(PARTS);
  const wanted = only.split(',').map(name => {
    const part = Object.keys(PARTS).find(each => each === name || PARTS[each][2].includes(name));
    if (part === undefined) throw new Error(`--only ${name}: there is no such figure`);
    return part;
  });
  return Object.keys(PARTS).filter(part => wanted.includes(part));
};

/** Every child goes with this process: their groups are killed on exit. */
const endOnSignals = () => {
  for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }))
    process.on(signal, () => process.exit(code));
};

const load = () =>
  os
    .loadavg()
    .map(each => each.toFixed(1))
    .join(' ');

const machine = () =>
  `${os.availableParallelism()} CPUs, ${os.cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`;

/** Figures of one part; when it breaks off, its figures have no value and are not ok. */
const runPart = async (part, { quick, say }) => {
  const [file, work, names] = PARTS[part];
  const before = load();
  const start = performance.now();
  say(`${part} ...`);
  const tell = line => say(`  ${part}: ${line}`);
  let figures;
  try {
    const module = await import(`./measure/${file}.mjs`);
    figures = await module[work]({ quick, env: projectEnv(), tell });
  } catch (error) {
    tell(error.message);
    figures = names.map(name => ({
      name,
      value: NaN,
      limit: { most: 0 },
      note: error.message.split('\n')[0],
    }));
  }
  say(
    `  ${((performance.now() - start) / 1000).toFixed(0)} s, load average ${before} before, ${load()} after`,
  );
  return figures;
};

const measure = async ({ quick, json, parts }) => {
  endOnSignals();
  const say = line => (json ? console.error(line) : console.log(line));
  const before = load();
  const figures = [];
  for (const part of parts) figures.push(...(await runPart(part, { quick, say })));
  const { asJson, judged, table } = await import('./measure/figures.mjs');
  const all = figures.map(judged);
  const counts = quick ? 'quick: smaller counts, see --help' : 'full counts';
  say(`\nOn ${machine()}; ${counts}; load average ${before} before, ${load()} after.\n`);
  for (const row of table(all)) say(row);
  if (json) fs.writeSync(1, `${JSON.stringify(asJson(all))}\n`);
  return all.every(({ ok }) => ok) ? 0 : 1;
};

const main = async args => {
  try {
    const options = readOptions(args);
    if (options.help) console.log(HELP);
    else process.exitCode = (await setUp(allSteps)) ? await measure(options) : 1;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${error.message}\n\n${HELP}`);
    process.exitCode = 2;
  }
};

await main(process.argv.slice(2));
