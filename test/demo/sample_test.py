"""The sample bag, read by two libraries that others wrote: what it promises to those who use it."""

import json
import unittest
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader
from rosbags.interfaces import QosDurability, QosReliability

SAMPLE = Path(__file__).parents[2] / 'demo/sample.mcap'
CAMERA = '/camera/base_0_rgb/image_raw'


def seconds(stamp):
    return stamp.sec + stamp.nanosec * 1e-9


class SampleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.messages = defaultdict(list)
        with AnyReader([SAMPLE]) as reader:
            cls.connections = {connection.topic: connection for connection in reader.connections}
            cls.start, cls.duration = reader.start_time * 1e-9, reader.duration * 1e-9
            for connection, ns, data in reader.messages():
                message = reader.deserialize(data, connection.msgtype)
                cls.messages[connection.topic].append((ns * 1e-9 - cls.start, message))

    def rate(self, topic):
        times = [time for time, _ in self.messages[topic]]
        return (len(times) - 1) / (times[-1] - times[0])

    def test_rates_and_length(self):
        self.assertGreater(self.duration, 15)
        self.assertLess(SAMPLE.stat().st_size, 5_000_000)
        for topic, hz in ((CAMERA, 30), ('/joint_states', 50), ('/action', 70), ('/action_chunk', 29)):
            self.assertAlmostEqual(self.rate(topic), hz, delta=hz * 0.05, msg=topic)

    def test_an_instruction_is_there_before_the_first_picture_and_changes_later(self):
        times, texts = zip(*[(time, message.data) for time, message in self.messages['/instruction']])
        self.assertLess(times[0], self.messages[CAMERA][0][0])
        self.assertGreaterEqual(len(set(texts)), 4)
        self.assertGreater(times[1], 1)

    def test_requests_of_three_kinds_and_their_answers(self):
        asked = {message.id: message.text for _, message in self.messages['/language_request']}
        kinds = Counter(text.split(':')[0] for text in asked.values())
        self.assertEqual(set(kinds), {'Subtask', 'Scene', 'Question'})
        ended = {m.request_id for _, m in self.messages['/language/tokens'] if m.finish_reason}
        self.assertGreaterEqual(len(ended & set(asked)), len(asked) - 4)

    def test_stamps_are_just_before_their_receipt_and_never_run_back(self):
        for topic in (CAMERA, '/joint_states'):
            stamps = np.array([seconds(message.header.stamp) - self.start for _, message in self.messages[topic]])
            ages = np.array([time for time, _ in self.messages[topic]]) - stamps
            self.assertTrue((np.diff(stamps) > 0).all(), topic)
            self.assertGreater(ages.min(), 0, topic)
            self.assertLess(ages.max(), 0.1, topic)

    def test_the_robot_moves_and_follows(self):
        positions = np.array([message.position for _, message in self.messages['/joint_states']])
        self.assertGreater(np.ptp(positions, axis=0).min(), 0.3)
        state_times = [time for time, _ in self.messages['/joint_states']]
        last = self.messages['/action'][-1]
        nearest = positions[np.searchsorted(state_times, last[0]) - 1]
        self.assertLess(np.abs(nearest - np.array(last[1].data)).max(), 0.1)

    def test_the_qos_of_the_publishers_is_told(self):
        qos = {topic: connection.ext.offered_qos_profiles[0] for topic, connection in self.connections.items()}
        self.assertEqual(qos[CAMERA].reliability, QosReliability.BEST_EFFORT)
        self.assertEqual(qos['/joint_states'].reliability, QosReliability.RELIABLE)
        self.assertEqual(qos['/instruction'].durability, QosDurability.TRANSIENT_LOCAL)

    def test_mcap_ros2_support_reads_the_same_from_the_definitions_in_the_file(self):
        with SAMPLE.open('rb') as file:
            reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
            self.assertEqual(reader.get_header().profile, 'ros2')
            channels = reader.get_summary().channels.values()
            self.assertEqual({channel.message_encoding for channel in channels}, {'cdr'})
            for channel in channels:
                self.assertTrue(json.loads(channel.metadata['offered_qos_profiles']), channel.topic)
                self.assertTrue(channel.metadata['topic_type_hash'].startswith('RIHS01_'), channel.topic)
            counts = Counter()
            for schema, channel, message, decoded in reader.iter_decoded_messages():
                counts[channel.topic] += 1
                self.assertEqual(schema.encoding, 'ros2msg')
                self.assertLessEqual(message.publish_time, message.log_time)
                if channel.topic == CAMERA:
                    self.assertEqual((len(decoded.data), decoded.encoding), (84 * 84 * 3, 'rgb8'))
        self.assertEqual(counts, {topic: len(messages) for topic, messages in self.messages.items()})


if __name__ == '__main__':
    unittest.main()
