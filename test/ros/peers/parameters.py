"""Prints how rcl reads parameter files: a list with, per file of the command line, {name: [type, text of the value]} of
the node /oxygen, or {"error": text}."""

import json
import sys

import rclpy
from rclpy.context import Context
from rclpy.node import Node


def read(file):
    context = Context()
    try:
        rclpy.init(args=["peer", "--ros-args", "--params-file", file], context=context)
    except Exception as error:  # of rcl's own parser
        return {"error": str(error)}
    node = Node(
        "oxygen",
        context=context,
        automatically_declare_parameters_from_overrides=True,
        start_parameter_services=False,
        enable_rosout=False,
    )
    found = {name: [p.type_.name, str(p.value)] for name, p in node._parameters.items()}
    rclpy.shutdown(context=context)
    return found


print(json.dumps([read(file) for file in sys.argv[1:]]))
