"""Make the table of protobuf field numbers of the embedded API server.

    python tools/protobuf_numbers.py KUBECTL harness/apiserver/protobuf.json.gz tests/unit/apiserver/protobuf_messages.txt.gz

A kubectl before 1.35 (tried: 1.33) carries the compiled generated.proto files of the Kubernetes libraries that it was built with: each
is a FileDescriptorProto (google/protobuf/descriptor.proto), compressed by gzip. What is newer, or not in kubectl, was read in the
generated.proto files of Kubernetes (protobuf_additions.txt). A number once released never changes.

Written are the server's table (for each OpenAPI definition its fields, and the numbers on the way to each: two where Go embeds a
struct that JSON inlines), and all messages with their types as lines of text, with which tests judge what the server makes of the table.
Fields of served kinds that have no number are printed. The generated.proto files: Copyright The Kubernetes Authors, Apache License 2.0.
"""

import gzip
import json
import pathlib
import re
import sys
import zlib
from collections.abc import Iterator
from typing import Any

from harness.apiserver import resources, schemas, wire

Message = dict[str, tuple[int, str]]
Messages = dict[str, Message]
Paths = dict[str, list[int]]

_GZIP = 16 + zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b\x08"
_SIZE_MAX = 400_000
_REPEATED = 3
_TYPES = {1: "number", 3: "int64", 5: "int32", 8: "boolean", 9: "string", 12: "bytes"}
_PACKAGE = re.compile(r"k8s\.io\.(kubernetes\.vendor\.k8s\.io\.)?(api|apimachinery\.pkg\.apis)\.")
_DEFINITION = re.compile(r"io\.k8s\.(api|[a-z-]+\.pkg\.apis)\.")
_ADDITIONS = pathlib.Path(__file__).with_name("protobuf_additions.txt")
_NAMED_OTHERWISE = {"$ref": "ref", "$schema": "schema"}
_OTHERS = ("DeleteOptions", "Status", "WatchEvent")


def main(kubectl: str, table: str, messages: str) -> None:
    """Read the descriptors in kubectl and the additions, write the two files."""
    found = _descriptors(pathlib.Path(kubectl).read_bytes())
    for line in _ADDITIONS.read_text().splitlines():
        if not line.startswith("#"):
            _add(found, line.split())
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


def _served() -> Iterator[schemas.Type]:
    for item in (*resources.ALL, *resources.OPTIONAL):
        yield schemas.of(item)
        if "list" in item.verbs:
            yield schemas.of_kind(item.group, item.version, f"{item.kind}List")
        for part in map(item.subresource, item.subresources):
            group, version = part.group or item.group, part.version or item.version
            if not part.kind.endswith("Options"):
                yield schemas.of_kind(group, version, part.kind)
    yield from (schemas.of_kind("", "v1", kind) for kind in _OTHERS)


def _collect(kind: schemas.Type, messages: Messages, made: dict[str, Paths]) -> None:
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


# ------------------------------------------------------------------ additions


def _add(found: Messages, words: list[str]) -> None:
    if words[0] == "copy":
        _, source, target = words
        copied = {name: made for name, made in found.items() if name.startswith(f"{source}.")}
        for name, message in copied.items():
            fields = {
                field: (at, kind.replace(source, target)) for field, (at, kind) in message.items()
            }
            found.setdefault(name.replace(source, target), fields)
        return
    name, *fields_added = words
    message = found.setdefault(name, {})
    for text in fields_added:
        field, number, kind = text.replace("=", ":", 1).split(":")
        message[field] = int(number), kind


# ------------------------------------------------------------------ descriptors


def _descriptors(binary: bytes) -> Messages:
    found: Messages = {}
    for file in _files(binary):
        parts = list(wire.read(file))
        package = next(value.decode() for number, value in parts if number == 2)
        found.update(_message(package, value) for number, value in parts if number == 4)
    return found


def _files(binary: bytes) -> Iterator[bytes]:
    """Every compressed descriptor of a file of Kubernetes."""
    for match in re.finditer(re.escape(_GZIP_MAGIC), binary):
        unzip = zlib.decompressobj(_GZIP)
        try:
            data = unzip.decompress(binary[match.start() : match.start() + _SIZE_MAX])
        except zlib.error:
            continue
        if unzip.eof and b"k8s.io/api" in data[:100]:
            yield data


def _message(package: str, data: bytes) -> tuple[str, Message]:
    """Its name, and its fields with numbers and types: [type] of what is repeated, {type} of a map's values."""
    parts = list(wire.read(data))
    name = f"{package}.{next(value.decode() for number, value in parts if number == 1)}"
    maps = {
        f".{name}.{entry[1].decode()}": values
        for entry, values in (_entry(value) for number, value in parts if number == 3)
    }
    fields = dict(_field(dict(wire.read(value)), maps) for number, value in parts if number == 2)
    return _short(name), fields


def _entry(data: bytes) -> tuple[dict[int, Any], str]:
    """A message made for a map, and the type of the map's values: its second field."""
    parts = list(wire.read(data))
    values = [dict(wire.read(value)) for number, value in parts if number == 2]
    return dict(parts), _type(values[1])


def _field(parts: dict[int, Any], maps: dict[str, str]) -> tuple[str, tuple[int, str]]:
    type_name = parts.get(6, b"").decode()
    shown = _type(parts)
    if type_name in maps:
        shown = f"{{{maps[type_name]}}}"
    elif parts[4] == _REPEATED:
        shown = f"[{shown}]"
    return parts[1].decode(), (parts[3], shown)


def _type(parts: dict[int, Any]) -> str:
    return _TYPES.get(parts[5]) or _short(parts[6].decode())


def _short(name: str) -> str:
    return _PACKAGE.sub("", name.removeprefix("."))


if __name__ == "__main__":
    main(*sys.argv[1:])
