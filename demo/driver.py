"""The person in front of the robot, as an independent ROS 2 peer: says what to do, keeps asking, and counts.

publishes  instruction       std_msgs/String, transient local: another block every few seconds
           language_request  oxygen_vla/LanguageRequest: four at a time, the next as soon as one has ended
hears      action, action_chunk, language/tokens, status, demo/judge
calls      demo/shuffle      now and then, together with a new instruction

Prints one JSON object a line: `text` (running texts) five times a second, `second` once a second and `result`
at the end. The measuring window begins with the first chunk.
"""

import argparse
import json
import sys
import time

import numpy as np

from peer import complain, split_ros_args, start_ros, watch_for_end
from score import Conversation, Deltas, Instructions, Intervals, Slot

COLOURS = ('red', 'green', 'blue')
STATUS_FIELDS = 'ticks fresh_ticks frames state batch batch_max engine_restarts last_error'.split()
MAX_TOKENS = 24


def slots():
    where = [f'Question: where is the {colour} block? Answer: ' for colour in COLOURS]
    return [
        Slot('subtask', ['Subtask: '], keep=False),
        Slot('scene', ['Scene: '], keep=True),
        Slot('where', where, keep=True),
        Slot('where-too', where[1:] + where[:1], keep=True),
    ]


class Measurement:
    """Everything counted since the first chunk."""

    def __init__(self, args):
        self.began = None
        self.actions = Intervals()
        self.chunks = 0
        self.status = None
        self.deltas = Deltas()
        self.verdict = None
        self.talk = Conversation(slots(), rest=args.rest)
        self.orders = Instructions(np.random.default_rng(args.seed), COLOURS)
        self._marks = (0, 0, 0)

    def take_status(self, message):
        self.status = {field: getattr(message, field) for field in STATUS_FIELDS}
        self.status['drops'] = dict(zip(message.drop_reasons, map(int, message.drop_counts)))
        if self.began is not None:
            self.deltas.add(self.status)

    def second(self, now, elapsed):
        """The figures of the `elapsed` seconds since the last call."""
        marks = (self.actions.count, self.chunks, self.talk.tokens)
        rates = [round((new - old) / elapsed, 1) for new, old in zip(marks, self._marks)]
        self._marks = marks
        status, verdict = self.status or {}, self.verdict or {}
        return {
            'kind': 'second',
            't': round(now - self.began, 1) if self.began is not None else None,
            **dict(zip(('action_hz', 'replan_hz', 'tokens_per_s'), rates)),
            'state': status.get('state'),
            'batch': status.get('batch', 0),
            'drops': sum(status.get('drops', {}).values()),
            'instruction': self.orders.text,
            'distance_m': verdict.get('distance_m') if verdict.get('instruction') == self.orders.text else None,
            'instructions': self.orders.judged,
            'reached': self.orders.reached,
        }

    def texts(self):
        return {
            'kind': 'text',
            'texts': [slot.view() for slot in self.talk.slots],
        }

    def result(self, now):
        duration = now - self.began if self.began is not None else 0.0
        per_second = lambda count: round(count / duration, 2) if duration else 0.0
        status = self.status or {}
        return {
            'kind': 'result',
            'action_hz': per_second(self.actions.count),
            'fresh_ratio': self.deltas.ratio('fresh_ticks', 'ticks'),
            'replan_hz': per_second(self.chunks),
            'tokens_per_s': per_second(self.talk.tokens),
            'batch_max': status.get('batch_max', 0),
            'requests_finished': self.talk.answered,
            'frames': self.deltas.of('frames'),
            'drops': status.get('drops', {}),
            'instructions': self.orders.judged,
            'reached': self.orders.reached,
            'duration_s': round(duration, 2),
            'action_interval_error_p99_ms': self.actions.percentile_ms(99),
            'finish_reasons': dict(self.talk.finished),
            'sequence_gaps': self.talk.gaps,
            'unknown_requests': self.talk.strangers,
            'silent_requests': self.talk.silent,
            'engine_restarts': status.get('engine_restarts', 0),
            'misses': self.orders.misses,
            'last_error': status.get('last_error', ''),
        }


def make_driver(measurement, args):
    from oxygen_vla.msg import ActionChunk, LanguageRequest, LanguageToken, Status
    from rclpy.node import Node
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from std_msgs.msg import Float64MultiArray, String
    from std_srvs.srv import Trigger

    class Driver(Node):
        def __init__(self):
            super().__init__('demo_driver', start_parameter_services=False)
            latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
            self._instruction = self.create_publisher(String, 'instruction', latched)
            self._requests = self.create_publisher(LanguageRequest, 'language_request', 10)
            self._shuffle = self.create_client(Trigger, 'demo/shuffle')
            self.create_subscription(Float64MultiArray, 'action', self._on_action, 100)
            self.create_subscription(ActionChunk, 'action_chunk', self._on_chunk, 10)
            self.create_subscription(LanguageToken, 'language/tokens', self._on_token, 500)
            self.create_subscription(Status, 'status', lambda m: measurement.take_status(m), 10)
            self.create_subscription(String, 'demo/judge', self._on_verdict, 10)

        def _on_action(self, _message):
            if measurement.began is not None:
                measurement.actions.add(time.monotonic())

        def _on_chunk(self, _message):
            if measurement.began is None:
                measurement.began = time.monotonic()
            measurement.chunks += 1

        def _on_verdict(self, message):
            measurement.verdict = json.loads(message.data)

        def _on_token(self, m):
            ended = measurement.talk.hear(
                m.request_id, m.sequence_number, m.token_id, m.text_delta, m.finish_reason, time.monotonic()
            )
            if ended:
                self.ask()

        def ask(self):
            if measurement.began is None:  # nobody asks an engine that is still loading
                return
            now = time.monotonic()
            for slot in measurement.talk.due(now):
                request_id, seed = measurement.talk.ask(slot, now)
                self._requests.publish(
                    LanguageRequest(
                        id=request_id, text=seed, max_tokens=MAX_TOKENS, keep_on_instruction=slot.keep
                    )
                )

        def instruct(self):
            self._instruction.publish(String(data=measurement.orders.next()))

        def shuffle(self):
            if self._shuffle.service_is_ready():
                self._shuffle.call_async(Trigger.Request())

    return Driver()


def say(line):
    print(json.dumps(line), flush=True)


def drive(driver, executor, measurement, args, ending):
    """Runs until the window is over or the end is asked for; exit code."""
    born = said = text = asked = time.monotonic()
    second, dwell_ends = born + 1, None
    driver.instruct()
    while not ending():
        now = time.monotonic()
        if measurement.began is None and now - born > args.patience:
            error = (measurement.status or {}).get('last_error') or 'the node publishes no status'
            complain(f'[demo_driver] no action chunk within {args.patience:.0f} s: {error}')
            return 1
        if measurement.began is not None and dwell_ends is None:
            said, second, dwell_ends = measurement.began, measurement.began + 1, measurement.began + args.dwell
        if now >= second:  # before the instruction changes, so that the last row of each shows where it ended
            say(measurement.second(now, now - said))
            said, second = now, max(second + 1, now + 0.5)
        if dwell_ends is not None:
            if now >= dwell_ends:
                measurement.orders.judge(measurement.verdict)
                if measurement.orders.judged % args.shuffle_every == 0:
                    driver.shuffle()
                driver.instruct()
                dwell_ends += args.dwell
            if args.seconds and now - measurement.began >= args.seconds:
                break
        if now - asked >= 0.1:
            asked = now
            driver.ask()
        if now - text >= 0.2:
            text = now
            say(measurement.texts())
        executor.spin_once(timeout_sec=0.05)
    say(measurement.result(time.monotonic()))
    return 0


def main():
    parser = argparse.ArgumentParser(description='Instructions, questions and counters of the OxyGen demo.')
    parser.add_argument('--seconds', type=float, default=0, help='length of the measuring window; 0: no end')
    parser.add_argument('--seed', type=int, default=0, help='seed of the instructions')
    parser.add_argument('--dwell', type=float, default=4.0, help='seconds per instruction')
    parser.add_argument('--rest', type=float, default=0.0, help='seconds between a text and the next question')
    parser.add_argument('--shuffle-every', type=int, default=3, help='instructions between new block places')
    parser.add_argument('--patience', type=float, default=60.0, help='seconds to wait for the first chunk')
    own, ros_args = split_ros_args(sys.argv[1:])
    args = parser.parse_args(own)

    ending = watch_for_end()
    measurement = Measurement(args)
    driver, executor, close = start_ros(ros_args, lambda: make_driver(measurement, args))
    try:
        sys.exit(drive(driver, executor, measurement, args, ending))
    finally:
        close()


if __name__ == '__main__':
    main()
