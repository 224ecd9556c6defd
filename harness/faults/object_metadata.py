"""The identity of the object in a request, response or watch event, in JSON or protobuf.

Only what records of faults show is read: name, namespace, uid and resourceVersion. A field that
cannot be read is empty: carriers do not judge what they pass.
"""

import gzip
import zlib

import msgspec

from harness import protobuf_wire

MAGIC = b"k8s\x00"
"""The first bytes of an object in protobuf, before its envelope (`runtime.Unknown`)."""


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """The metadata of one object; of a list, only its version."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def version(self) -> int:
        """The resourceVersion as an integer, 0 if it is unknown."""
        return int(self.resource_version) if self.resource_version.isdecimal() else 0


class _Object(msgspec.Struct, frozen=True):
    metadata: Metadata = Metadata()


UNKNOWN = Metadata()
_decoder = msgspec.json.Decoder(_Object)
_TYPE_META, _RAW = 1, 2
"""Fields of an envelope."""
_API_VERSION, _KIND = 1, 2
"""Fields of its TypeMeta."""
_METADATA = 1
"""Field of every object and list."""
_FIELDS = {"name": 1, "namespace": 3, "uid": 5, "resource_version": 6}
"""Fields of an ObjectMeta."""
_FIELDS_OF_LISTS = {"resource_version": 2}
"""Fields of a ListMeta."""


def of_body(body: bytes | None, *, content_encoding: str = "") -> Metadata | None:
    try:
        if content_encoding == "gzip":
            body = gzip.decompress(body or b"")
        if (body := body or b"").startswith(MAGIC):
            return of_envelope(body)
        return _decoder.decode(body).metadata
    except (msgspec.MsgspecError, ValueError, OSError, EOFError, RecursionError, zlib.error):
        return None


def of_envelope(data: bytes) -> Metadata:
    """Return the metadata of the object in a protobuf envelope. Raises ValueError."""
    envelope = protobuf_wire.parts(data.removeprefix(MAGIC))
    kind = protobuf_wire.first(envelope.get(_TYPE_META, b""), _KIND).decode()
    if kind == "Status":
        return UNKNOWN
    meta = protobuf_wire.parts(protobuf_wire.first(envelope.get(_RAW, b""), _METADATA))
    fields = _FIELDS_OF_LISTS if kind.endswith("List") else _FIELDS
    return Metadata(**{name: meta.get(number, b"").decode() for name, number in fields.items()})


def envelope(api_version: str, kind: str, message: bytes) -> bytes:
    named = protobuf_wire.field(_API_VERSION, api_version) + protobuf_wire.field(_KIND, kind)
    return MAGIC + protobuf_wire.field(_TYPE_META, named) + protobuf_wire.field(_RAW, message)
