"""What the `rosbags` reader finds in a bag, by topic: type, QoS of its first publisher, and of each message its time, what
it says of itself and a hash of its bytes. Times are ns, as text."""

import hashlib
import json
import sys
from pathlib import Path

from rosbags.highlevel import AnyReader

topics = {}
with AnyReader([Path(sys.argv[1])]) as reader:
    for connection in reader.connections:
        qos = connection.ext.offered_qos_profiles[0]
        topics[connection.topic] = {
            'type': connection.msgtype,
            'reliability': qos.reliability.name,
            'durability': qos.durability.name,
            'messages': [],
        }
    for connection, ns, data in reader.messages():
        message = reader.deserialize(data, connection.msgtype)
        entry = {'log': str(ns), 'sha256': hashlib.sha256(data).hexdigest()}
        if hasattr(message, 'header'):
            stamp = message.header.stamp
            entry['stamp'] = str(stamp.sec * 1_000_000_000 + stamp.nanosec)
        if connection.msgtype == 'sensor_msgs/msg/Image':
            entry['picture'] = hashlib.sha256(message.data).hexdigest()
        if connection.msgtype == 'sensor_msgs/msg/JointState':
            entry['values'] = message.position.tolist()
        if connection.msgtype == 'oxygen_vla/msg/ActionChunk':
            stamp = message.observation_stamp
            entry['stamp'] = str(stamp.sec * 1_000_000_000 + stamp.nanosec)
            entry['values'] = message.values.tolist()
        if connection.msgtype == 'std_msgs/msg/String':
            entry['text'] = message.data
        if hasattr(message, 'id'):
            entry['id'] = message.id
        topics[connection.topic]['messages'].append(entry)
print(json.dumps(topics))
