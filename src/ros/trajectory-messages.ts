/**
 * Commands and chunks as trajectory_msgs/msg/JointTrajectory, in the form that joint_trajectory_controller takes: every
 * joint once, the times of the points above zero and growing, and in each point positions of all joints (or, with its
 * parameter allow_integration_in_goal_trajectories, velocities of all).
 */
import type { ActionDim, Robot } from '../core/robot';
import type { ActionChunk } from '../core/types';
import { fromNs } from './messages';
import { toFloat64 } from './outputs';

/**
 * Why a robot cannot be commanded by JointTrajectory; null when it can. The whole robot has positions (and binaries),
 * or the whole robot has velocities.
 */
export function trajectoryRefusal({ actions }: Robot): string | null {
  const deltas = actions.filter(action => action.kind === 'delta');
  if (deltas.length > 0) {
    return `a trajectory has no place for a delta, and ${named(deltas)} has that kind. Use action_type multi_array`;
  }
  const velocities = actions.filter(action => action.kind === 'velocity');
  if (velocities.length > 0 && velocities.length < actions.length) {
    return (
      `a point of a trajectory gives positions of all joints or velocities of all, and ${named(velocities)} has ` +
      'another kind than the rest. Use action_type multi_array'
    );
  }
  const twice = actions.find((action, i) => actions.findIndex(a => a.joint === action.joint) !== i);
  return twice === undefined
    ? null
    : `a trajectory names every joint once, and joint ${twice.joint} belongs to two actions. Use action_type multi_array`;
}

const named = (actions: readonly ActionDim[]): string => actions.map(action => action.name).join(', ');

/** A chunk of this robot can be a trajectory as a whole: its positions are what the controller interpolates. */
export const hasChunkTrajectory = (robot: Robot): boolean =>
  robot.actions.every(action => action.kind === 'position') && trajectoryRefusal(robot) === null;

/**
 * One command, `values` [actions], to be reached one period after its receipt. That is what a stamp of zero means; with
 * a real one, the controller refuses every command that is under way for longer than a period, or seems to be because
 * the clocks of two machines differ.
 */
export const actionTrajectory = (values: ArrayLike<number>, robot: Robot, periodNs: bigint): object => ({
  header: { stamp: fromNs(0n), frame_id: '' },
  joint_names: joints(robot),
  points: [point(robot, toFloat64(values), periodNs)],
});

/** A chunk in time: step k plays at startNs + k · stepSeconds. */
export interface Plan {
  readonly chunk: ActionChunk;
  readonly startNs: bigint;
  readonly stepSeconds: number;
}

/**
 * A whole chunk of a robot with `hasChunkTrajectory`, stamped with the time of step 0. The controller refuses a
 * trajectory that is over, so steps up to `nowNs` are left out; null when none is left.
 */
export function jointTrajectory(
  { chunk, startNs, stepSeconds }: Plan,
  robot: Robot,
  nowNs: bigint,
): object | null {
  const points: object[] = [];
  for (let step = 1; step < chunk.horizon; step++) {
    const fromStartNs = BigInt(Math.round(step * stepSeconds * 1e9));
    if (startNs + fromStartNs > nowNs) points.push(point(robot, row(chunk, step), fromStartNs));
  }
  if (points.length === 0) return null;
  return { header: { stamp: fromNs(startNs), frame_id: '' }, joint_names: joints(robot), points };
}

const joints = (robot: Robot): string[] => robot.actions.map(action => action.joint);

/** A copy: float64[] fields take no views. */
export const row = (chunk: ActionChunk, step: number): Float64Array =>
  chunk.values.slice(step * chunk.dims, (step + 1) * chunk.dims);

const NOTHING = new Float64Array(0);

function point(robot: Robot, values: Float64Array, fromStartNs: bigint): object {
  const velocities = robot.actions.every(action => action.kind === 'velocity');
  return {
    positions: velocities ? NOTHING : values,
    velocities: velocities ? values : NOTHING,
    accelerations: NOTHING,
    effort: NOTHING,
    time_from_start: fromNs(fromStartNs),
  };
}
