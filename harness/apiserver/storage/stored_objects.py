"""A stored object: its bytes as they are sent, and the little about it that the store must know without decoding.

Plain dicts are never kept: a hundred thousand of them make the garbage collector stall for hundreds of milliseconds, which in a
result looks like a scheduler that stalled.
"""

import msgspec

from harness.apiserver.codec import json_codec
from harness.apiserver.scheme.json_document import Document


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
        document: Document = json_codec.decode(self.data)
        return document


class _Owner(msgspec.Struct):
    uid: str


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    resource_version: str
    namespace: str = ""
    labels: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None
    deletion_timestamp: str | None = None


class _Object(msgspec.Struct):
    metadata: _Meta


_object_decoder = msgspec.json.Decoder(_Object)


def revive(data: bytes) -> Stored:
    """What `store` made of a document, from its bytes alone; msgspec.DecodeError when they are no object's."""
    meta = _object_decoder.decode(data).metadata
    return Stored(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=int(meta.resource_version),
        labels=tuple((meta.labels or {}).items()),
        owners=tuple([owner.uid for owner in meta.owner_references or ()]),
        deleting=meta.deletion_timestamp is not None,
        data=data,
    )


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
        data=json_codec.encode({"kind": None, "apiVersion": None, "metadata": None, **document}),
    )


def unstored(document: Document) -> Stored:
    """A document as an object that was never stored: it has no version."""
    stored = store(document, 0)
    del document["metadata"]["resourceVersion"]
    return msgspec.structs.replace(stored, data=json_codec.encode(document))


def item(stored: Stored) -> bytes:
    """The object as a list has it: without its kind and version, which the list tells."""
    return b'{"metadata":' + stored.data.partition(b',"metadata":')[2]
