"""A stored object: its JSON, and the metadata that the store needs without decoding it.

Decoded documents are never kept: a hundred thousand dicts make Python's garbage collector stall for
hundreds of milliseconds, and in the results that looks like a scheduler that stalled.
"""

from typing import Any

import msgspec

from harness.apiserver import json_codec
from harness.apiserver.json_codec import Document


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

    @property
    def key(self) -> str:
        """The key in etcd, without the part that all objects of a resource have."""
        return f"{self.namespace}/{self.name}"

    def document(self) -> Document:
        """Return a new decoded copy."""
        document: Document = json_codec.decode(self.data)
        return document


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    resource_version: str
    namespace: str = ""
    labels: dict[str, str] | None = None
    owner_references: list[dict[str, Any]] | None = None
    deletion_timestamp: str | None = None


class _Object(msgspec.Struct):
    metadata: _Meta


_objects = msgspec.json.Decoder(_Object)


def revive(data: bytes) -> Stored:
    """Restore a stored object from its JSON; raises an error of any kind if it is malformed."""
    meta = _objects.decode(data).metadata
    return Stored(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=int(meta.resource_version),
        labels=tuple((meta.labels or {}).items()),
        owners=tuple([owner["uid"] for owner in meta.owner_references or ()]),
        deleting=meta.deletion_timestamp is not None,
        data=data,
    )


def store(document: Document, resource_version: int) -> Stored:
    """Encode a document as a stored object; sets its metadata.resourceVersion in place."""
    document["metadata"]["resourceVersion"] = str(resource_version)
    ordered = {"kind": None, "apiVersion": None, "metadata": None, **document}
    return revive(json_codec.encode(ordered))


def unstored(document: Document) -> Stored:
    """Encode the result of a dry run, which has no resourceVersion."""
    stored = store(document, 0)
    del document["metadata"]["resourceVersion"]
    return msgspec.structs.replace(stored, data=json_codec.encode(document))


def item(stored: Stored) -> bytes:
    """Return the JSON of the object as an item of a list, without `kind` and `apiVersion`."""
    return b'{"metadata":' + stored.data.partition(b',"metadata":')[2]
