"""Versions of claims and pods as the two witnesses have them, and the writes of the watch.

A state is read from the object's JSON here, for both witnesses alike, and in another way than
`hold_history` reads it.
"""

import sys
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from harness.checks.observed import folders, observations
from harness.history import records
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
    held: tuple[str, ...]
    """`driver/pool/device` of the devices of a claim's allocation, sorted."""
    node: str
    """The node of a pod; empty: none yet."""
    is_marked: bool
    """True if it has a deletion timestamp."""
    is_over: bool
    """True if it is marked and neither a finalizer nor a grace period keeps it."""
    rest: int
    """A digest of all that a binding and a label do not change, comparable within one process."""

    @property
    def text(self) -> str:
        if self.node:
            return f"on node {self.node}"
        return f"with {', '.join(self.held)}" if self.held else "without devices and node"

    def differing(self, other: "State") -> list[str]:
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
    is_creation: bool = False
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


def read_state(content: bytes | msgspec.Raw) -> State:
    """Return the state of an object; raises ObjectError if the JSON is no object of the API."""
    try:
        document = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise observations.ObjectError(str(error)) from error
    return state_of(document)


def state_of(document: Any) -> State:
    """Return the state of a decoded object; raises ObjectError if it is no object of the API."""
    try:
        return _state_of(document)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise observations.ObjectError(f"expected an object of the API ({error!r})") from error


def held(status: Mapping[str, Any]) -> tuple[str, ...]:
    allocation = status.get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    found = {
        str(devices.DeviceID(item["driver"], item["pool"], item["device"])) for item in results
    }
    return tuple(sys.intern(name) for name in sorted(found))


def _state_of(document: Mapping[str, Any]) -> State:
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


# ----------------------------------------------------------------------------- the watch
_RESOURCES = frozenset(name for _, name in RESOURCES)


class Seen(msgspec.Struct, frozen=True):
    """One observation."""

    type: str
    version: int
    """The resourceVersion of the record, which decides the order of holds."""
    state: State
    ts_ns: int
    """Monotonic time of the record."""

    @property
    def is_deletion(self) -> bool:
        """True if the object was gone with this revision."""
        return self.type == "DELETED"


class Stream(msgspec.Struct):
    """The observations of one resource."""

    first_rv: int | None = None
    """Revision of the first list; None: there is none."""
    final_rv: int | None = None
    """Revision of the final list; None: there is none."""
    gaps: list[tuple[int, int]] = []
    """Revisions that a watch missed: after the first one, up to the second one."""
    listed: list[Seen] = []
    """The objects of the first list."""
    seen: dict[int, Seen] = {}
    """revision -> the observation; of two the first."""
    final: dict[str, Seen] = {}
    """uid -> the object in the final list."""
    gap_rv: int | None = None
    """The last revision before a gap that no list has ended yet."""

    def covers(self, version: int) -> bool:
        if self.first_rv is None or self.final_rv is None:
            return False
        if not self.first_rv < version <= self.final_rv:
            return False
        return not any(after < version <= until for after, until in self.gaps)


class WatchedWrites(folders.Folder):
    """The observations of all compared resources."""

    def __init__(self, told: Mapping[str, Mapping[int, Write]] | None = None) -> None:
        """`told` are the writes in the audit log, by resource and revision.

        An observation that is the same byte for byte is not decoded again.
        """
        self._told = told or {}
        self.streams = {name: Stream() for name in sorted(_RESOURCES)}

    def see_any(self, seen: observations.SeenAny) -> None:
        stream = self.streams.get(seen.resource)
        if stream is None:
            return
        noted = self._noted(seen)
        if seen.type == "LISTED" and seen.version <= (stream.first_rv or 0):
            stream.listed.append(noted)
        else:
            stream.seen.setdefault(seen.version, noted)

    def see_final(self, seen: observations.SeenAny) -> None:
        if seen.resource in self.streams:
            noted = self._noted(seen)
            self.streams[seen.resource].final[noted.state.uid] = noted

    def see_gap(self, gap: records.Gap) -> None:
        if gap.resource in self.streams:
            self.streams[gap.resource].gap_rv = gap.after_resource_version

    def see_list(self, listed: records.Listed) -> None:
        stream, version = self.streams.get(listed.resource), listed.resource_version
        if stream is None:
            return
        if listed.purpose == "first":
            stream.first_rv = version
        elif listed.purpose == "final":
            stream.final_rv = version
        elif stream.gap_rv is not None:
            stream.gaps.append((stream.gap_rv, version))
            stream.gap_rv = None

    def _noted(self, seen: observations.SeenAny) -> Seen:
        told = self._told.get(seen.resource, {}).get(seen.version)
        is_same = told is not None and told.content == digest(seen.content)
        state = told.state if told and is_same else read_state(seen.content)
        return Seen(seen.type, seen.version, state, seen.ts_ns)
