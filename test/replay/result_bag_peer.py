"""What two independent libraries find in a result bag.

Arguments: a result as a file, the same as a folder. Prints one JSON object: `rosbags` and `mcap` (from the file), each with
`topics` and `messages`, and `folder` (rosbags again, without messages). Whole numbers become text, floats the hexadecimal
digits of their 64 bits.
"""

import json
import struct
import sys
from pathlib import Path

import numpy
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore


def plain(value):
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return struct.pack(">d", value).hex()
    if isinstance(value, numpy.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple | bytes):
        return [plain(element) for element in value]
    # Constants are there as well.
    names = [name for name in getattr(value, "__slots__", None) or vars(value) if name.islower()]
    return {name: plain(getattr(value, name)) for name in names if not name.startswith("_")}


def overview(bag):
    return {
        "topics": [
            {
                "name": c.topic,
                "type": c.msgtype,
                "count": c.msgcount,
                "qos": [
                    [q.reliability.name, q.durability.name, q.history.name, q.depth, q.liveliness.name]
                    for q in c.ext.offered_qos_profiles
                ],
            }
            for c in bag.connections
        ],
        "start": str(bag.start_time),
        "end": str(bag.end_time),
    }


def of_folder(path):
    with AnyReader([path]) as bag:
        return overview(bag)


def by_rosbags(path):
    with AnyReader([path]) as bag:
        jazzy = get_typestore(Stores.ROS2_JAZZY).fielddefs
        return {
            **overview(bag),
            "foreign": [name for name in bag.typestore.fielddefs if name not in jazzy],
            "differing": [
                name for name, fields in bag.typestore.fielddefs.items() if fields != jazzy.get(name, fields)
            ],
            "standard": [name for name in bag.typestore.fielddefs if name in jazzy],
            "messages": [
                {"topic": c.topic, "time": str(time), "value": plain(bag.deserialize(data, c.msgtype))}
                for c, time, data in bag.messages()
            ],
        }


def by_mcap(path):
    with open(path, "rb") as file:
        bag = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        summary = bag.get_summary()
        header = bag.get_header()
        return {
            "profile": header.profile,
            "library": header.library,
            "topics": [channel.topic for channel in summary.channels.values()],
            "compression": sorted({chunk.compression for chunk in summary.chunk_indexes}),
            "chunks": len(summary.chunk_indexes),
            "counts": [summary.statistics.channel_message_counts.get(id, 0) for id in summary.channels],
            "messages": [
                {
                    "topic": channel.topic,
                    "time": str(message.log_time),
                    "published": str(message.publish_time),
                    "sequence": message.sequence,
                    "value": plain(decoded),
                }
                for _, channel, message, decoded in bag.iter_decoded_messages()
            ],
        }


file, folder = map(Path, sys.argv[1:])
print(json.dumps({"rosbags": by_rosbags(file), "mcap": by_mcap(file), "folder": of_folder(folder)}))
