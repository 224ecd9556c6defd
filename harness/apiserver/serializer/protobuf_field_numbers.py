"""The numbers of fields in Kubernetes' protobuf encoding, by the full name of the definition and the field's name in JSON.

A field has one number, or several where Go embeds a struct whose fields JSON has among those of the struct around it: they are the
numbers of the embedded messages, the field's own last. Which type a field has is in `api_types`. The data is made by
tools/protobuf_numbers.py from the generated.proto files of Kubernetes: Copyright The Kubernetes Authors, Apache License 2.0.
"""

import functools
import pkgutil
import zlib
from collections.abc import Mapping

import msgspec

_GZIP = 16 + zlib.MAX_WBITS
Paths = Mapping[str, tuple[int, ...]]


def paths(definition: str) -> Paths:
    """The numbers on the way to each field; none for a definition that has no message."""
    return _tables().get(definition, {})


def split(paths: Paths) -> tuple[dict[str, int], dict[int, Paths]]:
    """The numbers of the fields of a message itself, and by its own number what is on the way in each embedded one."""
    own = {name: path[0] for name, path in paths.items() if len(path) == 1}
    embedded: dict[int, dict[str, tuple[int, ...]]] = {}
    for name, (number, *rest) in paths.items():
        if rest:
            embedded.setdefault(number, {})[name] = tuple(rest)
    return own, dict(embedded)


@functools.cache
def _tables() -> Mapping[str, Paths]:
    data = pkgutil.get_data(__package__, "protobuf.json.gz")
    if data is None:
        raise FileNotFoundError("protobuf.json.gz")
    text = zlib.decompress(data, wbits=_GZIP)
    return msgspec.json.decode(text, type=dict[str, dict[str, tuple[int, ...]]])
