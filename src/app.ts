/**
 * The composition root of the ROS node: the only file that puts ros/, ingest/ and the engine client together.
 * Order of the end: last safe command, engine, preprocessing, ROS.
 */
import { describeError, toOxygenError } from './core/errors';
import { createEngineClient } from './engine/client';
import { Preprocessor } from './ingest/preprocessor';
import { prepare } from './prepare';
import { DropLog } from './ros/drops';
import type { Logger } from './ros/drops';
import { Entities } from './ros/entities';
import { createGuardedNode } from './ros/guard';
import { LoopWatch } from './ros/loop-delay';
import { ManagedNode } from './ros/managed-node';
import { OxygenNode } from './ros/node';
import { NodeParameters } from './ros/node-parameters';
import { NODE_NAME } from './ros/params';
import { comeFirst } from './ros/priority';
import { loadRcl } from './ros/rcl';
import type { Rcl, RclNode } from './ros/rcl';
import { StatusBoard } from './ros/status';
import type { Surroundings } from './ros/surroundings';
import { Ticker } from './ros/ticker';

const nowMs = (): number => performance.now();

/** Runs the node until SIGINT or SIGTERM, then ends the process. `argv`: arguments after `oxygen node`. */
export async function runNode(argv: string[]): Promise<never> {
  const code = await run(argv);
  // Not by running dry: Node would take its signal handlers away first, and a second signal in that moment
  // would kill the process.
  process.exit(code);
}

/** What the guard of the callbacks talks to, as soon as it is there. */
interface Guarded {
  drops: DropLog | null;
  parameters: NodeParameters | null;
  managed: ManagedNode | null;
}

/** Everything but the exit. Returns the exit code. */
async function run(argv: string[]): Promise<number> {
  comeFirst();
  const stop = stopSignal();
  let rcl: Rcl;
  try {
    rcl = loadRcl();
    await rcl.init(rcl.Context.defaultContext(), [NODE_NAME, ...argv]);
    rcl.removeSignalHandlers();
  } catch (error) {
    console.error(describeError(toOxygenError(error, 'CONFIG_INVALID')));
    return 1;
  }
  const guarded: Guarded = { drops: null, parameters: null, managed: null };
  const caught = (error: unknown, where: string): void => {
    const what = error instanceof Error ? error.stack : String(error);
    guarded.drops?.drop('INTERNAL', `${where}: ${what}`, where);
    guarded.managed?.callbackFailed();
  };
  process.on('unhandledRejection', error => caught(error, 'promise'));
  process.on('uncaughtException', error => {
    caught(error, 'main thread');
    stop.now(1);
  });

  try {
    const node = createGuardedNode(rcl, NODE_NAME, {
      error: caught,
      badCall: (error, service) =>
        guarded.drops?.drop('CALL_INVALID', `${service}: ${toOxygenError(error).message}`, service),
      refusal: parameters => guarded.parameters?.refusal(parameters) ?? null,
    });
    const log = node.getLogger();
    guarded.drops = new DropLog(log, nowMs);
    try {
      return await serve(rcl, node, log, guarded, guarded.drops, caught, stop);
    } catch (error) {
      log.error(describeError(error));
      return 1;
    }
  } finally {
    rcl.shutdown();
  }
}

/** From parameters to the end. @throws OxygenError when a parameter is wrong. */
async function serve(
  rcl: Rcl,
  node: RclNode,
  log: Logger,
  guarded: Guarded,
  drops: DropLog,
  caught: (error: unknown, where: string) => void,
  stop: StopSignal,
): Promise<number> {
  const parameters = new NodeParameters(rcl, node, log);
  guarded.parameters = parameters;
  const preprocessing = new Preprocessor();
  const board = new StatusBoard(nowMs());
  const loop = new LoopWatch(1);
  const shared = { rcl, node, preprocessing, drops, board, loop, log, nowMs, caught };
  const surroundings: Surroundings = {
    nowMs,
    nowNs: () => node.getClock().now().nanoseconds,
    nextTurn: call => void setImmediate(call),
    open: (robot, actionType, handlers) => new Entities(rcl, node, robot, actionType, handlers),
    actionTimer: (hz, onTicks) => new Ticker(rcl, node, loop, nowMs, hz, onTicks),
  };
  const managed = new ManagedNode({
    ...shared,
    parameters,
    prepare: onNews => {
      const path = (name: string): string => parameters.values.get(name) as string;
      const paths = { engine: path('engine'), robot: path('robot') };
      const { engine: options, ...prepared } = prepare(paths, robot => parameters.robot(robot), log);
      const engine = createEngineClient(options, line => log.info(line));
      return new OxygenNode({ ...shared, surroundings, ...prepared, engine, onNews });
    },
  });
  guarded.managed = managed;
  node.spin();
  if (parameters.values.get('autostart') === true) void managed.start();
  const code = await stop.wanted;
  await managed.end();
  loop.stop();
  await preprocessing.close();
  return code;
}

interface StopSignal {
  /** Resolves with the exit code at the first signal. */
  readonly wanted: Promise<number>;
  now(exitCode: number): void;
}

/** SIGINT and SIGTERM; further ones change nothing, the end is on its way. */
function stopSignal(): StopSignal {
  let now: (exitCode: number) => void = () => undefined;
  const wanted = new Promise<number>(resolve => {
    now = resolve;
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => now(0));
  return { wanted, now };
}
