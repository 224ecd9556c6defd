"""The allocations of a run, in columns; equal ones are kept once, as a grant.

A grant is what a claim asked for together with what it got. Most claims come from templates, so
there are far fewer grants than allocations, and what depends on the grant alone is judged once.
"""

import array
import dataclasses
from typing import ClassVar

import msgspec

from harness.checks import protocol
from harness.checks.observed import claim_versions, interning, observed_claims


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Grant:
    """The spec of a claim, and an allocation for it; share IDs are those of the first one."""

    spec: observed_claims.DeviceClaim
    allocation: observed_claims.Allocation

    @property
    def results(self) -> list[observed_claims.AllocationResult]:
        return self.allocation.devices.results


class Allocations:
    """All allocations; one that changes in place counts as another one."""

    NEEDS: ClassVar[tuple[type, ...]] = (claim_versions.ClaimVersions,)

    def __init__(self, versions: claim_versions.ClaimVersions) -> None:
        self.grants: list[Grant] = []
        self.claims: list[claim_versions.ClaimName] = []
        """One value for each allocation, as in all columns that follow."""
        self.grant_numbers = array.array("q")
        """Indexes of `grants`."""
        self.versions = array.array("q")
        """The resourceVersion that allocated."""
        self.times_ns = array.array("q")
        """Monotonic times of the recorder."""
        self._numbers: dict[bytes, int] = {}
        """The number of each grant, by its content."""
        self._recent: dict[tuple[int, int], int] = {}
        """Identities of a spec and an allocation, which last -> the number of their grant."""
        for of_claim in versions.by_uid.values():
            self._add_all(of_claim)

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Allocations":
        return cls(evidence[claim_versions.ClaimVersions])

    def __len__(self) -> int:
        return len(self.claims)

    def grant(self, row: int) -> Grant:
        return self.grants[self.grant_numbers[row]]

    def _add_all(self, versions: list[claim_versions.Version]) -> None:
        before = None
        for now in versions:
            allocation = None if now.is_gone else now.allocation
            if allocation is not None and allocation is not before and allocation != before:
                self.claims.append(now.claim)
                self.grant_numbers.append(self._number(now.claim.asked, allocation))
                self.versions.append(now.rv)
                self.times_ns.append(now.ts_ns)
            before = allocation

    def _number(
        self, asked: observed_claims.DeviceClaim, allocation: observed_claims.Allocation
    ) -> int:
        key = id(asked), id(allocation)
        number = self._recent.get(key)
        if number is None:
            grant = Grant(asked, allocation)
            number = self._numbers.setdefault(_content(grant), len(self.grants))
            if len(self._recent) >= interning.PARTS_MAX:
                self._recent.clear()
            self._recent[key] = number
            if number == len(self.grants):
                self.grants.append(grant)
        return number


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
