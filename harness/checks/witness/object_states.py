"""One version of a claim or pod, as far as the two witnesses are compared.

Read from the object's JSON here, for both witnesses alike, and in another way than `hold_history`
reads it.
"""

import sys
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from harness.checks.observed import observations
from harness.model import devices

RESOURCES = {("resource.k8s.io", "resourceclaims"), ("", "pods")}
"""API groups and plural names of the resources whose writes are compared."""
_UNSTABLE = ("managedFields", "resourceVersion", "selfLink")
"""Metadata that an audit policy may omit, and the version, which is compared by itself."""
_MARKS = ("labels", "annotations")
_BOUND = ("conditions", "nominatedNodeName")
"""Conditions and times that a binding changes beside the node."""


class State(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A version of an object."""

    uid: str
    namespace: str
    name: str
    version: int
    """Its resourceVersion."""
    held: tuple[str, ...] = ()
    """`driver/pool/device` of the devices of a claim's allocation, sorted."""
    node: str = ""
    """The node of a pod; empty: none yet."""
    is_marked: bool = False
    """True if it has a deletion timestamp."""
    is_over: bool = False
    """True if it is marked and neither a finalizer nor a grace period keeps it."""
    rest: int = 0
    """A digest of all that a binding and a label do not change, comparable within one process."""

    @property
    def text(self) -> str:
        if self.node:
            return f"on node {self.node}"
        return f"with {', '.join(self.held)}" if self.held else "without devices and node"

    def differing(self, other: "State") -> list[str]:
        """Return the names of the parts that differ: in the deletion, the node, the devices."""
        differs = {
            "metadata": self.is_marked != other.is_marked,
            "spec": self.node != other.node,
            "status": self.held != other.held,
        }
        return [part for part, is_other in differs.items() if is_other]

    def says_more(self, other: "State") -> bool:
        return self.rest != other.rest or bool(self.differing(other))


class Write(msgspec.Struct, frozen=True):
    """A write whose answer has the object and its revision."""

    resource: str
    state: State
    is_deletion: bool = False
    """True if the object was gone with this revision."""
    content: int = 0
    """A digest of the answer, comparable within one process only."""
    received: str = ""
    answered: str = ""
    """Times of the request and of its answer on the server's clock, as the log has them."""
    is_marking: bool = False
    """True for the answer to a graceful deletion: one that came second wrote nothing, and is
    answered with the object of before, marked."""

    def may_be_none(self, stored: State) -> bool:
        """Return whether this answer wrote nothing, if its revision stored this state."""
        is_first = self.is_marking and not stored.is_marked
        return is_first and self.state.differing(stored) == ["metadata"]


def digest(content: bytes | msgspec.Raw) -> int:
    """Return a digest of the bytes of an object, comparable within one process only."""
    return hash(bytes(content))


def read(content: bytes | msgspec.Raw) -> State:
    """Return the state of an object; raises ObjectError if the JSON is no object of the API."""
    try:
        document = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise observations.ObjectError(str(error)) from error
    return of(document)


def of(document: Any) -> State:
    """Return the state of a decoded object; raises ObjectError if it is no object of the API."""
    try:
        return _of(document)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise observations.ObjectError(f"expected an object of the API ({error!r})") from error


def held(status: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the devices of the allocation in the status of a claim."""
    allocation = status.get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    found = {
        str(devices.DeviceID(item["driver"], item["pool"], item["device"])) for item in results
    }
    return tuple(sys.intern(name) for name in sorted(found))


def _of(document: Mapping[str, Any]) -> State:
    meta, spec = dict(document["metadata"]), document.get("spec") or {}
    status = document.get("status") or {}
    is_marked = meta.get("deletionTimestamp") is not None
    is_kept = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
    rest = (
        _without((*_UNSTABLE, *_MARKS), meta),
        _without(("nodeName",), spec),
        _without(_BOUND, status),
    )
    return State(
        uid=sys.intern(str(meta["uid"])),
        namespace=sys.intern(str(meta.get("namespace") or "")),
        name=sys.intern(str(meta["name"])),
        version=_version(meta["resourceVersion"]),
        held=held(status),
        node=sys.intern(str(spec.get("nodeName") or "")),
        is_marked=is_marked,
        is_over=is_marked and not is_kept,
        rest=hash(msgspec.json.encode(rest, order="deterministic")),
    )


def _without(keys: Collection[str], value: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: item for key, item in value.items() if key not in keys}


def _version(text: Any) -> int:
    version = int(text)
    if not 0 <= version < 2**62:
        raise ValueError("a resourceVersion beyond reason")
    return version
