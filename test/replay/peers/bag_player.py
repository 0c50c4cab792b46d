"""An independent player of bags, as `ros2 bag play --clock 40` does it, on rclpy and the `rosbags` reader.

Publishes the messages of a bag raw, at their recorded times and with the QoS that was recorded, and beside them
`/clock`: best effort, by a timer of its own, so messages may be up to one period ahead of it. With --loop the bag's
time jumps back to its beginning; while paused, the clock is published and stands still.

Commands, one a line on stdin: `pause`, `resume`, `seek S` (to S seconds of the bag), `stop` (so does the end of stdin).
Events, one JSON object a line on stdout, each with `event`, `t` (s, monotonic clock of the machine), `bag_ns` (time of
the bag) and `counts` (messages so far by topic): `ready` (the publishers are there), `started`, `looped`, `paused`,
`resumed`, `sought`, `finished`.
"""

import argparse
import collections
import json
import sys
import threading
import time

import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosbags.interfaces import QosDurability, QosReliability
from rosbags.rosbag2 import Reader
from rosgraph_msgs.msg import Clock


def load_type(name):
    package, _, message = name.split('/')
    return getattr(__import__(f'{package}.msg', fromlist=[message]), message)


def qos_of(offers):
    """The recorded profile; what several publishers of a topic had in common is the weakest of each policy."""
    best_effort = any(offer.reliability == QosReliability.BEST_EFFORT for offer in offers)
    latched = bool(offers) and all(offer.durability == QosDurability.TRANSIENT_LOCAL for offer in offers)
    return QoSProfile(
        depth=10,  # the depth of a publisher is not known to those who hear it
        reliability=ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


class BagClock:
    """Time of the bag (ns) as the steady clock goes: faster, slower, paused, from somewhere else."""

    def __init__(self, ns, rate):
        self._ns, self._at, self._rate, self._runs = ns, time.monotonic_ns(), rate, False

    @property
    def now(self):
        return self._ns + (round((time.monotonic_ns() - self._at) * self._rate) if self._runs else 0)

    @property
    def runs(self):
        return self._runs

    def run(self, runs):
        self._ns, self._at, self._runs = self.now, time.monotonic_ns(), runs

    def jump(self, ns):
        self._ns, self._at = ns, time.monotonic_ns()

    def wait_s(self, ns):
        """Seconds until the bag is there; None while it stands still."""
        return max(0.0, (ns - self.now) / self._rate / 1e9) if self._runs else None


class Player:
    def __init__(self, node, reader, args):
        self._node, self._args = node, args
        self.counts = collections.Counter()
        wanted = [c for c in reader.connections if not args.topics or c.topic in args.topics]
        if not wanted:
            sys.exit(f'no such topics in the bag; it has {sorted(c.topic for c in reader.connections)}')
        self._start = reader.start_time + round(args.start_offset * 1e9)
        self._end = reader.end_time
        if args.playback_duration:
            self._end = min(self._end, self._start + round(args.playback_duration * 1e9))
        names = dict(remap.split(':=') for remap in args.remap)
        self._publishers = {
            c.topic: node.create_publisher(
                load_type(c.msgtype), names.get(c.topic, c.topic), qos_of(c.ext.offered_qos_profiles)
            )
            for c in wanted
        }
        self._clock_publisher = node.create_publisher(
            Clock, '/clock', QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        )
        # In memory: a stall of the disk would be one of the robot.
        self._messages = [(ns, c.topic, data) for c, ns, data in reader.messages(wanted, self._start, self._end)]
        self._clock = BagClock(self._start, args.rate)
        self._next = 0
        self._changed = threading.Condition()
        self._stopped = False

    def say(self, event):
        line = {'event': event, 't': time.monotonic(), 'bag_ns': self._clock.now, 'counts': self.counts}
        print(json.dumps(line), flush=True)

    def listen(self):
        """Publishers are of use only when somebody is there: each has heard of a subscriber."""
        heard = lambda: all(p.get_subscription_count() > 0 for p in (*self._publishers.values(), self._clock_publisher))
        end = time.monotonic() + self._args.wait
        while not heard() and time.monotonic() < end:
            time.sleep(0.02)

    def obey(self, line):
        word, *values = line.split()
        with self._changed:
            if word == 'stop':
                self._stopped = True
            elif word in ('pause', 'resume'):
                self._clock.run(word == 'resume')
                self.say(f'{word}d')
            elif word == 'seek':
                self._jump(self._start + round(float(values[0]) * 1e9))
                self.say('sought')
            self._changed.notify()

    def _jump(self, ns):
        self._clock.jump(ns)
        self._next = next((i for i, message in enumerate(self._messages) if message[0] >= ns), len(self._messages))

    def tick(self):
        """Publishes the clock, from a thread of its own, until the end."""
        period = 1 / self._args.clock
        due = time.monotonic()
        while not self._stopped:
            seconds, nanoseconds = divmod(self._clock.now, 1_000_000_000)
            message = Clock()
            message.clock.sec, message.clock.nanosec = seconds, nanoseconds
            self._clock_publisher.publish(message)
            due = max(due + period, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def play(self):
        with self._changed:
            self._clock.run(True)
            self.say('started')
            while not self._stopped:
                at_end = self._next == len(self._messages)
                if at_end and not self._args.loop:
                    break
                wait = self._clock.wait_s(self._end if at_end else self._messages[self._next][0])
                if wait is None or wait > 0:
                    self._changed.wait(wait)
                elif at_end:
                    self._jump(self._start)
                    self.say('looped')
                else:
                    _, topic, data = self._messages[self._next]
                    self._next += 1
                    self._publishers[topic].publish(bytes(data))
                    self.counts[topic] += 1
            self._stopped = True
            self.say('finished')


def main():
    parser = argparse.ArgumentParser(description='Plays a bag into a ROS 2 graph.')
    parser.add_argument('bag')
    parser.add_argument('--clock', type=float, default=40, help='Hz of /clock')
    parser.add_argument('--rate', type=float, default=1)
    parser.add_argument('--loop', action='store_true')
    parser.add_argument('--topics', nargs='+', default=[], help='only these, full names')
    parser.add_argument('--remap', nargs='+', default=[], metavar='FROM:=TO')
    parser.add_argument('--start-offset', type=float, default=0, help='s')
    parser.add_argument('--playback-duration', type=float, default=0, help='s of the bag; 0: to its end')
    parser.add_argument('--wait', type=float, default=10, help='s at most until every topic has a subscriber')
    args = parser.parse_args()

    rclpy.init()
    node = rclpy.create_node('bag_player', start_parameter_services=False)
    with Reader(args.bag) as reader:
        player = Player(node, reader, args)
    player.say('ready')
    player.listen()

    def read():
        for line in sys.stdin:
            player.obey(line)
        player.obey('stop')

    threads = [threading.Thread(target=target, daemon=True) for target in (read, player.tick)]
    for thread in threads:
        thread.start()
    player.play()
    threads[1].join()
    node.destroy_node()
    rclpy.shutdown()


main()
