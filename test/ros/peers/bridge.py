"""An independent ROS peer for tests: commands come as JSON lines on stdin, events go as JSON lines to stdout.

Times are seconds of the monotonic clock, which all processes of a machine share. An argument is the node's name.

Commands (field `op`):
  subscribe    topic, type, qos        every message becomes an event `message` with its time of receipt; after each
                                       the peer sleeps for `slow` (s)
  publish      topic, type, qos, msg   once somebody listens, then event `published`; `stamp` (s) is added to now for
                                       msg.header.stamp, `file` fills msg.data, `raw` (hex) is sent in place of it all
  stream       name + as publish, hz   publishes again and again with fresh stamps; the same name replaces it. Of a
                                       list in `stamp` each message takes the next; `frozen` is the time of the first
  unstream     name                    event `unstreamed`
  burst        as publish, count       with a number behind the text in msg.`field`, as fast as it goes, but not before
                                       somebody listens; event `published`
  retire       topic, qos              the publisher goes away
  subscribers  topic                   event `subscribers` when the topic has at least `count`
  call         service, type, request  event `response` with the `id` of the call
  entities     node, namespace         event `entities`: what the graph knows of that node, names by kind
"""

import itertools
import json
import queue
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


def emit(**event):
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def load_type(name):
    package, kind, message = name.split("/")
    return getattr(__import__(f"{package}.{kind}", fromlist=[message]), message)


def qos_of(spec):
    spec = spec or {}
    return QoSProfile(
        depth=spec.get("depth", 10),
        reliability=ReliabilityPolicy[spec.get("reliability", "reliable").upper()],
        durability=DurabilityPolicy[spec.get("durability", "volatile").upper()],
    )


def number_like(present, value):
    """JSON has one kind of number and no NaN; the messages insist on the right kind."""
    if isinstance(value, list):
        return [number_like(0.0, v) if isinstance(v, (int, float)) or v == "nan" else v for v in value]
    return float(value) if isinstance(present, float) else value


def fill(message, values):
    """Sets nested fields from plain data; an array of messages takes its type from `_type` of its elements."""
    for name, value in values.items():
        if isinstance(value, dict):
            fill(getattr(message, name), value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            setattr(message, name, [fill(load_type(v["_type"])(), {k: x for k, x in v.items() if k != "_type"}) for v in value])
        else:
            setattr(message, name, number_like(getattr(message, name), value))
    return message


def plain(value):
    if hasattr(value, "get_fields_and_field_types"):
        return {name: plain(getattr(value, name)) for name in value.get_fields_and_field_types()}
    if isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, bytes):
        return list(value)
    return [plain(v) for v in value]


def stamp_of(spec):
    """What is to be done with the stamps of a publisher: nothing, or offsets (s) from now, or that of the first message."""
    if spec is None:
        return None
    if spec == "frozen":
        # Not that of the command: a message of the stream before may still be on its way out.
        first = []
        return lambda ns: first[0] if first else first.append(ns) or ns
    offsets = itertools.cycle(spec if isinstance(spec, list) else [spec])
    return lambda ns: ns + int(next(offsets) * 1e9)


class Bridge(Node):
    def __init__(self, name):
        super().__init__(name)
        self.publishers_by_topic = {}
        self.clients_by_service = {}
        self.streams = {}
        self.waiting = []
        self.unheard = []

    def obey(self, command):
        getattr(self, f"on_{command['op']}")(command)

    def on_subscribe(self, command):
        topic = command["topic"]

        def received(message):
            emit(event="message", topic=topic, t=time.monotonic(), msg=plain(message))
            time.sleep(command.get("slow", 0))

        self.create_subscription(load_type(command["type"]), topic, received, qos_of(command.get("qos")))

    def on_publish(self, command):
        self.unheard.append(self.prepare(command))
        self.deliver()

    def on_stream(self, command):
        self.on_unstream(command)
        publisher, message, stamp = self.prepare(command)

        def again():
            # The executor still calls what was due when its timer was destroyed.
            if self.streams.get(command["name"]) is timer:
                self.send(publisher, message, stamp)

        timer = self.create_timer(1 / command["hz"], again)
        self.streams[command["name"]] = timer

    def on_unstream(self, command):
        timer = self.streams.pop(command["name"], None)
        if timer is not None:
            self.destroy_timer(timer)
            emit(event="unstreamed", topic=command["name"], t=time.monotonic())

    def on_burst(self, command):
        publisher, message, _ = self.prepare(command)
        field = command["field"]
        text = getattr(message, field)
        while publisher.get_subscription_count() == 0:
            time.sleep(0.01)
        for n in range(command["count"]):
            setattr(message, field, f"{text} {n}")
            publisher.publish(message)
        emit(event="published", topic=command["topic"], t=time.monotonic())

    def on_retire(self, command):
        publisher = self.publishers_by_topic.pop((command["topic"], json.dumps(command.get("qos"))))
        self.destroy_publisher(publisher)

    def on_subscribers(self, command):
        self.waiting.append(command)

    def on_call(self, command):
        kind = load_type(command["type"])
        key = (command["type"], command["service"])
        client = self.clients_by_service.get(key)
        if client is None:
            client = self.clients_by_service[key] = self.create_client(kind, command["service"])
            client.wait_for_service(timeout_sec=10)
        future = client.call_async(fill(kind.Request(), command["request"]))
        future.add_done_callback(lambda f: emit(event="response", id=command["id"], response=plain(f.result()), t=time.monotonic()))

    def on_entities(self, command):
        names = {}
        for kind in ("publisher", "subscriber", "service", "client"):
            find = getattr(self, f"get_{kind}_names_and_types_by_node")
            try:
                names[kind] = sorted(name for name, _ in find(command["node"], command["namespace"]))
            except Exception:  # not discovered yet; the class of the error depends on the distribution
                names[kind] = []
        emit(event="entities", response=names)

    def prepare(self, command):
        key = (command["topic"], json.dumps(command.get("qos")))
        kind = load_type(command["type"])
        if key not in self.publishers_by_topic:
            self.publishers_by_topic[key] = self.create_publisher(kind, command["topic"], qos_of(command.get("qos")))
        message = fill(kind(), command["msg"])
        if "file" in command:
            with open(command["file"], "rb") as file:
                message.data = file.read()
        if "raw" in command:
            message = bytes.fromhex(command["raw"])
        return self.publishers_by_topic[key], message, stamp_of(command.get("stamp"))

    def now_ns(self):
        return self.get_clock().now().nanoseconds

    def send(self, publisher, message, stamp):
        if stamp is not None:
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp(self.now_ns()), 1_000_000_000)
        publisher.publish(message)

    def deliver(self):
        deaf = set()
        for item in list(self.unheard):
            publisher, message, stamp = item
            if publisher in deaf or publisher.get_subscription_count() == 0:
                deaf.add(publisher)
                continue
            self.unheard.remove(item)
            self.send(publisher, message, stamp)
            emit(event="published", topic=publisher.topic_name, t=time.monotonic())

    def look(self):
        self.deliver()
        for command in list(self.waiting):
            if self.count_subscribers(command["topic"]) >= command["count"]:
                self.waiting.remove(command)
                emit(event="subscribers", topic=command["topic"])


def main():
    rclpy.init()
    node = Bridge(sys.argv[1] if len(sys.argv) > 1 else "test_peer")
    # An executor of its own: rclpy.spin_once would build a new wait set for every event.
    executor = Executor()
    executor.add_node(node)
    commands = queue.Queue()

    def read():
        for line in sys.stdin:
            commands.put(json.loads(line))
            executor.wake()
        commands.put(None)
        executor.wake()

    threading.Thread(target=read, daemon=True).start()
    node.create_timer(0.05, node.look)
    emit(event="ready")
    while True:
        executor.spin_once(timeout_sec=0.1)
        while not commands.empty():
            command = commands.get()
            if command is None:
                node.destroy_node()
                rclpy.shutdown()
                return
            node.obey(command)


main()
