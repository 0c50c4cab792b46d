"""Writes bags with the independent libraries, as told by JSON on the command line, and prints what is in them.

{"kind": "mcap", "path": FILE, "compression": "none|lz4|zstd", "chunk_bytes": N, "chunked": bool, "indexed": bool,
 "crcs": bool, "finish": bool, "messages": [[topic, log_ns, text], ...], "schema": "ros2msg|ros2idl", "encoding": "cdr"}
{"kind": "rosbags", "path": FOLDER, "storage": "mcap|sqlite3", "mode": "none|message|file|storage", "messages": ...}
{"kind": "sqlite", "path": FILE, "wal": bool, "index": bool, "messages": ...}: the tables of the first rosbag2

A message is a std_msgs/String with the text; a topic that begins with /joint is a sensor_msgs/JointState with the
text as its one name; with /raw: `text` bytes of data.
"""

import io
import json
import shutil
import sqlite3
import sys
from pathlib import Path

import numpy as np
from mcap.writer import CompressionType, IndexType, Writer as McapWriter
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

STORE = get_typestore(Stores.ROS2_JAZZY)
TYPES = STORE.types


def type_of(topic):
    if topic.startswith("/joint"):
        return "sensor_msgs/msg/JointState"
    return "std_msgs/msg/UInt8MultiArray" if topic.startswith("/raw") else "std_msgs/msg/String"


def message(topic, text):
    kind = type_of(topic)
    if kind == "std_msgs/msg/String":
        value = TYPES[kind](text)
    elif kind == "sensor_msgs/msg/JointState":
        header = TYPES["std_msgs/msg/Header"](TYPES["builtin_interfaces/msg/Time"](1, 2), "base")
        value = TYPES[kind](header, [text], np.array([0.5]), np.array([]), np.array([-1.5]))
    else:
        layout = TYPES["std_msgs/msg/MultiArrayLayout"]([], 0)
        value = TYPES[kind](layout, np.random.default_rng(int(text)).integers(0, 256, int(text), dtype=np.uint8))
    return bytes(STORE.serialize_cdr(value, kind))


def topics_of(job):
    return list(dict.fromkeys(topic for topic, _, _ in job["messages"]))


def write_mcap(job):
    compression = {"none": CompressionType.NONE, "lz4": CompressionType.LZ4, "zstd": CompressionType.ZSTD}
    stream = io.BytesIO()
    indexed = job.get("indexed", True)
    writer = McapWriter(
        stream,
        chunk_size=job.get("chunk_bytes", 1024),
        compression=compression[job.get("compression", "none")],
        index_types=IndexType.ALL if indexed else IndexType.NONE,
        repeat_channels=indexed,
        repeat_schemas=indexed,
        use_chunking=job.get("chunked", True),
        use_statistics=indexed,
        use_summary_offsets=indexed,
        enable_crcs=job.get("crcs", True),
    )
    writer.start(profile="ros2", library="test")
    channels = {}
    encoding = job.get("schema", "ros2msg")
    for topic in topics_of(job):
        kind = type_of(topic)
        definition, _ = STORE.generate_msgdef(kind, ros_version=2)
        schema = writer.register_schema(kind, encoding, definition.encode() if encoding == "ros2msg" else b"module x {};")
        channels[topic] = writer.register_channel(topic, job.get("encoding", "cdr"), schema)
    for topic, ns, text in job["messages"]:
        writer.add_message(channels[topic], ns, message(topic, text), ns)
    writer.finish()
    Path(job["path"]).write_bytes(stream.getvalue())


def write_rosbags(job):
    storage = StoragePlugin.MCAP if job["storage"] == "mcap" else StoragePlugin.SQLITE3
    writer = Writer(Path(job["path"]), version=job.get("version", 9), storage_plugin=storage)
    mode = job.get("mode", "none")
    if mode != "none":
        writer.set_compression(CompressionMode[mode.upper()], CompressionFormat.ZSTD)
    with writer:
        connections = {topic: writer.add_connection(topic, type_of(topic), typestore=STORE) for topic in topics_of(job)}
        for topic, ns, text in job["messages"]:
            writer.write(connections[topic], ns, message(topic, text))


def write_sqlite(job):
    path = Path(job["path"])
    work = path.with_suffix(".work") if job.get("wal") else path
    db = sqlite3.connect(work)
    if job.get("wal"):
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL)")
    db.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL)")
    if job.get("index", True):
        db.execute("CREATE INDEX timestamp_idx ON messages (timestamp ASC)")
    ids = {}
    for topic in topics_of(job):
        ids[topic] = len(ids) + 1
        db.execute("INSERT INTO topics VALUES (?, ?, ?, 'cdr')", (ids[topic], topic, type_of(topic)))
    db.commit()
    if job.get("wal"):
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for topic, ns, text in job["messages"]:
        db.execute("INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)", (ids[topic], ns, message(topic, text)))
    db.commit()
    if job.get("wal"):
        # As a power cut leaves them: nothing was brought from the log into the table.
        shutil.copy(work, path)
        shutil.copy(f"{work}-wal", f"{path}-wal")
    db.close()
    if job.get("wal"):
        work.unlink()


for job in json.loads(sys.argv[1]):
    {"mcap": write_mcap, "rosbags": write_rosbags, "sqlite": write_sqlite}[job["kind"]](job)
