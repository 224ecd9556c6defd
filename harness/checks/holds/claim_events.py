"""The versions of claims as columns, so that a million of them are no million objects.

A grant is what a claim asked for together with what it got. Most claims come from templates, so
there are far fewer grants than allocations: equal ones are kept once, and what depends on the grant
alone is judged once.
"""

import array
import dataclasses
from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from harness.checks import verdicts
from harness.checks.observed import folders, observations, observed_claims

Integers = npt.NDArray[np.int64]
Pods: TypeAlias = tuple[str, ...]
"""The names of pods, sorted."""
_PODS = observations.PODS
PARTS_MAX = 2**14
"""Grants that are kept by the identity of their parts; when there are more, all are forgotten."""
VANISHED = -1
"""Content of a claim that was not observed, but missing in a list after a gap."""
_NOTHING, _VANISHED = 0, 1
"""Entries of claims that have nothing allocated."""


Quantities = tuple[tuple[str, str], ...]
"""Name and quantity of capacities."""


class Share(msgspec.Struct, frozen=True):
    """A share of a device."""

    written: Quantities = ()
    """Its consumption, as the scheduler wrote it."""
    asked: Quantities | None = None
    """The quantities that its request asks for; None: the claim has no such request."""


class Held(msgspec.Struct, frozen=True):
    """How a claim holds a device. With admin access alone, neither exclusively nor by a share."""

    exclusive: bool = False
    """The claim has the device for itself."""
    shared: bool = False
    """The claim has a share of the device; other claims may have others."""
    shares: tuple[Share, ...] = ()

    def joined(self, other: "Held") -> "Held":
        """Return how the device is held by two results together."""
        return Held(
            self.exclusive or other.exclusive,
            self.shared or other.shared,
            self.shares + other.shares,
        )


_NOT = Held()
EXCLUSIVE = Held(exclusive=True)


def held(
    allocation: observed_claims.Allocation | None, asked: observed_claims.DeviceClaim
) -> dict[str, Held]:
    """Return `driver/pool/device` -> how it is held, for an allocation; None holds nothing.

    A device with several results is exclusive if one of them is.
    """
    found: dict[str, Held] = {}
    if allocation is not None and len(allocation.devices.results) == 1:
        [item] = allocation.devices.results
        return {item.id: _held_by(item, asked)}
    for item in allocation.devices.results if allocation else []:
        how = _held_by(item, asked)
        found[item.id] = found[item.id].joined(how) if item.id in found else how
    return found


def _held_by(item: observed_claims.AllocationResult, asked: observed_claims.DeviceClaim) -> Held:
    if item.is_exclusive:
        return EXCLUSIVE
    if item.admin_access:
        return _NOT
    request = asked.option(item.request)
    wanted = None if request is None else tuple(request.quantities.items())
    return Held(shared=True, shares=(Share(tuple((item.consumed_capacity or {}).items()), wanted),))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Grant:
    """The spec of a claim, and an allocation for it; share IDs are those of the first one."""

    spec: observed_claims.DeviceClaim
    allocation: observed_claims.Allocation

    @property
    def results(self) -> list[observed_claims.AllocationResult]:
        return self.allocation.devices.results


class Life(verdicts.Named, msgspec.Struct):
    """Milestones of one object, in the recorder's time; for figures, never for verdicts."""

    uid: str
    namespace: str
    name: str
    number: int
    """Number of objects of its resource that were seen before it."""
    seen_rv: int
    seen_ns: int
    ready_rv: int | None = None
    ready_ns: int | None = None
    """First version of a claim with devices, of a pod `Running`; None: never."""
    node: str = ""
    bound_ns: int | None = None
    """First version of a pod with a node; None: never, or it is a claim."""
    gone_rv: int | None = None
    gone_ns: int | None = None

    @property
    def waited_ns(self) -> int | None:
        """Nanoseconds until ready; None if never ready or if the clock went back."""
        return self._until(self.ready_ns)

    @property
    def until_bound_ns(self) -> int | None:
        """Nanoseconds until bound; None if never bound or if the clock went back."""
        return self._until(self.bound_ns)

    def _until(self, ts_ns: int | None) -> int | None:
        return None if ts_ns is None or ts_ns < self.seen_ns else ts_ns - self.seen_ns


@dataclasses.dataclass(frozen=True, slots=True)
class Columns:
    """One element for each version of a claim: those of a claim follow each other."""

    event: Integers
    """Number of the version in the order in which all were observed."""
    claim: npt.NDArray[np.int32]
    """Number of the claim."""
    grant: npt.NDArray[np.int32]
    """Index of its grant; -1: it has nothing allocated, or is gone."""
    content: Integers
    """Digest of its allocation with share IDs; 0: it has none; or VANISHED."""


class ClaimEvents:
    """The versions of all claims, in the order in which they were observed."""

    def __init__(self) -> None:
        self.grants: list[Grant] = []
        self.user_names: list[Pods] = [()]
        """The different users that claims have had."""
        self._columns: tuple[array.array[int], ...] = tuple(array.array(kind) for kind in "iqqii")
        """Number of the claim, version, time, entry, and index of its users, of each event."""
        self._deleted = array.array("i")
        """Numbers of the events in which claims were deleted; they are in their last state."""
        self._ends: dict[int, int] = {}
        """Number of an event -> the version at which what it ends may have ended already."""
        self._grants_of_entries = array.array("i", [-1, -1])
        self._contents = array.array("q", [0, VANISHED])
        """The grant and the digest of the allocation of each entry."""
        self._known: dict[tuple[int, int], int] = {}
        """Identities of a spec and an allocation -> their entry."""
        self._kept: list[Grant] = []
        """These specs and allocations, so that they stay the only ones with their identities."""
        self._numbers: dict[bytes, int] = {}
        """The number of each grant, by its content."""
        self._users_known: dict[Pods, int] = {(): 0}

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, claims: list[int], batch: folders.Batch) -> None:
        """Add versions, with the numbers of their claims."""
        seen, known = batch.seen, self._known
        if "DELETED" in batch.types:
            self._deleted.extend(at for at, it in enumerate(seen, len(self)) if it.is_gone)
        entries, users = [], []
        for item in seen:
            claim = item.object
            allocation = claim.status.allocation
            if allocation is None:
                entries.append(_NOTHING)
                users.append(0)
            else:
                spec = claim.spec.devices
                entry = known.get((id(spec), id(allocation)))
                entries.append(entry or self._entry(Grant(spec, allocation)))
                users.append(self._users_of(claim.status.reserved_for or ()))
        self._extend(claims, batch.versions, [item.ts_ns for item in seen], entries, users)

    def vanish(self, claim: int, rv: int, ts_ns: int) -> None:
        """Note that a claim was gone in a gap, at `rv` or later."""
        self._extend([claim], [rv], [ts_ns], [_VANISHED], [0])

    def _extend(self, *columns: list[int]) -> None:
        for known, more in zip(self._columns, columns, strict=True):
            known.fromlist(more)  # faster than `extend`

    def end_at(self, rv: int) -> None:
        """Note that what the newest version ends may have ended at an earlier one, in a gap."""
        self._ends[len(self) - 1] = rv

    # ------------------------------------------------------------------------ reading

    def columns(self) -> Columns:
        claims = np.asarray(self._columns[0])
        order = np.argsort(claims, kind="stable")
        entries = self._left_entries()[order]
        grants, contents = map(np.asarray, (self._grants_of_entries, self._contents))
        return Columns(order, claims[order], grants[entries], contents[entries])

    def _left_entries(self) -> npt.NDArray[np.int32]:
        """Return what each event leaves its claim with: nothing, if it was deleted."""
        entries = np.array(self._columns[3], np.int32)
        entries[np.asarray(self._deleted)] = _NOTHING
        return entries

    def observed(self) -> tuple[npt.NDArray[np.int32], Integers, npt.NDArray[np.int32]]:
        """Return claim, version and grant of all versions that were observed; see `Columns`."""
        claims, versions, _, entries, _ = map(np.asarray, self._columns)
        seen = entries != _VANISHED
        grants = np.asarray(self._grants_of_entries)[entries[seen]]
        return claims[seen], versions[seen], grants

    def last_grants(self) -> dict[int, Grant]:
        """Return the newest grant of each claim that has had one, by its number."""
        grants = np.asarray(self._grants_of_entries)[self._left_entries()]
        has = grants >= 0
        claims = np.asarray(self._columns[0])[has]
        last = dict(zip(claims.tolist(), grants[has].tolist(), strict=True))
        return {claim: self.grants[number] for claim, number in last.items()}

    def begins(self, events: Integers) -> tuple[Integers, Integers]:
        _, versions, times_ns, _, _ = map(np.asarray, self._columns)
        return versions[events], times_ns[events]

    def ends(self, events: Integers) -> tuple[Integers, Integers]:
        """Return the versions at which what these events end may have ended, and the times."""
        _, versions, times_ns, _, _ = map(np.asarray, self._columns)
        versions = versions.copy()
        versions[list(self._ends)] = list(self._ends.values())
        return versions[events], times_ns[events]

    def users_at(self, events: Integers) -> npt.NDArray[np.int32]:
        """Return the indexes within `user_names` of the pods that claims were reserved for."""
        found: npt.NDArray[np.int32] = np.asarray(self._columns[-1])[events]
        return found

    # ------------------------------------------------------------------------ entries

    def _entry(self, grant: Grant) -> int:
        if len(self._kept) >= PARTS_MAX:
            self._known.clear()
            self._kept.clear()
        self._kept.append(grant)
        number = self._numbers.setdefault(_content(grant), len(self.grants))
        if number == len(self.grants):
            self.grants.append(grant)
        entry = self._known[id(grant.spec), id(grant.allocation)] = len(self._contents)
        self._grants_of_entries.append(number)
        self._contents.append(hash(msgspec.json.encode(grant.allocation, order="sorted")))
        return entry

    def _users_of(self, reserved: Sequence[observed_claims.Consumer]) -> int:
        if not reserved:
            return 0
        if len(reserved) == 1 and reserved[0].resource == _PODS:
            names: Pods = (reserved[0].name,)
        else:
            names = tuple(sorted({item.name for item in reserved if item.resource == _PODS}))
        code = self._users_known.setdefault(names, len(self.user_names))
        if code == len(self.user_names):
            self.user_names.append(names)
        return code


def _content(grant: Grant) -> bytes:
    """Return what distinguishes grants: everything but which share IDs there are.

    Two results with the same share ID differ from two with different ones.
    """
    allocation = grant.allocation
    if any(result.share for result in grant.results):
        numbers: dict[str, str] = {}
        results = [
            msgspec.structs.replace(
                result, share=result.share and numbers.setdefault(result.share, str(len(numbers)))
            )
            for result in grant.results
        ]
        devices = msgspec.structs.replace(allocation.devices, results=results)
        allocation = msgspec.structs.replace(allocation, devices=devices)
    return msgspec.json.encode((grant.spec, allocation))
