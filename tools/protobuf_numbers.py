"""Make the table of protobuf field numbers of the embedded API server.

    .venv/bin/python tools/protobuf_numbers.py SOURCES TABLE MESSAGES

TABLE is harness/apiserver/serializer/protobuf.json.gz, and MESSAGES is
tests/unit/apiserver/serializer/protobuf_messages.txt.gz. SOURCES is a folder with Go's packages k8s.io/api, k8s.io/apimachinery and
k8s.io/apiextensions-apiserver of one version: their generated.proto files are read (a module cache
has them, and so has a Linux distribution's folder of Go sources). The messages of kube-aggregator,
which programs seldom depend on, are in protobuf_additions.txt.

Written are the server's table (for each OpenAPI definition its fields, and the numbers on the way
to each: two where Go embeds a struct that JSON inlines), and all messages with their types as lines
of text, with which tests judge what the server makes of the table. Fields of served kinds that have
no number are printed. The generated.proto files: Copyright The Kubernetes Authors, Apache License
2.0.
"""

import argparse
import gzip
import json
import pathlib
import re
import sys
from collections.abc import Iterator

from harness.apiserver.scheme import api_types, resources

Message = dict[str, tuple[int, str]]
Messages = dict[str, Message]
Paths = dict[str, list[int]]

_PARTS = ("api", "apimachinery", "apiextensions-apiserver")
_SCALARS = {"bool": "boolean", "double": "number"} | {
    name: name for name in ("bytes", "int32", "int64", "string")
}
_STATEMENT = re.compile(
    r"^package (?P<package>[\w.]+);"
    r"|^message (?P<message>\w+) \{"
    r"|^  (?P<label>optional|repeated) (?P<type>[\w.]+) (?P<name>\w+) = (?P<number>\d+);"
    r"|^  map<string, (?P<values>[\w.]+)> (?P<map>\w+) = (?P<at>\d+);",
    re.MULTILINE,
)
_PACKAGE = re.compile(r"k8s\.io\.(api|[a-z_]+\.pkg\.apis)\.")
_DEFINITION = re.compile(r"io\.k8s\.(api|[a-z-]+\.pkg\.apis)\.")
_ADDITIONS = pathlib.Path(__file__).with_name("protobuf_additions.txt")
_NAMED_OTHERWISE = {"$ref": "ref", "$schema": "schema"}
_OTHERS = ("DeleteOptions", "Status", "WatchEvent")


def main(sources: str, table: str, messages: str) -> None:
    """Read the generated.proto files and the additions, write the two files."""
    found = _additions()
    for part in _PARTS:
        for path in sorted(pathlib.Path(sources, part).rglob("generated.proto")):
            found.update(_messages(path.read_text()))
    made: dict[str, Paths] = {}
    for kind in _served():
        _collect(kind, found, made)
    _write(table, json.dumps(made, separators=(",", ":"), sort_keys=True))
    _write(messages, "".join(_line(name, found[name]) for name in sorted(found)))


def _write(path: str, text: str) -> None:
    pathlib.Path(path).write_bytes(gzip.compress(text.encode(), mtime=0))


def _line(name: str, message: Message) -> str:
    fields = [f"{field}={number}:{kind}" for field, (number, kind) in message.items()]
    return " ".join([name, *fields]) + "\n"


# ------------------------------------------------------------------ table


def _served() -> Iterator[api_types.Type]:
    for item in (*resources.ALL, *resources.OPTIONAL):
        yield api_types.of(item)
        if "list" in item.verbs:
            yield api_types.of_kind(item.group, item.version, f"{item.kind}List")
        for part in map(item.subresource, item.subresources):
            group, version = part.group or item.group, part.version or item.version
            if not part.kind.endswith("Options"):
                yield api_types.of_kind(group, version, part.kind)
    yield from (api_types.of_kind("", "v1", kind) for kind in _OTHERS)


def _collect(kind: api_types.Type, messages: Messages, made: dict[str, Paths]) -> None:
    """The paths of a type's fields, and of the types in it."""
    if kind.item is not None:
        _collect(kind.item, messages, made)
    elif kind.name not in made and (message := messages.get(_short_definition(kind.name))):
        wanted = {_plain(_NAMED_OTHERWISE.get(name, name)): name for name in kind.fields}
        made[kind.name] = _paths(message, wanted, messages)
        for name, field in kind.fields.items():
            if name not in made[kind.name] and name not in ("kind", "apiVersion"):
                print(f"no number: {kind.name} {name}", file=sys.stderr)
            _collect(field.type, messages, made)


def _paths(message: Message, wanted: dict[str, str], messages: Messages) -> Paths:
    found: Paths = {}
    for name, (number, kind) in message.items():
        if _plain(name) in wanted:
            found[wanted[_plain(name)]] = [number]
        elif kind in messages and _plain(kind).endswith(
            _plain(name)
        ):  # embedded: named as its type
            inner = _paths(messages[kind], wanted, messages)
            found.update({field: [number, *path] for field, path in inner.items()})
    return found


def _plain(name: str) -> str:
    """Names differ in their capitals (aPIGroup, Webhooks) and in hyphens (x-kubernetes-…)."""
    return name.replace("-", "").lower()


def _short_definition(name: str) -> str:
    return _DEFINITION.sub("", name)


# ------------------------------------------------------------------ messages


def _additions() -> Messages:
    lines = _ADDITIONS.read_text().splitlines()
    return dict(_addition(*line.split()) for line in lines if not line.startswith("#"))


def _addition(name: str, *fields: str) -> tuple[str, Message]:
    parts = [field.replace("=", ":", 1).split(":") for field in fields]
    return name, {field: (int(number), kind) for field, number, kind in parts}


def _messages(proto: str) -> Messages:
    """Return the fields in a generated.proto file: [type] for repeated ones, {type} for a map's
    values.
    """
    package, found = "", Messages()
    message: Message = {}
    for statement in _STATEMENT.finditer(proto):
        if statement["package"]:
            package = statement["package"]
        elif statement["message"]:
            message = found.setdefault(_short(f"{package}.{statement['message']}"), {})
        elif statement["map"]:
            kind = _type(statement["values"], package)
            message[statement["map"]] = int(statement["at"]), f"{{{kind}}}"
        else:
            kind = _type(statement["type"], package)
            shown = f"[{kind}]" if statement["label"] == "repeated" else kind
            message[statement["name"]] = int(statement["number"]), shown
    return found


def _type(name: str, package: str) -> str:
    if name in _SCALARS:
        return _SCALARS[name]
    return _short(name[1:] if name.startswith(".") else f"{package}.{name}")


def _short(name: str) -> str:
    return _PACKAGE.sub("", name)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Make the table of protobuf field numbers.")
    parser.add_argument("sources", help="a folder with Go's packages k8s.io/api and others")
    parser.add_argument("table", help="write here: harness/apiserver/serializer/protobuf.json.gz")
    parser.add_argument(
        "messages", help="and here: tests/unit/apiserver/serializer/protobuf_messages.txt.gz"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main(**vars(_arguments()))
