"""Records topics as `ros2 bag record --storage mcap` does, for machines that have no rosbag2.

The file is what rosbag2 writes: profile ros2, definitions as ros2msg with all that they use, CDR as it came, the QoS
that the publishers offer beside each topic; log time is the time of receipt, publish time that of the sender.
A topic is subscribed to when its first publisher appears, with the QoS that all its publishers can serve. Ends on
SIGINT or SIGTERM, or after --seconds; the file is whole then. The last line on stdout is one JSON object: messages
by topic.
"""

import argparse
import collections
import importlib
import json
import sys
import time
from pathlib import Path

from peer import complain, ordinary_executor, split_ros_args, start_ros, watch_for_end

TOPICS = (
    'camera/base_0_rgb/image_raw joint_states instruction language_request cancel_request '
    'action action_chunk language/tokens language/text /clock'
).split()
LOOK = 0.1  # s between two looks for publishers that are new
DEPTH = 1000  # messages that may wait while a chunk is compressed
RULE = '\n' + '=' * 80 + '\n'


def load_type(name):
    package, _, message = name.split('/')
    return getattr(importlib.import_module(f'{package}.msg'), message)


def definition_text(name):
    from ament_index_python.packages import get_package_share_directory

    package, _, message = name.split('/')
    return Path(get_package_share_directory(package), 'msg', f'{message}.msg').read_text()


def parts_of(name):
    """Names of the message types that a message type is made of."""
    for kind in load_type(name).SLOT_TYPES:
        kind = getattr(kind, 'value_type', kind)
        if hasattr(kind, 'namespaces'):
            yield '/'.join((*kind.namespaces, kind.name))


def full_definition(name):
    """The definition, then those of all that it uses, each once."""
    found = [name]
    for known in found:
        found += [part for part in dict.fromkeys(parts_of(known)) if part not in found]
    parts = [f'MSG: {part.replace("/msg/", "/")}\n{definition_text(part)}' for part in found[1:]]
    return RULE.join([definition_text(name), *parts])


def qos_entry(profile):
    """One profile in the words of rosbag2's metadata."""

    def duration(value):
        seconds, nanoseconds = divmod(value.nanoseconds, 1_000_000_000)
        return {'sec': seconds, 'nsec': nanoseconds}

    return {
        'history': profile.history.name.lower(),
        'depth': profile.depth,
        'reliability': profile.reliability.name.lower(),
        'durability': profile.durability.name.lower(),
        'deadline': duration(profile.deadline),
        'lifespan': duration(profile.lifespan),
        'liveliness': profile.liveliness.name.lower(),
        'liveliness_lease_duration': duration(profile.liveliness_lease_duration),
        'avoid_ros_namespace_conventions': profile.avoid_ros_namespace_conventions,
    }


def qos_for(offers):
    """The strongest QoS that hears every one of the publishers."""
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

    reliable = all(offer.reliability == ReliabilityPolicy.RELIABLE for offer in offers)
    latched = all(offer.durability == DurabilityPolicy.TRANSIENT_LOCAL for offer in offers)
    return QoSProfile(
        depth=DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


class Recording:
    """The file. A schema for each type, a channel for each topic."""

    def __init__(self, stream):
        from mcap.writer import CompressionType, Writer

        self.counts = collections.Counter()
        self._schemas = {}
        self._writer = Writer(stream, compression=CompressionType.ZSTD)
        self._writer.start(profile='ros2')

    def add(self, topic, kind, type_hash, offers):
        """A topic; gives its channel."""
        if kind not in self._schemas:
            text = full_definition(kind).encode()
            self._schemas[kind] = self._writer.register_schema(name=kind, encoding='ros2msg', data=text)
        metadata = {
            # JSON is YAML.
            'offered_qos_profiles': json.dumps([qos_entry(offer) for offer in offers]),
            'topic_type_hash': str(type_hash),
        }
        self.counts[topic] = 0
        return self._writer.register_channel(
            topic=topic, message_encoding='cdr', schema_id=self._schemas[kind], metadata=metadata
        )

    def write(self, topic, channel, data, log_ns, publish_ns):
        self.counts[topic] += 1
        self._writer.add_message(channel, log_ns, data, publish_ns)

    def close(self):
        self._writer.finish()


def make_recorder(recording, topics, wait_for):
    from rclpy.node import Node
    from rclpy.qos import DurabilityPolicy

    class Recorder(Node):
        def __init__(self):
            super().__init__('demo_recorder', start_parameter_services=False)
            self._waiting = [self.resolve_topic_name(topic) for topic in topics]
            self._wait_for = [self.resolve_topic_name(topic) for topic in wait_for]
            self.create_timer(LOOK, self.look)
            self.get_logger().info(f'waiting for publishers of {len(topics)} topics')

        @property
        def waiting(self):
            return list(self._waiting)

        def look(self):
            """Subscribes to what has a publisher now, latched topics first: they tell what was before."""
            self._wait_for = [topic for topic in self._wait_for if not self.count_publishers(topic)]
            if self._wait_for:
                return
            offered = {topic: self.get_publishers_info_by_topic(topic) for topic in self._waiting}
            found = [(topic, infos) for topic, infos in offered.items() if infos]
            latched = lambda item: item[1][0].qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
            for topic, infos in sorted(found, key=latched, reverse=True):
                self._waiting.remove(topic)
                self._record(topic, infos)

        def _record(self, topic, infos):
            first, offers = infos[0], [info.qos_profile for info in infos]
            try:
                kind = load_type(first.topic_type)
                channel = recording.add(topic, first.topic_type, first.topic_type_hash, offers)
            except (ImportError, AttributeError, LookupError, OSError) as error:
                return self.get_logger().error(f'{topic} is not recorded: {first.topic_type}: {error}')

            def write(data, info):
                sent = info['source_timestamp']
                received = info['received_timestamp'] or time.time_ns()
                recording.write(topic, channel, data, received, sent or received)

            self.create_subscription(kind, topic, write, qos_for(offers), raw=True)
            self.get_logger().info(f'recording {topic} [{first.topic_type}]')

    return Recorder()


def record(recorder, executor, recording, seconds, ending):
    """Until the end is asked for, or `seconds` after the first message."""
    began = None
    while not ending():
        executor.spin_once(timeout_sec=0.1)
        if began is None and recording.counts.total() > 0:
            began = time.monotonic()
        if seconds and began is not None and time.monotonic() - began >= seconds:
            break
    for topic in recorder.waiting:
        recorder.get_logger().info(f'nobody published {topic}')


def main():
    parser = argparse.ArgumentParser(description='Records ROS 2 topics into an MCAP file as rosbag2 does.')
    parser.add_argument('file', type=Path, help='the MCAP file; it must not be there yet')
    parser.add_argument('--seconds', type=float, default=0, help='length from the first message on; 0: no end')
    parser.add_argument(
        '--wait-for', nargs='+', default=[], help='begin with none before all of these have a publisher'
    )
    parser.add_argument('--topics', nargs='+', default=TOPICS, help='default: ' + ' '.join(TOPICS))
    own, ros_args = split_ros_args(sys.argv[1:])
    args = parser.parse_args(own)

    ending = watch_for_end()
    try:
        stream = args.file.open('xb')
    except OSError as error:
        sys.exit(f'[demo_recorder] cannot write {args.file}: {error.strerror}')
    with stream:
        recording = Recording(stream)
        make = lambda: make_recorder(recording, args.topics, args.wait_for)
        recorder, executor, close = start_ros(ros_args, make, ordinary_executor)
        try:
            record(recorder, executor, recording, args.seconds, ending)
        finally:
            close()
            recording.close()
    print(json.dumps(recording.counts), flush=True)
    if recording.counts.total() == 0:
        complain('[demo_recorder] not one message came')
        sys.exit(1)


if __name__ == '__main__':
    main()
