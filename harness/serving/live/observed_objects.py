"""Claims, pods and holds of a run as its recorder journals them, and what is held twice.

Only objects that exist now are kept. The verdict comes from the checks; a double allocation that
is counted here is one of two claims whose allocations name a device at the same time.
"""

from typing import Any, Literal, TypeAlias

import msgspec

from harness.checks.observed import claim_results, observed_claims
from harness.history import records
from harness.serving.live import durations

CLAIMS, PODS = "resourceclaims", "pods"


class _Meta(msgspec.Struct, frozen=True, gc=False):
    uid: str = ""
    namespace: str = ""
    name: str = ""


class _Status(msgspec.Struct, frozen=True):
    phase: Any = None
    allocation: observed_claims.Allocation | None = None


class _Object(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    status: _Status | None = None


class Seen(msgspec.Struct, frozen=True, tag_field="record", tag="observation"):
    """An Observation with those fields of its object that count here."""

    resource: str
    type: Literal["ADDED", "MODIFIED", "DELETED", "LISTED", "FINAL"]
    ts_ns: int
    object: _Object


_Record: TypeAlias = (
    Seen | records.Listed | records.Gap | records.Resumed | records.Header | records.Trailer
)
_UNREAD = observed_claims.DeviceClaim()
"""The spec of a claim, which is not read."""
decode = msgspec.json.Decoder(_Record).decode
"""Return the record of a line of the recorder's journal."""


Held: TypeAlias = dict[str, claim_results.Held]
"""`driver/pool/device` -> how a claim holds it."""


class _Life:
    """One claim or pod that exists."""

    __slots__ = ("has_reached", "held", "since_ns")

    def __init__(self, since_ns: int | None) -> None:
        self.since_ns = since_ns
        """When it was created; None: before a list."""
        self.has_reached = False
        """True if the claim was allocated, or the pod ran."""
        self.held: Held = {}
        """The devices of a claim; empty for a pod."""


class Kind:
    """The claims, or the pods, of a run."""

    def __init__(self) -> None:
        self.present: dict[str, _Life] = {}
        self.created = 0
        self.reached = 0
        """Claims that were allocated so far, or pods that ran."""
        self.waits = durations.Durations()
        """Time from the creation to that."""
        self.listing: tuple[int, list[Seen]] | None = None
        """A list that is coming: its number of objects, and those that came; None: none is."""


class ObservedObjects:
    """Folds the observations of a run."""

    def __init__(self) -> None:
        self.claims, self.pods = Kind(), Kind()
        self._kinds = {CLAIMS: self.claims, PODS: self.pods}
        self._holders: dict[str, dict[str, claim_results.Held]] = {}
        """Device -> uid of each claim that holds it, and how."""
        self.holds_open = 0
        self.allocations = 0
        """Holds that began so far."""
        self.double_allocations = 0

    def see(self, record: object) -> None:
        if isinstance(record, Seen):
            kind = self._kinds.get(record.resource)
            if kind is not None and record.type == "LISTED" and kind.listing is not None:
                kind.listing[1].append(record)
                self._end_list(kind)
            elif kind is not None and record.type != "FINAL":
                self._see_object(kind, record)
        elif isinstance(record, records.Listed) and record.purpose != "final":
            listed = self._kinds.get(record.resource)
            if listed is not None:
                listed.listing = record.count, []
                self._end_list(listed)

    def _see_object(self, kind: Kind, seen: Seen) -> None:
        uid = seen.object.metadata.uid
        if seen.type == "DELETED":
            self._forget(kind, uid)
            return
        life = kind.present.get(uid)
        if life is None:
            life = kind.present[uid] = _Life(None if seen.type == "LISTED" else seen.ts_ns)
            kind.created += 1
        if kind is self.pods:
            if seen.object.status and seen.object.status.phase == "Running":
                self._reach(kind, life, seen.ts_ns)
        else:
            self._see_allocation(uid, life, seen)

    def _reach(self, kind: Kind, life: _Life, ts_ns: int) -> None:
        """Note, once, that an object has reached its goal."""
        if not life.has_reached:
            life.has_reached = True
            kind.reached += 1
            if life.since_ns is not None:
                kind.waits.add(ts_ns - life.since_ns)

    def _see_allocation(self, uid: str, life: _Life, seen: Seen) -> None:
        now = held(seen)
        if seen.object.status is not None and seen.object.status.allocation is not None:
            self._reach(self.claims, life, seen.ts_ns)
        for device in life.held.keys() - now.keys():
            self._end_hold(device, uid)
        for device in now.keys() - life.held.keys():
            self._begin_hold(device, uid, now[device])
        life.held = now

    def _begin_hold(self, device: str, uid: str, how: claim_results.Held) -> None:
        holders = self._holders.setdefault(device, {})
        self.double_allocations += sum(conflict(how, other) for other in holders.values())
        holders[uid] = how
        self.holds_open += 1
        self.allocations += 1

    def _end_hold(self, device: str, uid: str) -> None:
        self.holds_open -= 1
        holders = self._holders[device]
        del holders[uid]
        if not holders:
            del self._holders[device]

    def _forget(self, kind: Kind, uid: str) -> None:
        life = kind.present.pop(uid, None)
        for device in life.held if life else ():
            self._end_hold(device, uid)

    def _end_list(self, kind: Kind) -> None:
        """See the objects of a list that has come whole: first what is gone, then what is new."""
        if kind.listing is None or len(kind.listing[1]) < kind.listing[0]:
            return
        came, kind.listing = kind.listing[1], None
        listed = {seen.object.metadata.uid: held(seen) for seen in came}
        for uid, life in list(kind.present.items()):
            if uid not in listed:
                self._forget(kind, uid)
                continue
            for device in life.held.keys() - listed[uid].keys():
                self._end_hold(device, uid)
                del life.held[device]
        for seen in came:
            self._see_object(kind, seen)


def held(seen: Seen) -> Held:
    """Return what a claim holds; a pod holds nothing."""
    allocation = seen.object.status.allocation if seen.object.status else None
    return claim_results.held(allocation, _UNREAD)


def conflict(one: claim_results.Held, other: claim_results.Held) -> bool:
    """Return whether one claim has a device for itself while the other one has it, too."""
    return (one.exclusive and (other.exclusive or other.shared)) or (other.exclusive and one.shared)
