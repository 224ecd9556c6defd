"""A stored object: its bytes as they are sent, and the little about it that the store must know without decoding.

Plain dicts are never kept: a hundred thousand of them make the garbage collector stall for hundreds of milliseconds, which in a
result looks like a scheduler that stalled.
"""

from typing import Any

import msgspec

Document = dict[str, Any]
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


class Stored(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One version of one object."""

    namespace: str
    name: str
    uid: str
    resource_version: int
    labels: tuple[tuple[str, str], ...]
    owners: tuple[str, ...]
    """The uids of its owners."""
    deleting: bool
    data: bytes

    def document(self) -> Document:
        """A fresh, decoded copy."""
        document: Document = _decoder.decode(self.data)
        return document


def encode(document: object) -> bytes:
    """Exact-size JSON bytes."""
    return _encoder.encode(document)


def decode(data: bytes) -> Any:
    """Decoded JSON; msgspec.DecodeError or UnicodeDecodeError for what is not JSON."""
    return _decoder.decode(data)


def store(document: Document, resource_version: int) -> Stored:
    """A document as an object of the store at this version; metadata.resourceVersion is set."""
    meta = document["metadata"]
    meta["resourceVersion"] = str(resource_version)
    return Stored(
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        uid=meta["uid"],
        resource_version=resource_version,
        labels=tuple((meta.get("labels") or {}).items()),
        owners=tuple(owner["uid"] for owner in meta.get("ownerReferences") or []),
        deleting="deletionTimestamp" in meta,
        data=encode(document),
    )
