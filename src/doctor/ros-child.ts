/**
 * A process of its own, started by ros-check.ts: rclnodejs may end the process that loads it. Says on stdout `ready`, or
 * why the node could not start.
 */
import { describeError } from '../core/errors';
import { loadRcl } from '../ros/rcl';

try {
  const rcl = loadRcl() as unknown as { require(name: string): unknown };
  rcl.require('oxygen_vla/msg/ActionChunk');
  console.log('ready');
} catch (error) {
  console.log(describeError(error));
}
