"""Command messages as rosbags writes them: one JSON line {name: {type, definition, cdr}}, the bytes in hex."""

import json

import numpy as np
from rosbags.typesys import Stores, get_typestore

store = get_typestore(Stores.ROS2_JAZZY)
types = store.types
Time = types["builtin_interfaces/msg/Time"]
Duration = types["builtin_interfaces/msg/Duration"]
Header = types["std_msgs/msg/Header"]
MultiArray = types["std_msgs/msg/Float64MultiArray"]
Layout = types["std_msgs/msg/MultiArrayLayout"]
Trajectory = types["trajectory_msgs/msg/JointTrajectory"]
Point = types["trajectory_msgs/msg/JointTrajectoryPoint"]
JointState = types["sensor_msgs/msg/JointState"]

HEADER = Header(stamp=Time(sec=1, nanosec=2), frame_id="base")


def floats(*values):
    return np.array(values, dtype=np.float64)


def point(positions, velocities):
    return Point(
        positions=positions,
        velocities=velocities,
        accelerations=floats(),
        effort=floats(),
        time_from_start=Duration(sec=0, nanosec=14_000_000),
    )


MESSAGES = {
    "array": MultiArray(layout=Layout(dim=[], data_offset=0), data=floats(1.5, -2.0, np.nan, 0.25)),
    "trajectory": Trajectory(
        header=HEADER,
        joint_names=["grip", "lift", "spin", "other"],
        points=[
            point(floats(0.1, 0.2, 0.3, 0.4), floats(1.0, 2.0, 3.0, 4.0)),
            point(floats(9, 9, 9, 9), floats(9, 9, 9, 9)),
        ],
    ),
    "state": JointState(
        header=HEADER, name=["spin", "lift"], position=floats(), velocity=floats(7.0, 8.0), effort=floats()
    ),
}


def described(message):
    name = message.__msgtype__
    return {
        "type": name,
        "definition": store.generate_msgdef(name, ros_version=2)[0],
        "cdr": bytes(store.serialize_cdr(message, name)).hex(),
    }


print(json.dumps({key: described(message) for key, message in MESSAGES.items()}))
