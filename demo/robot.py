"""A simulated robot: an independent ROS 2 peer that shows what its camera sees and follows the `action` topic.

publishes  camera/base_0_rgb/image_raw  sensor_msgs/Image, rgb8, best effort; stamp = time of the drawn state
           joint_states                 sensor_msgs/JointState: positions (rad) and velocities (rad/s)
           demo/judge                   std_msgs/String, JSON: the named block and how far the tip is from it
follows    action                       std_msgs/Float64MultiArray: targets of yaw, shoulder, elbow, wrist (rad)
hears      instruction                  std_msgs/String: only the judge listens, the arm does not
serves     demo/shuffle                 std_srvs/Trigger: new places for the blocks
"""

import argparse
import array
import json
import math
import os
import sys
import time

from peer import complain, split_ros_args, start_ros, watch_for_end

GRAPHICS = ('egl', 'osmesa')  # software rendering works with either; the first that opens is used
TRIED = 'DEMO_GRAPHICS_TRIED'  # environment variable, from one process image to the next
JUDGE_HZ = 10
COMMAND_TIMEOUT = 0.5  # s without a command until the log says that the arm holds its last target
LATE = 0.25  # s away from real time after which the loop starts afresh instead of catching up


def open_world(args):
    """The world with its camera open. Tries the graphics libraries in turn, MUJOCO_GL first, each in a fresh
    process image: a half-imported one cannot be taken back."""
    graphics = os.environ.setdefault('MUJOCO_GL', GRAPHICS[0])
    try:
        from sim import World

        world = World(seed=args.seed)
        world.open_camera(args.image_size)
        return world
    except (ModuleNotFoundError, FileNotFoundError, ValueError):  # no mujoco, no scene, a broken scene
        raise
    except Exception as error:
        complain(f'[demo_robot] MUJOCO_GL={graphics} does not work here: {error}')
        tried = [*os.environ.get(TRIED, '').split(), graphics]
        left = [name for name in GRAPHICS if name not in tried]
        if not left:
            sys.exit('[demo_robot] cannot draw; Debian and Ubuntu: apt-get install libegl1 libgl1')
        os.environ.update({'MUJOCO_GL': left[0], TRIED: ' '.join(tried)})
        os.environ.pop('PYOPENGL_PLATFORM', None)
        os.execv(sys.executable, [sys.executable, *sys.argv])


class Pace:
    """Says when something periodic is due. Keeps the average rate, but leaves half a period at least: no bursts."""

    def __init__(self, rate_hz, now):
        self.period = 1 / rate_hz
        self.next = now

    def due(self, now):
        if now < self.next:
            return False
        self.next = max(self.next + self.period, now + self.period / 2)
        return True


def make_robot(world, args):
    from rclpy.node import Node
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
    from rclpy.time import Time
    from sensor_msgs.msg import Image, JointState
    from sim import CAMERA, JOINTS, judge, named_colour
    from std_msgs.msg import Float64MultiArray, String
    from std_srvs.srv import Trigger

    class Robot(Node):
        def __init__(self):
            super().__init__('demo_robot', start_parameter_services=False)
            self._instruction = ''
            self._commanded_at = None
            self._shuffles = 0
            picture_topic = f'camera/{CAMERA}/image_raw'
            self._images = self.create_publisher(Image, picture_topic, qos_profile_sensor_data)
            self._states = self.create_publisher(JointState, 'joint_states', 10)
            self._verdicts = self.create_publisher(String, 'demo/judge', 10)
            self.create_subscription(Float64MultiArray, 'action', self._follow, 10)
            for durability in (DurabilityPolicy.VOLATILE, DurabilityPolicy.TRANSIENT_LOCAL):
                qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=durability)
                self.create_subscription(String, 'instruction', self._listen, qos)
            self.create_service(Trigger, 'demo/shuffle', self._shuffle)

        def _follow(self, message):
            targets = message.data
            if len(targets) != len(JOINTS) or not all(map(math.isfinite, targets)):
                self.get_logger().warning(
                    f'ignored an action of {len(targets)} values: need {len(JOINTS)} finite joint targets in rad',
                    throttle_duration_sec=1.0,
                )
                return
            world.command(targets)
            if self._commanded_at is None:
                self.get_logger().info('following the action topic')
            self._commanded_at = time.monotonic()

        def _listen(self, message):
            self._instruction = message.data

        def _shuffle(self, _request, response):
            world.shuffle()
            self._shuffles += 1
            response.success, response.message = True, json.dumps(world.blocks.round(4).tolist())
            return response

        def watch_commands(self):
            if self._commanded_at is not None and time.monotonic() - self._commanded_at > COMMAND_TIMEOUT:
                self._commanded_at = None
                self.get_logger().warning(f'no action for {COMMAND_TIMEOUT} s: holding the last target')

        def publish_joints(self, state_time):
            positions, velocities = world.joints
            message = JointState(name=JOINTS, position=positions.tolist(), velocity=velocities.tolist())
            message.header.stamp = Time(nanoseconds=round(state_time * 1e9)).to_msg()
            self._states.publish(message)

        def publish_image(self, state_time):
            size = args.image_size
            message = Image(height=size, width=size, encoding='rgb8', step=3 * size)
            message.header.frame_id = CAMERA
            message.header.stamp = Time(nanoseconds=round(state_time * 1e9)).to_msg()
            message.data = array.array('B', world.picture().tobytes())
            self._images.publish(message)

        def publish_verdict(self):
            colour = named_colour(self._instruction)
            distance, nearest = judge(world.tip, world.blocks, colour)
            verdict = {
                'instruction': self._instruction,
                'colour': colour,
                'distance_m': distance,
                'nearest': nearest,
                'tip': world.tip.tolist(),
                'blocks': world.blocks.tolist(),
                'shuffles': self._shuffles,
                'time': world.time,
            }
            self._verdicts.publish(String(data=json.dumps(verdict)))

    return Robot()


def live(robot, executor, world, args, ending):
    """Keeps the world in step with ROS time, everything in one thread, until `ending()`. With one clock for pace
    and stamps, stamps never run back."""

    def start(now):
        return now, *(Pace(hz, now) for hz in (args.joint_hz, args.camera_hz, JUDGE_HZ))

    clock = robot.get_clock()
    state_time, joints, camera, verdict = start(clock.now().nanoseconds * 1e-9)
    while not ending():
        now = clock.now().nanoseconds * 1e-9
        if abs(now - state_time) > LATE:  # a long stall, or somebody has set the clock
            robot.get_logger().warning(f'{now - state_time:.2f} s behind real time: skipped')
            state_time, joints, camera, verdict = start(now)
        steps = max(0, int((now - state_time) / world.timestep))
        if steps:
            world.step(steps)
            state_time += steps * world.timestep
        if joints.due(now):
            robot.publish_joints(state_time)
            robot.watch_commands()
        if camera.due(now):
            robot.publish_image(state_time)
        if verdict.due(now):
            robot.publish_verdict()
        left = min(joints.next, camera.next) - clock.now().nanoseconds * 1e-9
        executor.spin_once(timeout_sec=max(0.0, left))


def main():
    parser = argparse.ArgumentParser(description='The simulated robot of the OxyGen demo.')
    parser.add_argument('--seed', type=int, default=0, help='seed of the block placements')
    parser.add_argument('--image-size', type=int, default=84, help='width and height of the pictures, pixels')
    parser.add_argument('--camera-hz', type=float, default=30.0)
    parser.add_argument('--joint-hz', type=float, default=50.0)
    own, ros_args = split_ros_args(sys.argv[1:])
    args = parser.parse_args(own)

    ending = watch_for_end()
    world = open_world(args)
    robot, executor, close = start_ros(ros_args, lambda: make_robot(world, args))
    robot.get_logger().info(f'ready: graphics {os.environ["MUJOCO_GL"]}, camera {args.image_size} px')
    try:
        live(robot, executor, world, args, ending)
    finally:
        close()
        world.close()


if __name__ == '__main__':
    main()
