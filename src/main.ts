/** Process entry: picks the command, prints errors once, sets the exit code. */
import { watchStdout } from './cli/stdout';
import { describeError, OxygenError } from './core/errors';

interface Command {
  readonly summary: string;
  /** Returns the exit code. */
  readonly run: (args: string[]) => Promise<number>;
}

/** Loaded on demand: `build` must not need ROS, `node` must not load the builder. */
const COMMANDS: Readonly<Record<string, Command>> = {
  build: {
    summary: 'build an engine from a checkpoint',
    run: async args => (await import('./cli/build.js')).runBuild(args),
  },
  verify: {
    summary: 'compare an engine with golden numbers',
    run: async args => (await import('./cli/verify.js')).runVerify(args),
  },
  bench: {
    summary: 'measure frame time and language rate',
    run: async args => (await import('./cli/bench.js')).runBench(args),
  },
  replay: {
    summary: 'play a bag through the node, in virtual or real time, and compare',
    run: async args => (await import('./cli/replay.js')).runReplay(args),
  },
  doctor: {
    summary: 'say what is missing or wrong, with the cure',
    run: async args => (await import('./cli/doctor.js')).runDoctor(args),
  },
  'check-config': {
    summary: 'say every fault of a configuration file, with the cure',
    run: async args => (await import('./cli/check-config.js')).runCheckConfig(args),
  },
  node: {
    summary: 'run the ROS 2 node (takes --ros-args)',
    run: async args => {
      if (args.includes('--help')) {
        console.log(
          'usage: oxygen node --ros-args -p engine:=DIR -p robot:=FILE [--params-file FILE] [-r FROM:=TO]',
        );
        return 0;
      }
      return (await import('./app.js')).runNode(args);
    },
  },
};

const usage = (): string =>
  [
    'usage: oxygen COMMAND [options]; oxygen COMMAND --help tells more',
    ...Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(12)} ${summary}`),
  ].join('\n');

async function main(argv: string[]): Promise<number> {
  const [name, ...args] = argv;
  if (name === undefined || name === '--help' || name === 'help') {
    console.log(usage());
    return name === undefined ? 2 : 0;
  }
  const command = COMMANDS[name];
  if (!command) throw new OxygenError('USAGE', `there is no command ${JSON.stringify(name)}\n${usage()}`);
  return command.run(args);
}

watchStdout();
main(process.argv.slice(2)).then(
  code => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(`oxygen: ${describeError(error)}`);
    process.exitCode = error instanceof OxygenError && error.code === 'USAGE' ? 2 : 1;
  },
);
