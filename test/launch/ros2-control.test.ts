/** The recipe for ros2_control fits the demo arm and the node's table of topics. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { PARAMETERS } from '../../src/ros/parameter-table';
import { readRobotFile } from '../../src/ros/robot-file';
import { ACTION_MESSAGES, OUTPUTS } from '../../src/ros/topics';
import { ROOT, launchCommand } from '../ros/harness';

const FOLDER = join(ROOT, 'config/ros2_control');
const README = readFileSync(join(FOLDER, 'README.md'), 'utf8');

/* eslint-disable @typescript-eslint/no-explicit-any -- a file of other programs */
const file = parse(readFileSync(join(FOLDER, 'controllers.yaml'), 'utf8')) as Record<string, any>;
const parametersOf = (node: string): Record<string, any> => file[node].ros__parameters;
/* eslint-enable @typescript-eslint/no-explicit-any */

const forward = parametersOf('forward_position_controller');
const trajectory = parametersOf('joint_trajectory_controller');
const robot = readRobotFile(join(ROOT, 'config/robots/demo.yaml'));

test('controllers are of known types, and each has its parameters', () => {
  const {
    update_rate: rate,
    enforce_command_limits: limits,
    ...controllers
  } = parametersOf('controller_manager');
  expect(controllers).toEqual({
    joint_state_broadcaster: { type: 'joint_state_broadcaster/JointStateBroadcaster' },
    forward_position_controller: { type: 'forward_command_controller/ForwardCommandController' },
    joint_trajectory_controller: { type: 'joint_trajectory_controller/JointTrajectoryController' },
  });
  expect(Object.keys(file).sort()).toEqual(
    ['controller_manager', 'forward_position_controller', 'joint_trajectory_controller'].sort(),
  );
  expect(limits).toBe(true);
  expect(rate).toBeGreaterThan(Number(PARAMETERS.find(spec => spec.name === 'action_rate_hz')!.default));
});

test('joints are the actions of the demo arm, in their order', () => {
  const joints = robot.actions.map(action => action.joint);
  expect(forward['joints']).toEqual(joints);
  expect(trajectory['joints']).toEqual(joints);
  expect(robot.actions.every(action => action.kind === 'position')).toBe(true);
  expect(forward['interface_name']).toBe('position');
  expect(trajectory['command_interfaces']).toEqual(['position']);
});

// joint_trajectory_controller ignores a timeout that is not above goal_time, and zero is none.
test('the command timeout acts, and is longer than a few missed commands', () => {
  expect(trajectory['cmd_timeout']).toBeGreaterThan(trajectory['constraints'].goal_time);
  expect(trajectory['cmd_timeout']).toBeGreaterThan(3 / 70);
  expect(trajectory['cmd_timeout']).toBeLessThanOrEqual(0.5);
});

test('parameters have names that the controllers declare (ros2_controllers, Jazzy)', () => {
  expect(Object.keys(forward).sort()).toEqual(['interface_name', 'joints']);
  const declared = [
    ...['joints', 'command_interfaces', 'state_interfaces', 'allow_partial_joints_goal'],
    ...['interpolate_from_desired_state', 'allow_integration_in_goal_trajectories', 'cmd_timeout'],
    ...['allow_nonzero_velocity_at_trajectory_end', 'constraints'],
  ];
  expect(declared).toEqual(expect.arrayContaining(Object.keys(trajectory)));
  expect(Object.keys(trajectory['constraints'])).toEqual(['goal_time']);
});

test('the commands of the README go where the controllers listen, in their type', () => {
  const named = (name: string): string => new RegExp(`${name}:=(/?[\\w/]+)`).exec(README)![1]!;
  expect(named('action_type')).toBe('joint_trajectory');
  expect(named('action_topic')).toBe('/joint_trajectory_controller/joint_trajectory');
  expect(README).toContain('`action_topic:=/forward_position_controller/commands`');
  expect(README).toContain(`\`${OUTPUTS.chunkTrajectory.name}\``);
  expect(ACTION_MESSAGES).toEqual({
    multi_array: 'std_msgs/msg/Float64MultiArray',
    joint_trajectory: 'trajectory_msgs/msg/JointTrajectory',
  });
  const argv = launchCommand({ action_topic: named('action_topic'), action_type: named('action_type') });
  expect(argv.slice(-2)).toEqual(['-r', `${OUTPUTS.action.name}:=${named('action_topic')}`]);
});

test('what the README names is installed with the package', () => {
  for (const name of ['controllers.yaml', 'README.md'])
    expect(existsSync(join(ROOT, 'install/oxygen_vla/share/oxygen_vla/config/ros2_control', name))).toBe(
      true,
    );
});
