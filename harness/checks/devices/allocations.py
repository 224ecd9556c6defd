"""The allocations of a run, in columns; equal ones are kept once, as a grant.

A grant is what a claim asked for together with what it got. Most claims come from templates, so
there are far fewer grants than allocations, and what depends on the grant alone is judged once.
"""

import array
import dataclasses
from typing import NamedTuple

import msgspec

from harness.checks.observed import (
    folders,
    interning,
    observations,
    observed_claims,
    observed_metadata,
)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Grant:
    """The spec of a claim, and an allocation for it; share IDs are those of the first one."""

    spec: observed_claims.DeviceClaim
    allocation: observed_claims.Allocation

    @property
    def results(self) -> list[observed_claims.AllocationResult]:
        """The allocated devices."""
        return self.allocation.devices.results


class ClaimName(NamedTuple):
    """The claim of an allocation."""

    namespace: str
    name: str
    uid: str


class Allocations(folders.Folder):
    """All allocations, in the order in which they were observed.

    An allocation that changes in place counts as another one.
    """

    def __init__(self) -> None:
        self.grants: list[Grant] = []
        self.claims: list[ClaimName] = []
        """Of each allocation, as in all columns that follow."""
        self.grant_numbers = array.array("q")
        """Indexes of `grants`."""
        self.versions = array.array("q")
        """The resourceVersion that allocated."""
        self.times_ns = array.array("q")
        """Monotonic times of the recorder."""
        self._numbers: dict[bytes, int] = {}
        """The number of each grant, by its content."""
        self._recent: dict[tuple[int, int], tuple[Grant, int]] = {}
        """Identities of a spec and an allocation -> their grant and its number."""
        self._current: dict[str, observed_claims.Allocation] = {}
        """By the uid of each claim that is allocated."""
        self._names: dict[str, ClaimName] = {}
        """By the uid of each claim that was allocated and is not deleted."""

    def __len__(self) -> int:
        return len(self.claims)

    def see_claim(self, seen: observations.SeenClaim) -> None:
        """Note the allocation of a version of a claim, if it is another one than before."""
        claim = seen.object
        uid, allocation = claim.metadata.uid, claim.status.allocation
        if allocation is None or seen.type == "DELETED":
            self._current.pop(uid, None)
            if seen.type == "DELETED":
                self._names.pop(uid, None)
            return
        if self._current.get(uid) == allocation:
            return
        self._current[uid] = allocation
        self.claims.append(self._name(claim.metadata))
        self.grant_numbers.append(self._recent_number(claim.spec.devices, allocation))
        self.versions.append(seen.version)
        self.times_ns.append(seen.ts_ns)

    def _name(self, meta: observed_metadata.Meta) -> ClaimName:
        """Return the name of a claim; one object for all its allocations."""
        known = self._names.get(meta.uid)
        if known is None or known.name != meta.name or known.namespace != meta.namespace:
            known = self._names[meta.uid] = ClaimName(meta.namespace, meta.name, meta.uid)
        return known

    def _recent_number(
        self, spec: observed_claims.DeviceClaim, allocation: observed_claims.Allocation
    ) -> int:
        """Return the number of a grant, without its content if the very same parts came before."""
        key = id(spec), id(allocation)
        known = self._recent.get(key)
        if known is None:
            if len(self._recent) >= interning.PARTS_MAX:
                self._recent.clear()
            grant = Grant(spec, allocation)
            known = self._recent[key] = grant, self._number(grant)
        return known[1]

    def _number(self, grant: Grant) -> int:
        key = _content(grant)
        number = self._numbers.setdefault(key, len(self.grants))
        if number == len(self.grants):
            self.grants.append(grant)
        return number


def _content(grant: Grant) -> bytes:
    """Return what tells grants apart: everything but which share IDs there are.

    Two results with the same share ID are told from two with different ones.
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
