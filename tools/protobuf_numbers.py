"""Generate the embedded API server's table of protobuf field numbers.

    .venv/bin/python tools/protobuf_numbers.py SOURCES TABLE

SOURCES is a directory with the Go packages k8s.io/api, k8s.io/apimachinery and
k8s.io/apiextensions-apiserver of one version, as in a Go module cache or in a Linux distribution's
Go sources; their generated.proto files are read. protobuf_additions.txt has the messages of
kube-aggregator, which is rarely among them.

TABLE (harness/apiserver/serializer/protobuf.json.gz) lists the fields of each OpenAPI definition
with their paths: a field's number, or two numbers where Go embeds a struct that JSON inlines.
Fields of served kinds without a number are printed. The generated.proto files: Copyright The
Kubernetes Authors, Apache License 2.0.
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
_PROTO_NAMES = {"$ref": "ref", "$schema": "schema"}
"""Names of fields in protobuf, where they differ from those in JSON."""
_META_KINDS = ("DeleteOptions", "Status", "WatchEvent")


def main(sources: str, table: str) -> None:
    """Read the generated.proto files and the additions, and write the table."""
    all_messages = _additions()
    for part in _PARTS:
        for path in sorted(pathlib.Path(sources, part).rglob("generated.proto")):
            all_messages.update(_messages(path.read_text()))
    paths: dict[str, Paths] = {}
    for kind in _served():
        _collect(kind, all_messages, paths)
    text = json.dumps(paths, separators=(",", ":"), sort_keys=True)
    pathlib.Path(table).write_bytes(gzip.compress(text.encode(), mtime=0))


# ------------------------------------------------------------------ table


def _served() -> Iterator[api_types.Type]:
    for item in (*resources.ALL, *resources.OPTIONAL):
        yield api_types.of(item)
        if "list" in item.verbs:
            yield api_types.of_kind(item.group, item.version, f"{item.kind}List")
        for part in map(item.subresource, item.subresources):
            group, version = part.group or item.group, part.version or item.version
            yield api_types.of_kind(group, version, part.kind)
    yield from (api_types.of_kind("", "v1", kind) for kind in _META_KINDS)


def _collect(kind: api_types.Type, messages: Messages, table: dict[str, Paths]) -> None:
    """Add the paths of a type's fields, and of all types that it contains, to the table."""
    if kind.item is not None:
        _collect(kind.item, messages, table)
    elif kind.name not in table and (message := messages.get(_short_definition(kind.name))):
        json_names = {_plain(_PROTO_NAMES.get(name, name)): name for name in kind.fields}
        table[kind.name] = _paths(message, json_names, messages)
        for name, field in kind.fields.items():
            if name not in table[kind.name] and name not in ("kind", "apiVersion"):
                print(f"no number: {kind.name} {name}", file=sys.stderr)
            _collect(field.type, messages, table)


def _paths(message: Message, json_names: dict[str, str], messages: Messages) -> Paths:
    paths: Paths = {}
    for name, (number, kind) in message.items():
        if _plain(name) in json_names:
            paths[json_names[_plain(name)]] = [number]
        elif kind in messages and _plain(kind).endswith(
            _plain(name)
        ):  # embedded: named as its type
            inner = _paths(messages[kind], json_names, messages)
            paths.update({field: [number, *path] for field, path in inner.items()})
    return paths


def _plain(name: str) -> str:
    """Return a name for comparison: protobuf and JSON differ in capitals and in hyphens."""
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
    """Return the messages of a generated.proto file.

    A field's type is written as [type] if it is repeated, as {type} if it is a map's value.
    """
    package, messages = "", Messages()
    message: Message = {}
    for statement in _STATEMENT.finditer(proto):
        if statement["package"]:
            package = statement["package"]
        elif statement["message"]:
            message = messages.setdefault(_short(f"{package}.{statement['message']}"), {})
        elif statement["map"]:
            kind = _type(statement["values"], package)
            message[statement["map"]] = int(statement["at"]), f"{{{kind}}}"
        else:
            kind = _type(statement["type"], package)
            shown = f"[{kind}]" if statement["label"] == "repeated" else kind
            message[statement["name"]] = int(statement["number"]), shown
    return messages


def _type(name: str, package: str) -> str:
    if name in _SCALARS:
        return _SCALARS[name]
    return _short(name[1:] if name.startswith(".") else f"{package}.{name}")


def _short(name: str) -> str:
    return _PACKAGE.sub("", name)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Generate the table of protobuf field numbers.")
    parser.add_argument("sources", help="directory with Go's packages k8s.io/api and others")
    parser.add_argument("table", help="output: harness/apiserver/serializer/protobuf.json.gz")
    return parser.parse_args()


if __name__ == "__main__":
    main(**vars(_arguments()))
