"""The allocations of a run, in columns; equal ones are kept once, as a grant.

A grant is what a claim asked for together with what it got. Most claims come from templates, so
there are far fewer grants than allocations, and what depends on the grant alone is judged once.
"""

import array
import dataclasses
from typing import NamedTuple

import msgspec

from harness.checks.observed import folders, observations, observed_claims


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
        self._current: dict[str, observed_claims.Allocation] = {}
        """By the uid of each claim that is allocated."""

    def __len__(self) -> int:
        return len(self.claims)

    def see_claim(self, seen: observations.SeenClaim) -> None:
        """Note the allocation of a version of a claim, if it is another one than before."""
        claim = seen.object
        uid, allocation = claim.metadata.uid, claim.status.allocation
        if allocation is None or seen.is_gone:
            self._current.pop(uid, None)
            return
        if self._current.get(uid) == allocation:
            return
        self._current[uid] = allocation
        self.claims.append(ClaimName(claim.metadata.namespace, claim.metadata.name, uid))
        self.grant_numbers.append(self._number(Grant(claim.spec.devices, allocation)))
        self.versions.append(seen.version)
        self.times_ns.append(seen.ts_ns)

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
