/** What the action stream says, as messages on the topics that the parameters choose. */
import type { ActionLimits, Robot } from '../core/robot';
import type { ActionChunk } from '../core/types';
import { markersMessage, predictedJointStates } from './monitor-messages';
import type { MonitorView } from './monitor-messages';
import { actionChunkMessage, multiArrayMessage } from './outputs';
import type { ActionType } from './parameter-table';
import type { Outputs } from './surroundings';
import { actionTrajectory, hasChunkTrajectory, jointTrajectory } from './trajectory-messages';
import type { Plan } from './trajectory-messages';

export class ActionOutput {
  readonly #robot: Robot;
  readonly #type: ActionType;
  readonly #outputs: () => Outputs | undefined;
  /** Shadow mode: commands go to `action_preview`, and nothing to a topic that moves a robot. */
  dryRun: boolean;

  constructor(robot: Robot, type: ActionType, dryRun: boolean, outputs: () => Outputs | undefined) {
    this.#robot = robot;
    this.#type = type;
    this.dryRun = dryRun;
    this.#outputs = outputs;
  }

  /** `values` [actions]: one command, for one period of the action rate. */
  action(values: Float64Array, periodNs: bigint): void {
    const message =
      this.#type === 'multi_array'
        ? multiArrayMessage(values)
        : actionTrajectory(values, this.#robot, periodNs);
    const outputs = this.#outputs();
    (this.dryRun ? outputs?.actionPreview : outputs?.action)?.publish(message);
  }

  /** Step k plays at `startNs` + k · `stepSeconds`. */
  chunk(chunk: ActionChunk, startNs: bigint, stepSeconds: number): void {
    this.#outputs()?.actionChunk.publish(actionChunkMessage(chunk, startNs, stepSeconds, this.#robot));
  }

  /**
   * The chunk that plays as a whole, for controllers that interpolate by themselves. They do not pass the safety gate,
   * so at least no point lies outside the limits.
   */
  trajectory(plan: Plan, limits: readonly ActionLimits[], nowNs: bigint): void {
    if (this.dryRun || !hasChunkTrajectory(this.#robot)) return;
    const message = jointTrajectory(inside(plan, limits), this.#robot, nowNs);
    if (message !== null) this.#outputs()?.chunkTrajectory.publish(message);
  }

  /** Pictures for people: text, the chunk that plays, and where it leads. */
  monitor(view: Omit<MonitorView, 'robot'>): void {
    const outputs = this.#outputs();
    const robot = this.#robot;
    outputs?.markers.publish(markersMessage({ ...view, robot }));
    const predicted = predictedJointStates(view.plan, robot, view.nowNs);
    if (predicted !== null) outputs?.predicted.publish(predicted);
  }
}

function inside(plan: Plan, limits: readonly ActionLimits[]): Plan {
  const { chunk } = plan;
  const values = chunk.values.map((value, i) => {
    const { min, max } = limits[i % chunk.dims]!;
    return Math.min(max, Math.max(min, value));
  });
  return { ...plan, chunk: { ...chunk, values } };
}
