"""The allocations of a run, in columns; equal ones are kept once, as a grant.

A grant is what a claim asked for together with what it got. Most claims come from templates, so
there are far fewer grants than allocations, and what depends on the grant alone is judged once.
"""

import array
import dataclasses

import msgspec

from harness.checks.observed import (
    claim_versions,
    folders,
    interning,
    observations,
    observed_claims,
)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Grant:
    """The spec of a claim, and an allocation for it; share IDs are those of the first one."""

    spec: observed_claims.DeviceClaim
    allocation: observed_claims.Allocation

    @property
    def results(self) -> list[observed_claims.AllocationResult]:
        return self.allocation.devices.results


class _AllocatedClaim(msgspec.Struct):
    """A claim that was allocated, and its name: one object for all its allocations."""

    name: claim_versions.ClaimName
    allocation: observed_claims.Allocation | None
    """The newest one; None: it has been freed."""


class Allocations(folders.Folder):
    """All allocations, in the order in which they were observed.

    An allocation that changes in place counts as another one.
    """

    def __init__(self) -> None:
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
        self._recent: dict[tuple[int, int], tuple[Grant, int]] = {}
        """Identities of a spec and an allocation -> their grant and its number."""
        self._claims: dict[str, _AllocatedClaim] = {}
        """Keyed by the uid of each claim that was allocated and is not deleted."""

    def __len__(self) -> int:
        return len(self.claims)

    def grant(self, row: int) -> Grant:
        return self.grants[self.grant_numbers[row]]

    def see_claim(self, seen: observations.SeenClaim) -> None:
        uid, allocation = seen.object.metadata.uid, seen.object.status.allocation
        if seen.type == "DELETED":
            self._claims.pop(uid, None)
            return
        known = self._claims.get(uid)
        before = None if known is None else known.allocation
        if allocation is before:
            return
        if known is not None:
            known.allocation = allocation
        if allocation is not None and allocation != before:
            self._add(seen, known, allocation)

    def _add(
        self,
        seen: observations.SeenClaim,
        known: "_AllocatedClaim | None",
        allocation: observed_claims.Allocation,
    ) -> None:
        if known is None:
            name = claim_versions.name_of(seen.object)
            known = self._claims[name.uid] = _AllocatedClaim(name, allocation)
        self.claims.append(known.name)
        self.grant_numbers.append(self._recent_number(seen.object.spec.devices, allocation))
        self.versions.append(seen.version)
        self.times_ns.append(seen.ts_ns)

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
