"""Field numbers of Kubernetes' protobuf encoding, by OpenAPI definition and JSON field name.

The path of a field is its number. A field of an embedded Go struct, which JSON inlines, has a
longer path: the numbers of the embedded messages, then its own. `api_types` has the types of the
fields. tools/protobuf_numbers.py generates the data from the generated.proto files of Kubernetes:
Copyright The Kubernetes Authors, Apache License 2.0.
"""

import functools
import pkgutil
import zlib
from collections.abc import Mapping

import msgspec

_GZIP = 16 + zlib.MAX_WBITS
Paths = Mapping[str, tuple[int, ...]]


def paths(definition: str) -> Paths:
    """Return the path of each field of a definition; empty if the definition has no message."""
    return _tables().get(definition, {})


def split(paths: Paths) -> tuple[dict[str, int], dict[int, Paths]]:
    """Return a message's own fields with their numbers, and the paths in each embedded message.

    Embedded messages are keyed by their number.
    """
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
