"""Prints what `ros2 launch FILE name:=value ...` would run for the one node of an XML launch file, as JSON argv.

Knows only what our launch file uses: arg, group, set_parameter(s_from_file), node, and the substitutions var,
find-pkg-share and eval. Order and form of the arguments are those of launch_ros.
"""

import json
import os
import re
import sys
from xml.etree import ElementTree


def prefix_of(package):
    for prefix in os.environ["AMENT_PREFIX_PATH"].split(":"):
        if os.path.exists(f"{prefix}/share/ament_index/resource_index/packages/{package}"):
            return prefix
    raise SystemExit(f"package {package} is not installed")


def substitute(text, variables):
    text = re.sub(r"\$\(var (\w+)\)", lambda m: variables[m[1]], text)
    text = re.sub(r"\$\(find-pkg-share (\w+)\)", lambda m: f"{prefix_of(m[1])}/share/{m[1]}", text)

    def evaluate(match):
        return str(eval(match[1].replace("\\'", "'"), {"__builtins__": {}}))

    return re.sub(r"\$\(eval '(.*)'\)", evaluate, text)


def main(file, *given):
    variables = dict(pair.split(":=", 1) for pair in given)
    parameters = []
    command = []

    def walk(element):
        attributes = element.attrib
        if "unless" in attributes and substitute(attributes["unless"], variables).lower() in ("true", "1"):
            return
        get = lambda name: substitute(attributes.get(name, ""), variables)
        if element.tag == "arg":
            variables.setdefault(attributes["name"], get("default"))
        elif element.tag == "set_parameters_from_file":
            parameters.extend(["--params-file", get("filename")])
        elif element.tag == "set_parameter":
            parameters.extend(["-p", f"{get('name')}:={get('value')}"])
        elif element.tag == "node":
            command.append(f"{prefix_of(get('pkg'))}/lib/{get('pkg')}/{get('exec')}")
            command.extend(get("args").split())
            command.extend(["--ros-args", *get("ros_args").split(), "-r", f"__node:={get('name')}"])
            if get("namespace"):
                command.extend(["-r", f"__ns:=/{get('namespace').strip('/')}"])
            command.extend(parameters)
        elif element.tag not in ("launch", "group"):
            raise SystemExit(f"unknown element {element.tag}")
        for child in element:
            walk(child)

    walk(ElementTree.parse(file).getroot())
    print(json.dumps(command))


main(*sys.argv[1:])
