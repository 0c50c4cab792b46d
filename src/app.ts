/**
 * The composition root of the ROS node: the only file that puts ros/, ingest/ and the engine client together.
 * Order of the end: timers, last safe command, engine, preprocessing, ROS.
 */
import { describeError, toOxygenError } from './core/errors';
import { robotTransforms } from './core/robot';
import { createEngineClient } from './engine/client';
import type { EngineClient } from './engine/client';
import { Preprocessor } from './ingest/preprocessor';
import { declareParameters } from './ros/declare-parameters';
import { DropLog } from './ros/drops';
import type { Logger } from './ros/drops';
import { readManifest } from './model/manifest';
import { checkStatistics } from './policies/raw-units';
import { createGuardedNode } from './ros/guard';
import { OxygenNode } from './ros/node';
import { nodeParameters } from './ros/params';
import { loadRcl } from './ros/rcl';
import type { Rcl, RclNode } from './ros/rcl';
import { checkRobot, readRobotFile } from './ros/robot-file';

const NODE_NAME = 'oxygen';
/** The whole end must take less than 5 s, or launch kills the process. */
const ENGINE_STOP_MS = 3500;

const nowMs = (): number => performance.now();

/** Runs the node until SIGINT or SIGTERM, then ends the process. `argv`: arguments after `oxygen node`. */
export async function runNode(argv: string[]): Promise<never> {
  const code = await run(argv);
  // Not by running dry: Node would take its signal handlers away first, and a second signal in that moment
  // would kill the process.
  process.exit(code);
}

/** Everything but the exit. Returns the exit code. */
async function run(argv: string[]): Promise<number> {
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
  const guard: { drops: DropLog | null } = { drops: null };
  const caught = (error: unknown, where: string): void =>
    guard.drops?.drop('INTERNAL', `${where}: ${error instanceof Error ? error.stack : String(error)}`, where);
  process.on('unhandledRejection', error => caught(error, 'promise'));
  process.on('uncaughtException', error => {
    caught(error, 'main thread');
    stop.now(1);
  });

  try {
    const node = createGuardedNode(rcl, NODE_NAME, caught);
    const log = node.getLogger();
    guard.drops = new DropLog(log, nowMs);
    try {
      return await serve(rcl, node, log, guard.drops, stop);
    } catch (error) {
      log.error(describeError(error));
      return 1;
    }
  } finally {
    rcl.shutdown();
  }
}

/** From parameters to the end. @throws OxygenError when the node cannot do its work. */
async function serve(
  rcl: Rcl,
  node: RclNode,
  log: Logger,
  drops: DropLog,
  stop: StopSignal,
): Promise<number> {
  const parameters = nodeParameters(declareParameters(rcl, node, log));
  const robot = readRobotFile(parameters.robot);
  const { model, ...manifest } = readManifest(parameters.engine);
  for (const note of checkRobot(robot, { ...manifest, ...model, name: manifest.name }, parameters.robot)) {
    log.info(`${parameters.robot}: ${note}`);
  }
  const raw = checkStatistics(parameters.engine, manifest.normalization, parameters.rawUnits);
  if (raw !== null) log.warn(raw);
  const cameras = model.cameraSlots.filter(slot => robot.cameras.some(camera => camera.slot === slot));
  const { trainHz, executeSteps } = robot.rates;
  // One tick less: on its way to the action topic a chunk may just miss one.
  const executeMs = 1000 * ((executeSteps ?? model.horizon) / trainHz - 1 / parameters.actionRateHz);
  const options = { ...parameters.engineOptions, cameras, executeMs, robot: robotTransforms(robot) };
  const engine = createEngineClient(options, line => log.info(line));
  const preprocessing = new Preprocessor();
  const oxygen = new OxygenNode({ rcl, node, robot, parameters, engine, preprocessing, drops, log, nowMs });
  try {
    oxygen.configure();
    const started = engine.start();
    oxygen.activate();
    node.spin();
    await Promise.race([started, stop.wanted]);
    return await stop.wanted;
  } finally {
    oxygen.deactivate();
    await stopEngine(engine, log);
    await preprocessing.close();
    oxygen.cleanup();
  }
}

async function stopEngine(engine: EngineClient, log: Logger): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>(resolve => {
    timer = setTimeout(() => resolve('late'), ENGINE_STOP_MS);
  });
  const how = await Promise.race([engine.stop().catch((error: unknown) => describeError(error)), late]);
  clearTimeout(timer);
  if (how !== undefined) log.warn(`the engine did not stop as asked: ${how}`);
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
