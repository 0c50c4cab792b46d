"""An independent ROS 2 peer for the measurements: JSON lines in, JSON lines out. Times are ms since the epoch.

Commands (field `op`):
  subscribe   topic, type, qos     every message becomes an event: `t` of receipt, `s` of sending (by the publisher's
                                   middleware); `fields` picks fields, `only` a field that must not be empty
  publish     topic, type, msg     once somebody listens
  stream      the same and hz      again and again with fresh stamps; `bytes` fills msg.data with noise, of which one
                                   byte changes every time; the same topic replaces it
  unstream    topic                event with the stamp of the last message
  advertise   topic, type, qos     a publisher that says nothing; event with the time
  retire      topic                ends it
  call        id, service, type, request     event with the response, or with none after 10 s
"""

import inspect
import json
import math
import queue
import random
import sys
import threading
import time

import rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

try:  # costs much less per message; not in every ROS 2 distribution
    from rclpy.experimental.events_executor import EventsExecutor as Executor
except ImportError:
    from rclpy.executors import SingleThreadedExecutor as Executor

PATIENCE_S = 10
# By this rclpy knows that a callback wants the times of a message too.
WITH_INFO = inspect.signature(lambda message, info: None)


def emit(**event):
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def now_ms():
    return time.time_ns() / 1e6


def load_type(name):
    package, kind, message = name.split("/")
    return getattr(__import__(f"{package}.{kind}", fromlist=[message]), message)


def qos_of(command):
    spec = command.get("qos", {})
    return QoSProfile(
        depth=spec.get("depth", 10),
        reliability=ReliabilityPolicy[spec.get("reliability", "reliable").upper()],
        durability=DurabilityPolicy[spec.get("durability", "volatile").upper()],
    )


def fill(message, values):
    """Sets nested fields from plain data; a list of messages takes its type from `_type` of each."""
    for name, value in values.items():
        if name == "_type":
            continue
        if isinstance(value, dict):
            fill(getattr(message, name), value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            setattr(message, name, [fill(load_type(each["_type"])(), each) for each in value])
        else:
            setattr(message, name, value)
    return message


def plain(value):
    """As JSON, which knows no NaN."""
    if hasattr(value, "get_fields_and_field_types"):
        return {name: plain(getattr(value, name)) for name in value.get_fields_and_field_types()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return int.from_bytes(value, "little")
    if isinstance(value, (str, int, bool)):
        return value
    return [plain(each) for each in value]


class Peer(Node):
    def __init__(self):
        super().__init__("measuring_peer")
        self.streams = {}
        self.silent = {}
        self.calls = []
        self.ours = {}
        self.unheard = []

    def obey(self, command):
        getattr(self, f"on_{command['op']}")(command)

    def on_subscribe(self, command):
        topic, fields, only = command["topic"], command.get("fields"), command.get("only")

        def received(*given):
            t = now_ms()
            # The executor of events hands both over as one.
            message, info = given[0] if len(given) == 1 else given
            if only is not None and not getattr(message, only):
                return
            picked = plain(message) if fields is None else {name: plain(getattr(message, name)) for name in fields}
            emit(event="message", topic=topic, t=t, s=info["source_timestamp"] / 1e6, msg=picked)

        received.__signature__ = WITH_INFO
        self.create_subscription(load_type(command["type"]), topic, received, qos_of(command))

    def on_publish(self, command):
        self.unheard.append((self.publisher(command), fill(load_type(command["type"])(), command["msg"])))

    def on_stream(self, command):
        topic = command["topic"]
        if topic in self.streams:
            self.end_stream(topic)
        publisher, message = self.publisher(command), fill(load_type(command["type"])(), command["msg"])
        if "bytes" in command:
            message.data = random.Random(1).randbytes(command["bytes"])
        stream = {"publisher": publisher, "message": message, "count": 0, "stamp": None}
        stream["timer"] = self.create_timer(1 / command["hz"], lambda: self.stream_once(stream, topic))
        self.streams[topic] = stream

    def stream_once(self, stream, topic):
        message = stream["message"]
        stream["count"] += 1
        if hasattr(message, "data") and len(message.data) > 0:
            message.data[0] = stream["count"] % 256
        ns = time.time_ns()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(ns, 1_000_000_000)
        if stream["stamp"] is None:
            emit(event="streaming", topic=topic, t=ns / 1e6)
        stream["stamp"] = ns / 1e6
        stream["publisher"].publish(message)

    def end_stream(self, topic):
        stream = self.streams.pop(topic)
        self.destroy_timer(stream["timer"])
        return stream

    def on_unstream(self, command):
        stream = self.end_stream(command["topic"])
        emit(event="unstreamed", topic=command["topic"], t=stream["stamp"], count=stream["count"])

    def on_advertise(self, command):
        topic = command["topic"]
        emit(event="advertised", topic=topic, t=now_ms())
        self.silent[topic] = self.create_publisher(load_type(command["type"]), topic, qos_of(command))

    def on_retire(self, command):
        self.destroy_publisher(self.silent.pop(command["topic"]))

    def on_call(self, command):
        kind = load_type(command["type"])
        key = ("client", command["service"])
        if key not in self.ours:
            self.ours[key] = self.create_client(kind, command["service"])
        request = fill(kind.Request(), command["request"])
        self.calls.append((command["id"], self.ours[key], request, time.monotonic() + PATIENCE_S))
        self.look()

    def publisher(self, command):
        key = (command["topic"], json.dumps(command.get("qos")))
        if key not in self.ours:
            self.ours[key] = self.create_publisher(load_type(command["type"]), command["topic"], qos_of(command))
        return self.ours[key]

    def look(self):
        """What waits for the other side to be there."""
        for item in [each for each in self.unheard if each[0].get_subscription_count() > 0]:
            self.unheard.remove(item)
            item[0].publish(item[1])
        for item in list(self.calls):
            call, client, request, deadline = item
            if client.service_is_ready():
                self.calls.remove(item)
                self.ask(call, client, request, deadline)
            elif time.monotonic() > deadline:
                self.calls.remove(item)
                emit(event="response", id=call, t=now_ms(), response=None)

    def ask(self, call, client, request, deadline):
        answered = []

        def done(response):
            if not answered:
                answered.append(True)
                self.destroy_timer(timer)
                emit(event="response", id=call, t=now_ms(), response=response)

        timer = self.create_timer(max(0.1, deadline - time.monotonic()), lambda: done(None))
        client.call_async(request).add_done_callback(lambda future: done(plain(future.result())))


def main():
    rclpy.init()
    peer = Peer()
    executor = Executor()
    executor.add_node(peer)
    commands = queue.Queue()

    def read():
        for line in sys.stdin:
            commands.put(json.loads(line))
            executor.wake()
        commands.put(None)
        executor.wake()

    threading.Thread(target=read, daemon=True).start()
    peer.create_timer(0.02, peer.look)
    emit(event="ready")
    while True:
        executor.spin_once(timeout_sec=0.1)
        while not commands.empty():
            command = commands.get()
            if command is None:
                return
            peer.obey(command)


main()
