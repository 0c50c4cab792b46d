// The demo: a simulated robot, the node with the trained checkpoint, and a driver that asks and counts.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { startChild } from './children.mjs';
import { openScreen } from './screen.mjs';

const DEMO = path.dirname(fileURLToPath(import.meta.url));
const ROOT = path.dirname(DEMO);
const NEEDED = {
  node: path.join(ROOT, 'install/oxygen_vla/lib/oxygen_vla/oxygen'),
  engine: path.join(ROOT, 'engines/demo'),
  robotFile: path.join(ROOT, 'config/robots/demo.yaml'),
};
/** Discovery takes its time: the bag begins when the recorder has found what the node needs. */
const WAIT_FOR = ['--wait-for', 'camera/base_0_rgb/image_raw', 'joint_states', 'instruction', 'action'];
const HELP = `Usage: npm start -- [--seconds N] [--json] [--seed N] [--rest N] [--record FILE]

A simulated robot sees three blocks, the node drives it, and it gets another instruction every few seconds.
Runs until Ctrl-C.

  --seconds N   stop N seconds after the first chunk of actions
  --json        the figures as one JSON object in the last line of stdout; all else goes to stderr
  --seed N      places of the blocks and order of the instructions (0)
  --rest N      seconds between a text and the next question (0)
  --record FILE record into an MCAP file, from the first second after the first chunk on
  --help        this text`;

class UsageError extends Error {}

const OPTIONS = {
  seconds: { type: 'string' },
  json: { type: 'boolean', default: false },
  seed: { type: 'string', default: '0' },
  rest: { type: 'string', default: '0' },
  record: { type: 'string' },
  help: { type: 'boolean', default: false },
};

const parse = args => {
  try {
    return parseArgs({ args, options: OPTIONS }).values;
  } catch (error) {
    throw new UsageError(error.message);
  }
};

const readOptions = args => {
  const { seconds, seed, rest, record, json, help } = parse(args);
  if (seconds !== undefined && !(Number(seconds) > 0))
    throw new UsageError(`--seconds ${seconds}: need a number above 0`);
  if (!/^\d{1,9}$/.test(seed)) throw new UsageError(`--seed ${seed}: need a whole number from 0`);
  if (record !== undefined && fs.existsSync(record))
    throw new UsageError(`--record ${record}: exists already`);
  if (!(Number(rest) >= 0)) throw new UsageError(`--rest ${rest}: need a number from 0`);
  return { seconds: Number(seconds ?? 0), seed, rest, record, json, help };
};

const pythonOf = env => {
  const own = path.join(ROOT, '.venv/bin/python');
  return env.OXYGEN_PYTHON ?? (fs.existsSync(own) ? own : 'python3');
};

/** Resolves with the name of the first signal that asks for the end. */
const listenForEnd = () => {
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  let take;
  const asked = new Promise(resolve => (take = resolve));
  for (const name of names) process.on(name, take);
  return { asked, forget: () => names.forEach(name => process.removeListener(name, take)) };
};

const isTrouble = line => /\[(WARN|ERROR|FATAL)\]|^\[demo_/.test(line);

const starter = (env, screen) => {
  const tell = name => line => {
    if (isTrouble(line)) screen.note(`  ${name}: ${line}`);
  };
  return (name, command, args, onStdout = tell(name)) =>
    startChild(name, command, args, { env, onStdout, onStderr: tell(name) });
};

const startAll = (start, options, python, onDriverLine) => {
  const parameters = { engine: NEEDED.engine, robot: NEEDED.robotFile };
  const rosArgs = Object.entries(parameters).flatMap(([key, value]) => ['-p', `${key}:=${value}`]);
  return {
    robot: start('robot', python, [path.join(DEMO, 'robot.py'), '--seed', options.seed]),
    node: start('node', NEEDED.node, ['node', '--ros-args', ...rosArgs]),
    driver: start(
      'driver',
      python,
      [
        path.join(DEMO, 'driver.py'),
        ...['--seed', options.seed, '--rest', options.rest, '--seconds', String(options.seconds)],
      ],
      onDriverLine,
    ),
  };
};

const summary = r =>
  `\n  ${r.duration_s} s: action ${r.action_hz} Hz (fresh ${r.fresh_ratio ?? '-'}), replan ${r.replan_hz} Hz, ` +
  `${r.tokens_per_s} tokens/s, up to ${r.batch_max} texts at once, ${r.requests_finished} texts finished, ` +
  `${r.reached} of ${r.instructions} instructions reached`;

const fail = ({ child, reason }) => {
  const lines = child.tail().filter(line => !line.startsWith('{"kind"'));
  console.error(`\n${child.name} ${reason || 'ended too early'}. Its last lines:\n${lines.join('\n')}`);
  return 1;
};

/** Runs robot, node and driver until the window is over, a signal comes or one of them fails; exit code. */
const runDemo = async (options, env) => {
  const missing = Object.values(NEEDED).filter(file => !fs.existsSync(file));
  if (missing.length > 0) {
    console.error(`Missing: ${missing.join(', ')}\nRun: npm run setup`);
    return 1;
  }

  const end = listenForEnd();
  const screen = openScreen(options.json ? process.stderr : process.stdout);
  screen.note(
    '  camera + joint_states -> oxygen node -> action at 70 Hz + language/tokens        Ctrl-C ends',
  );
  // Other machines of the network do not see the demo unless asked for.
  const childEnv = { ROS_AUTOMATIC_DISCOVERY_RANGE: 'LOCALHOST', PYTHONUNBUFFERED: '1', ...env };
  const start = starter(childEnv, screen);
  const python = pythonOf(env);
  let result;
  let recorder;
  const onDriverLine = line => {
    if (!line.startsWith('{')) return screen.note(`  driver: ${line}`);
    const { kind, ...content } = JSON.parse(line);
    if (kind === 'second') screen.second(content);
    if (kind === 'second' && content.t !== null && options.record !== undefined)
      recorder ??= start('recorder', python, [path.join(DEMO, 'record.py'), options.record, ...WAIT_FOR]);
    if (kind === 'text') screen.texts(content.texts);
    if (kind === 'result') result = content;
  };
  const { robot, node, driver } = startAll(start, options, python, onDriverLine);

  const ended = child => child.ended.then(reason => ({ child, reason }));
  const first = await Promise.race([end.asked.then(() => undefined), ...[driver, robot, node].map(ended)]);
  const failed = first !== undefined && (first.child !== driver || first.reason !== '') ? first : undefined;
  const unrecorded = (await recorder?.stop()) ?? '';
  await driver.stop();
  for (const [child, reason] of await Promise.all([node, robot].map(async c => [c, await c.stop()]))) {
    if (reason !== '' && child !== failed?.child)
      screen.note(`  ${child.name} ${reason} while it was being stopped`);
  }
  end.forget();
  screen.close();

  if (failed !== undefined) return fail(failed);
  if (unrecorded !== '') return fail({ child: recorder, reason: unrecorded });
  if (result !== undefined) {
    screen.note(summary(result));
    if (options.json) console.log(JSON.stringify({ ...result, seed: Number(options.seed) }));
  }
  return 0;
};

/**
 * Runs the demo to its end and sets the exit code: 0 also after Ctrl-C, 1 when a process failed, 2 for a wrong
 * command line.
 * @param {string[]} args command line, see HELP
 * @param envOf called when the command line is right: gives the environment with ROS 2 and this package in its paths,
 *   or undefined when that cannot be had; OXYGEN_PYTHON in it names another Python
 */
export const main = async (args, envOf = () => process.env) => {
  try {
    const options = readOptions(args);
    if (options.help) {
      console.log(HELP);
      return;
    }
    const env = await envOf();
    process.exitCode = env === undefined ? 1 : await runDemo(options, env);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${error.message}\n\n${HELP}`);
    process.exitCode = 2;
  }
};

if (
  process.argv[1] !== undefined &&
  import.meta.url === pathToFileURL(fs.realpathSync(process.argv[1])).href
) {
  await main(process.argv.slice(2));
}
