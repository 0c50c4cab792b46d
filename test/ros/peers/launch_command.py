"""Prints what `ros2 launch FILE name:=value ...` would run, as JSON: the arguments of the launch file and the processes.

Knows only what our launch file uses, and refuses everything else, as launch_xml does: arg, let, group,
set_parameter(s_from_file), node, remap, executable, if, and the substitutions var, find-pkg-share and eval. Order and form of
the command lines are those of launch and launch_ros (Humble to Jazzy).
"""

import json
import os
import re
import shlex
import sys
from xml.etree import ElementTree

import yaml

ATTRIBUTES = {
    "launch": set(),
    "group": set(),
    "arg": {"name", "default", "description"},
    "let": {"name", "value"},
    "set_parameters_from_file": {"filename"},
    "set_parameter": {"name", "value"},
    "node": {"pkg", "exec", "name", "namespace", "args", "ros_args", "output", "respawn", "respawn_delay"},
    "remap": {"from", "to"},
    "executable": {"cmd", "output"},
}
SUBSTITUTION = re.compile(r"\$\((var|find-pkg-share) ([\w-]+)\)")
EXPRESSION = re.compile(r'\$\(eval "(.*)"\)', re.DOTALL)


def prefix_of(package):
    for prefix in os.environ["AMENT_PREFIX_PATH"].split(":"):
        if os.path.exists(f"{prefix}/share/ament_index/resource_index/packages/{package}"):
            return prefix
    return f"/not-installed/{package}"  # rviz2 is no part of the wheels


class Launch:
    def __init__(self, given):
        self.variables = dict(pair.split(":=", 1) for pair in given)
        self.arguments = []
        self.processes = []

    def substitute(self, text):
        def one(match):
            kind, name = match.groups()
            return self.variables[name] if kind == "var" else f"{prefix_of(name)}/share/{name}"

        expression = EXPRESSION.fullmatch(text)
        if expression:
            return str(eval(SUBSTITUTION.sub(one, expression[1]), {"__builtins__": {}}))
        if "$(" in SUBSTITUTION.sub("", text):
            raise SystemExit(f"unknown substitution in {text}")
        return SUBSTITUTION.sub(one, text)

    def words(self, text):
        """A command line is split before values are put in: a value is never two words."""
        return [self.substitute(word.replace("\0", " ")) for word in shlex.split(SUBSTITUTION.sub(self.whole, text))]

    @staticmethod
    def whole(match):
        return match[0].replace(" ", "\0")

    def truth(self, text):
        value = self.substitute(text).lower()
        if value not in ("true", "1", "false", "0"):
            raise SystemExit(f"{text} is {value!r}, no condition")
        return value in ("true", "1")

    def walk(self, element, parameters):
        """`parameters`: of the scope; each group has a list of its own."""
        tag, attributes = element.tag, dict(element.attrib)
        condition = attributes.pop("if", "true")
        if tag not in ATTRIBUTES or not set(attributes) <= ATTRIBUTES[tag]:
            raise SystemExit(f"<{tag} {' '.join(attributes)}> is not known here")
        if not self.truth(condition):
            return
        getattr(self, f"on_{tag}", lambda *_: None)(attributes, parameters)
        inner = list(parameters) if tag == "group" else parameters
        for child in element:
            self.walk(child, inner)

    def on_arg(self, attributes, _):
        default = self.substitute(attributes["default"])
        self.arguments.append({**attributes, "default": default})
        self.variables.setdefault(attributes["name"], default)

    def on_let(self, attributes, _):
        self.variables[attributes["name"]] = self.substitute(attributes["value"])

    def on_set_parameters_from_file(self, attributes, parameters):
        parameters.extend(["--params-file", self.substitute(attributes["filename"])])

    def on_set_parameter(self, attributes, parameters):
        value = yaml.safe_load(self.substitute(attributes["value"]) or "''")
        parameters.extend(["-p", f"{self.substitute(attributes['name'])}:={value}"])

    def on_node(self, attributes, parameters):
        package = attributes["pkg"]
        namespace = self.substitute(attributes["namespace"]).strip("/")
        argv = [f"{prefix_of(package)}/lib/{package}/{attributes['exec']}", *self.words(attributes["args"])]
        if "ros_args" in attributes:
            argv += ["--ros-args", *self.words(attributes["ros_args"])]
        argv += ["--ros-args", "-r", f"__node:={self.substitute(attributes['name'])}", "-r", f"__ns:=/{namespace}"]
        delay = float(attributes["respawn_delay"]) if self.truth(attributes.get("respawn", "false")) else None
        self.processes.append({"argv": argv + parameters, "respawnDelay": delay})

    def on_remap(self, attributes, _):
        names = [self.substitute(attributes[side]) for side in ("from", "to")]
        self.processes[-1]["argv"] += ["-r", ":=".join(names)]

    def on_executable(self, attributes, _):
        self.processes.append({"argv": self.words(attributes["cmd"]), "respawnDelay": None})


def main(file, *given):
    launch = Launch(given)
    launch.walk(ElementTree.parse(file).getroot(), [])
    print(json.dumps({"arguments": launch.arguments, "processes": launch.processes}))


main(*sys.argv[1:])
