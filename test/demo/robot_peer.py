"""An independent peer of the simulated robot: listens, commands, and prints what it saw as one JSON object.
It judges nothing; the Jest test does."""

import json
import math
import sys
import time

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

COLOURS = ('red', 'green', 'blue')
POSE_A = [0.3, 1.0, -1.7, -0.87]
POSE_B = [-0.4, 0.9, -1.5, -0.97]


def seconds(stamp):
    return stamp.sec + stamp.nanosec * 1e-9


def tip_of(yaw, shoulder, elbow, wrist):
    """Horizontal position of the tip, from the lengths of the links alone."""
    r = 0.22 * math.cos(shoulder) + 0.22 * math.cos(shoulder + elbow) + 0.08 * math.cos(shoulder + elbow + wrist)
    return r * math.cos(yaw), r * math.sin(yaw)


class Peer:
    def __init__(self):
        self.node = rclpy.create_node('robot_test_peer')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.images, self.states, self.verdict = [], [], None
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.actions = self.node.create_publisher(Float64MultiArray, 'action', 10)
        self.instructions = self.node.create_publisher(String, 'instruction', latched)
        self.shuffler = self.node.create_client(Trigger, 'demo/shuffle')
        subscribe = self.node.create_subscription
        subscribe(Image, 'camera/base_0_rgb/image_raw', self.on_image, qos_profile_sensor_data)
        subscribe(JointState, 'joint_states', self.on_state, qos_profile_sensor_data)
        subscribe(String, 'demo/judge', self.on_verdict, 10)

    def on_image(self, m):
        seen = len(set(m.data[:]))
        stamp = seconds(m.header.stamp)
        shape = [m.height, m.width, m.step, len(m.data), m.encoding]
        self.images.append({'stamp': stamp, 'age': time.time() - stamp, 'shape': shape, 'levels': seen})

    def on_state(self, m):
        stamp = seconds(m.header.stamp)
        self.states.append(
            {
                'stamp': stamp,
                'age': time.time() - stamp,
                'names': list(m.name),
                'position': list(m.position),
                'speed': max(map(abs, m.velocity)),
            }
        )

    def on_verdict(self, m):
        self.verdict = json.loads(m.data)

    def spin(self, duration, targets=None):
        """Spins for `duration` s; publishes `targets` at 70 Hz meanwhile."""
        end = due = time.monotonic()
        end += duration
        while time.monotonic() < end:
            if targets is not None and time.monotonic() >= due:
                self.actions.publish(Float64MultiArray(data=targets))
                due += 1 / 70
            self.executor.spin_once(timeout_sec=0.005)

    def wait(self, condition, patience=20.0):
        end = time.monotonic() + patience
        while not condition():
            if time.monotonic() > end:
                sys.exit('the robot does not answer')
            self.spin(0.05)

    def error_to(self, pose):
        return max(abs(a - b) for a, b in zip(self.states[-1]['position'], pose))

    def shuffle(self):
        future = self.shuffler.call_async(Trigger.Request())
        self.wait(future.done)
        return json.loads(future.result().message)


def summary(messages, span):
    stamps = [m['stamp'] for m in messages]
    gaps = [b - a for a, b in zip(stamps, stamps[1:])]
    return {
        'hz': len(messages) / span,
        'monotonic': min(gaps) > 0,
        'longest_gap': max(gaps),
        'oldest': max(m['age'] for m in messages),
        'youngest': min(m['age'] for m in messages),
    }


def main():
    rclpy.init()
    peer = Peer()
    peer.wait(lambda: peer.images and peer.states and peer.verdict)
    peer.wait(lambda: peer.actions.get_subscription_count() > 0 and peer.shuffler.service_is_ready())
    out = {'silent_verdict': peer.verdict}

    peer.spin(2.0, POSE_A)
    out['error_at_a'] = peer.error_to(POSE_A)
    peer.images.clear()
    peer.states.clear()
    begin = time.monotonic()
    peer.spin(3.0, POSE_B)
    span = time.monotonic() - begin
    out['images'] = summary(peer.images, span) | {'shapes': sorted({str(m['shape']) for m in peer.images})}
    out['images']['levels'] = min(m['levels'] for m in peer.images)
    out['states'] = summary(peer.states, span) | {'names': peer.states[-1]['names']}
    out['states']['fastest'] = max(m['speed'] for m in peer.states)
    out['error_at_b'] = peer.error_to(POSE_B)

    for bad in ([0.0, 1.0, -1.0], [0.0, math.nan, -1.0, -1.0], [], [math.inf] * 4):
        peer.spin(0.2, bad)
    out['error_after_bad_actions'] = peer.error_to(POSE_B)
    peer.spin(0.8)
    out['error_after_silence'] = peer.error_to(POSE_B)

    out['verdicts'] = []
    for colour in COLOURS:
        text = f'reach the {colour} block'
        peer.instructions.publish(String(data=text))
        peer.wait(lambda: peer.verdict['instruction'] == text)
        blocks, tip = peer.verdict['blocks'], tip_of(*peer.states[-1]['position'])
        distances = [math.dist(tip, block) for block in blocks]
        named = COLOURS.index(colour)
        out['verdicts'].append(
            {
                'colour': peer.verdict['colour'] == colour,
                'error': abs(peer.verdict['distance_m'] - distances[named]),
                'nearest': peer.verdict['nearest'] == (min(distances) == distances[named]),
            }
        )
    before = peer.verdict['blocks']
    placed = [peer.shuffle() for _ in range(5)]
    tip = tip_of(*peer.states[-1]['position'])
    out['shuffle'] = {
        'moved': before != placed[-1],
        'different': len({str(p) for p in placed}),
        'apart': min(math.dist(p[i], p[i - 1]) for p in placed for i in range(3)),
        'from_tip': min(math.dist(tip, block) for p in placed for block in p),
    }
    out['error_after_shuffle'] = peer.error_to(POSE_B)
    print(json.dumps(out))
    peer.executor.shutdown()
    rclpy.shutdown()


if __name__ == '__main__':
    main()
