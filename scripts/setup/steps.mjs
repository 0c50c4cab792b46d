// All steps in the order in which they build on each other.
import { colcon } from './colcon.mjs';
import { engine } from './engine.mjs';
import { messages } from './messages.mjs';
import { npmDependencies } from './npm-dependencies.mjs';
import { nodePrerequisites, prerequisites } from './prerequisites.mjs';
import { rclnodejs } from './rclnodejs.mjs';
import { rosEnvironment } from './ros-environment.mjs';
import { typescript } from './typescript.mjs';

/** What the node itself consists of; all that a colcon build in somebody's own workspace needs. */
export const nodeSteps = [nodePrerequisites, npmDependencies, rclnodejs, messages, typescript];

export const allSteps = [
  prerequisites,
  npmDependencies,
  rosEnvironment,
  rclnodejs,
  messages,
  typescript,
  colcon,
  engine,
];
