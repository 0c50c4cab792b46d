/** The guarded node of a stand-in for rclnodejs; with the real one it is part of every fault test. */
import { createGuardedNode } from '../../src/ros/guard';
import type { Rcl } from '../../src/ros/rcl';

test('a node that ROS refuses (a namespace that is too long) is a fault of the configuration, not a bug', () => {
  class Node {
    constructor() {
      throw new Error('invalid node namespace');
    }
  }
  const hooks = { error: () => undefined, badCall: () => undefined, refusal: () => null };
  let error: unknown;
  try {
    createGuardedNode({ Node } as unknown as Rcl, 'oxygen', hooks);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toMatchObject({
    code: 'CONFIG_INVALID',
    message: 'the node cannot be created: invalid node namespace. Look at its name and namespace',
  });
});
