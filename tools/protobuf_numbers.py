"""Extract the numbers of protobuf fields with which tests compare the embedded API server's table.

    python tools/protobuf_numbers.py /usr/bin/kubectl tests/unit/apiserver/protobuf_numbers.txt

kubectl (tried: 1.33) carries the compiled generated.proto files of the Kubernetes libraries that it was built with: each is a
FileDescriptorProto (google/protobuf/descriptor.proto), compressed by gzip. Written is a line for each message that the table knows.
The generated.proto files: Copyright The Kubernetes Authors, Apache License 2.0.
"""

import pathlib
import re
import sys
import zlib
from collections.abc import Iterator
from typing import Any

from harness.apiserver import protobuf_fields, wire

_GZIP = 16 + zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b\x08"
_SIZE_MAX = 400_000
_REPEATED = 3
_TYPES = {1: "number", 3: "int64", 5: "int32", 8: "boolean", 9: "string", 12: "bytes"}
_PACKAGE = re.compile(r"k8s\.io\.(kubernetes\.vendor\.k8s\.io\.)?(api|apimachinery\.pkg\.apis)\.")


def main(kubectl: str, target: str) -> None:
    """Read the descriptors in kubectl, write the lines of the messages that the table knows."""
    found: dict[str, str] = {}
    for file in _files(pathlib.Path(kubectl).read_bytes()):
        parts = list(wire.read(file))
        package = next(value.decode() for number, value in parts if number == 2)
        for number, value in parts:
            if number == 4:
                found.update([_message(package, value)])
    names = [line.split()[0] for line in protobuf_fields.FIELDS.strip().splitlines()]
    pathlib.Path(target).write_text("".join(f"{name} {found[name]}\n" for name in sorted(names)))


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


def _message(package: str, data: bytes) -> tuple[str, str]:
    """Its name, and its fields as `name=number:type`: [type] of what is repeated, {type} of a map's values."""
    parts = list(wire.read(data))
    name = f"{package}.{next(value.decode() for number, value in parts if number == 1)}"
    maps = {
        f".{name}.{entry[1].decode()}": values
        for entry, values in (_entry(value) for number, value in parts if number == 3)
    }
    fields = [_field(dict(wire.read(value)), maps) for number, value in parts if number == 2]
    return _short(name), " ".join(fields)


def _entry(data: bytes) -> tuple[dict[int, Any], str]:
    """A message made for a map, and the type of the map's values: its second field."""
    parts = list(wire.read(data))
    values = [dict(wire.read(value)) for number, value in parts if number == 2]
    return dict(parts), _type(values[1])


def _field(parts: dict[int, Any], maps: dict[str, str]) -> str:
    type_name = parts.get(6, b"").decode()
    shown = _type(parts)
    if type_name in maps:
        shown = f"{{{maps[type_name]}}}"
    elif parts[4] == _REPEATED:
        shown = f"[{shown}]"
    return f"{parts[1].decode()}={parts[3]}:{shown}"


def _type(parts: dict[int, Any]) -> str:
    return _TYPES.get(parts[5]) or _short(parts[6].decode())


def _short(name: str) -> str:
    return _PACKAGE.sub("", name.removeprefix("."))


if __name__ == "__main__":
    main(*sys.argv[1:])
