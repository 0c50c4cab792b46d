/** From parameters to a node that can be made: robot file, engine, and whether they fit. The node and a replay share it. */
import type { Robot } from './core/robot';
import { robotTransforms } from './core/robot';
import type { EngineOptions } from './engine/protocol';
import type { Provider } from './engine/providers';
import { cpuEngine, readManifest } from './model/manifest';
import type { Manifest, StageCosts } from './model/manifest';
import { checkStatistics } from './policies/raw-units';
import type { Logger } from './ros/drops';
import type { ParameterValues } from './ros/parameter-spec';
import { checkActionType, engineOptions, engineTunables } from './ros/params';
import { checkRobot, readRobotFile } from './ros/robot-file';

export interface Prepared {
  readonly robot: Robot;
  /** Steps of a chunk. */
  readonly horizon: number;
  /** With those of the robot's limits. */
  readonly values: ParameterValues;
  readonly engine: EngineOptions;
  /** As the builder measured them; null: not measured. */
  readonly costs: StageCosts | null;
}

/**
 * `paths`: where engine and robot file are. `withLimits`: all values, once the robot is known.
 * @throws OxygenError with what is wrong and where.
 */
export function prepare(
  paths: { readonly engine: string; readonly robot: string },
  withLimits: (robot: Robot) => ParameterValues,
  log: Logger,
): Prepared {
  const robot = readRobotFile(paths.robot);
  const { model, ...manifest } = readManifest(paths.engine);
  for (const note of checkRobot(robot, { ...manifest, ...model, name: manifest.name }, paths.robot)) {
    log.info(`${paths.robot}: ${note}`);
  }
  const values = withLimits(robot);
  checkActionType(values, robot);
  const raw = checkStatistics(paths.engine, manifest.normalization, values.get('raw_units') === true);
  if (raw !== null) log.warn(raw);
  const cameras = model.cameraSlots.filter(slot => robot.cameras.some(camera => camera.slot === slot));
  const tunables = engineTunables(values, '', robot, model.horizon);
  const engine = { ...engineOptions(values), cameras, tunables, robot: robotTransforms(robot) };
  const costs = cpuCosts(paths.engine, manifest, engine.providers) ?? manifest.costs;
  return { robot, horizon: model.horizon, values, engine, costs };
}

/** Of the engine for the CPU that lies inside one for a GPU, where nothing but the CPU is wanted. */
function cpuCosts(
  dir: string,
  manifest: Pick<Manifest, 'target'>,
  providers: readonly Provider[],
): StageCosts | null {
  const inside =
    manifest.target === 'cpu' || providers.some(p => p !== 'cpu') ? null : cpuEngine(dir, manifest);
  return inside === null ? null : readManifest(inside).costs;
}
