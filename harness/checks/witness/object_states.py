"""One version of a claim or pod, as far as the two witnesses are compared.

Read from the object's JSON here, for both witnesses alike, and in another way than `hold_history`
reads it.
"""

import struct
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from harness.model import devices

_UNSTABLE = ("managedFields", "resourceVersion", "selfLink")
"""Metadata that an audit policy may omit, and the version, which is compared by itself."""
_DELETION = ("deletionTimestamp", "deletionGracePeriodSeconds", "finalizers", "generation")
_MARKS = ("labels", "annotations")
_PROGRESS = ("conditions", "nominatedNodeName")
IDENTITY, DELETION, MARKS, SPEC, STATUS, PROGRESS = range(6)
"""Pieces of an object: the other metadata; what a deletion changes; labels and annotations; the
spec without the node; the other status; what a binding or an eviction changes in the status."""
PARTS = ("metadata", "metadata", "metadata", "spec", "status", "status")
"""The part of the object to which each piece belongs."""


FORM = "resource.k8s.io/v1"
"""The version of the API in which claims are compared."""
_FORMS = {f"resource.k8s.io/{version}": FORM for version in ("v1alpha3", "v1beta1", "v1beta2")}
"""Versions in which an older program writes claims -> the one that has the same fields."""
_EXACT = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)
"""Fields that a request has in v1alpha3 and v1beta1, and its `exactly` in later versions."""
_DIGESTS = struct.Struct(f"={len(PARTS)}q")


class ObjectError(ValueError):
    """A document that is no object of the API."""


class State(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A version of an object."""

    uid: str
    namespace: str
    name: str
    version: int
    """Its resourceVersion."""
    form: str
    """`apiVersion`, of claims the one in which they are compared; empty for an item of a list."""
    digests: bytes
    """A digest of each piece, eight bytes each, comparable within one process only."""
    held: tuple[str, ...] = ()
    """`driver/pool/device` of the devices of a claim's allocation, sorted."""
    node: str = ""
    """The node of a pod; empty: none yet."""
    is_marked: bool = False
    """True if it has a deletion timestamp."""
    is_over: bool = False
    """True if it is marked and neither a finalizer nor a grace period keeps it."""

    @property
    def text(self) -> str:
        if self.node:
            return f"on node {self.node}"
        return f"with {', '.join(self.held)}" if self.held else "without devices and node"

    def differing(self, other: "State") -> list[str]:
        """Return the names of the parts that differ; none of another API version is compared."""
        if self.form and other.form and self.form != other.form:
            return [] if (self.held, self.node) == (other.held, other.node) else ["status"]
        node = ["spec"] if self.node != other.node else []
        return list(dict.fromkeys([*self.changed(other), *node]))

    def changed(self, other: "State", *, but: Collection[int] = ()) -> list[str]:
        """Return the names of the parts with a differing piece, except these and the node."""
        if self.digests == other.digests:
            return []
        differing = (
            piece for piece in range(len(PARTS)) if self.piece(piece) != other.piece(piece)
        )
        return list(dict.fromkeys(PARTS[piece] for piece in differing if piece not in but))

    def piece(self, number: int) -> bytes:
        """Return the digest of a piece."""
        return self.digests[8 * number : 8 * number + 8]


def digest(content: bytes | msgspec.Raw) -> int:
    """Return a digest of the bytes of an object, comparable within one process only."""
    return hash(bytes(content))


def read(content: bytes | msgspec.Raw) -> State:
    """Return the state of an object; raises ObjectError if the JSON is no object of the API."""
    try:
        document = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ObjectError(str(error)) from error
    return of(document)


def of(document: Any) -> State:
    """Return the state of a decoded object; raises ObjectError if it is no object of the API."""
    try:
        return _of(document)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ObjectError(f"expected an object of the API ({error!r})") from error


def _of(document: Mapping[str, Any]) -> State:
    meta = dict(document["metadata"])
    is_marked = meta.get("deletionTimestamp") is not None
    return State(
        uid=sys.intern(str(meta["uid"])),
        namespace=sys.intern(str(meta.get("namespace") or "")),
        name=sys.intern(str(meta["name"])),
        version=_version(meta["resourceVersion"]),
        form=_form(document),
        digests=_DIGESTS.pack(*map(_digest, _pieces(document))),
        held=_held(document.get("status") or {}),
        node=sys.intern(str((document.get("spec") or {}).get("nodeName") or "")),
        is_marked=is_marked,
        is_over=is_marked
        and not meta.get("finalizers")
        and not meta.get("deletionGracePeriodSeconds"),
    )


def _pieces(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    meta, status = document["metadata"], document.get("status") or {}
    yield _without((*_UNSTABLE, *_DELETION, *_MARKS), meta)
    yield _only(_DELETION, meta)
    yield _only(_MARKS, meta)
    yield _without(("nodeName",), nested(document.get("spec") or {}))
    yield _without(_PROGRESS, status)
    yield _only(_PROGRESS, status)


def _form(document: Mapping[str, Any]) -> str:
    form = str(document.get("apiVersion") or "")
    return sys.intern(_FORMS.get(form, form))


def nested(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the spec of an object; that of a claim as FORM has it."""
    devices_ = spec.get("devices")
    if not isinstance(devices_, Mapping) or not devices_.get("requests"):
        return spec
    requests = [_nested_request(item) for item in devices_["requests"]]
    return {**spec, "devices": {**devices_, "requests": requests}}


def _nested_request(request: Mapping[str, Any]) -> Mapping[str, Any]:
    if "exactly" in request or "firstAvailable" in request:
        return request
    exactly = {key: value for key, value in request.items() if key in _EXACT and value is not None}
    return {**_without(_EXACT, request), "exactly": exactly} if exactly else request


def _only(keys: Collection[str], value: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value[key] for key in keys if key in value}


def _without(keys: Collection[str], value: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: item for key, item in value.items() if key not in keys}


def _version(text: Any) -> int:
    version = int(text)
    if not 0 <= version < 2**62:
        raise ValueError("a resourceVersion beyond reason")
    return version


def _digest(piece: Mapping[str, Any]) -> int:
    return hash(msgspec.json.encode(piece, order="deterministic")) if piece else 0


def _held(status: Mapping[str, Any]) -> tuple[str, ...]:
    allocation = status.get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    found = {
        str(devices.DeviceID(item["driver"], item["pool"], item["device"])) for item in results
    }
    return tuple(sys.intern(name) for name in sorted(found))
