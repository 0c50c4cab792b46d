"""Reads an sros2 policy file and prints what it allows as JSON; refuses what sros2's schema (policy.xsd, 0.2.0) refuses."""

import json
import sys
from xml.etree import ElementTree

CHILDREN = {
    "policy": ["enclaves"],
    "enclaves": ["enclave"],
    "enclave": ["profiles"],
    "profiles": ["profile"],
    "profile": ["topics", "services", "actions"],
    "topics": ["topic"],
    "services": ["service"],
    "actions": ["action"],
}
REQUIRED = {"policy": {"version"}, "enclave": {"path"}, "profile": {"ns", "node"}}
QUALIFIERS = {"topics": {"publish", "subscribe"}, "services": {"reply", "request"}, "actions": {"call", "execute"}}


def check(element):
    tag, attributes = element.tag, set(element.attrib)
    allowed = CHILDREN.get(tag, [])
    strangers = [child.tag for child in element if child.tag not in allowed]
    if strangers:
        raise SystemExit(f"<{tag}> holds {strangers}")
    if allowed and not len(element):
        raise SystemExit(f"<{tag}> is empty")
    if attributes != REQUIRED.get(tag, set()) and not (tag in QUALIFIERS and attributes and attributes <= QUALIFIERS[tag]):
        raise SystemExit(f"<{tag}> has the attributes {sorted(attributes)}")
    if tag in QUALIFIERS and not set(element.attrib.values()) <= {"ALLOW", "DENY"}:
        raise SystemExit(f"<{tag}> neither allows nor denies")
    for child in element:
        check(child)


def resolved(name, profile):
    """The full name of an expression, as in sros2's permissions.xsl."""
    namespace = profile["ns"].rstrip("/")
    if name.startswith("~/"):
        return f"{namespace}/{profile['node']}/{name[2:]}"
    return name if name.startswith("/") else f"{namespace}/{name}"


def main(file):
    root = ElementTree.parse(file).getroot()
    if root.tag != "policy" or root.get("version") != "0.2.0":
        raise SystemExit("not a policy of version 0.2.0")
    check(root)
    enclaves = []
    for enclave in root.iter("enclave"):
        allowed = {qualifier: [] for qualifiers in QUALIFIERS.values() for qualifier in sorted(qualifiers)}
        for profile in enclave.iter("profile"):
            for group in profile:
                for qualifier, value in group.attrib.items():
                    if value != "ALLOW":
                        raise SystemExit("this reader knows no DENY")
                    allowed[qualifier] += [resolved(item.text.strip(), profile.attrib) for item in group]
        enclaves.append({"path": enclave.get("path"), **allowed})
    print(json.dumps(enclaves))


main(*sys.argv[1:])
