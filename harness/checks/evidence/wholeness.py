"""Follows the observations of a run and collects their contradictions.

Nothing is judged here: the certificate asks for the answers, and `certain_holds` for the doubts.

Each claim is deleted with the allocation that it had last, and has what its managers own. The event
of a deletion has the object in its last state. A deletion itself never changes the status: what
ends an allocation is a write of its own, before the deletion. An event with another allocation than
the one before it proves that one of them was changed, or that one between them is lost. The API
server removes a field from `managedFields` in the write that removes the field itself: a claim
whose `status.allocation` has a manager has an allocation.

No revision of the cluster is missing. In a cluster with dense revisions (the embedded API
server's), each commit takes the next revision, and the plan says so and names every resource that
takes some. Between the first lists and the final lists, each revision must then have been observed
as the version of exactly one object. In other clusters (etcd's revisions count writes that no watch
shows) nothing can be said.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from harness.checks import protocol
from harness.checks.evidence import (
    acknowledged_writes,
    contradictions,
    object_lives,
    observed_objects,
    observed_versions,
    recorded_lists,
    references,
)
from harness.checks.observed import folders, interning, observations, observed_claims
from harness.history import histories, records

DENSE = "revisions"
"""The item of the certificate that this module answers."""


def between(first: Iterable[int], final: Iterable[int]) -> tuple[int, int]:
    """Return the versions between which every commit was observed, from those of the lists."""
    begin = max(first, default=0)
    return begin, max(min(final, default=0), begin)


def require_dense(
    found: contradictions.Contradictions,
    observed: observed_versions.NumberedVersions,
    limits: tuple[int, int],
) -> None:
    """Count the revisions that are missing. Each may have been a commit of any object."""
    begin, end = limits
    seen = observed_versions.distinct(observed.numbers())
    seen = seen[(seen > begin) & (seen <= end)]
    edges = np.concatenate(([begin], seen, [end + 1]))
    for gap in np.flatnonzero(np.diff(edges) > 1):
        after, until = int(edges[gap]) + 1, int(edges[gap + 1]) - 1
        named = f"revision {after} was"
        if after < until:
            named = f"the revisions {after} to {until} were"
        found.add(DENSE, f"{named} not observed", from_rv=after)


_MANAGED = b"f:allocation"
"""The field that a manager owns; in a JSON string without a backslash, it is written so."""


class LastAllocations:
    """The newest allocation of each living claim."""

    def __init__(self, name: str, found: contradictions.Contradictions) -> None:
        """`name` is the certificate's item that asks."""
        self._name, self._found = name, found
        self._newest: dict[str, observed_claims.Allocation | None] = {}
        """Keyed by uid."""

    def observe(self, seen: observations.SeenClaim) -> None:
        """Follow an event or an object of a list."""
        claim = seen.object
        uid, allocation = claim.metadata.uid, claim.status.allocation
        if allocation is None and _may_be_managed(claim) and claim.manager:
            text = f"has no allocation, but {claim.manager} manages the fields of one"
            self._complain(seen, text)
        if seen.type != "DELETED":
            self._newest[uid] = allocation
        elif self._newest.pop(uid, allocation) != allocation:
            self._complain(seen, "was deleted with another allocation than it had before")

    def _complain(self, seen: observations.SeenClaim, text: str) -> None:
        """Count a contradiction, and doubt the whole life of the claim."""
        self._found.add(
            self._name,
            f"{observed_objects.title(seen)} at {seen.version}: {text}",
            resource=seen.resource,
            uid=seen.object.metadata.uid,
            from_rv=0,
        )


def _may_be_managed(claim: observed_claims.Claim) -> bool:
    """Return False if the allocation of a claim certainly has no manager; looks at bytes only."""
    managed = bytes(claim.metadata.managed_fields)
    return _MANAGED in managed or b"\\" in managed


_NO_DEVICES = observed_versions.digest_of_devices(())


def _devices(allocation: observed_claims.Allocation) -> int:
    return observed_versions.digest_of_devices(result.id for result in allocation.devices.results)


@dataclasses.dataclass(slots=True)
class _Resource:
    """The lives and the lists of one resource."""

    lives: object_lives.ObjectLives
    lists: recorded_lists.RecordedLists


class Wholeness(folders.Folder):
    """The contradictions in the observations of a run."""

    def __init__(self, *, is_dense: bool = False) -> None:
        """`is_dense`: each commit took the next revision, and all resources are observed."""
        self.found = contradictions.Contradictions()
        kind = observed_versions.NumberedVersions if is_dense else observed_versions.Versions
        self.observed = kind()
        """All versions of all objects."""
        self.references = references.References(self.found)
        self._devices = interning.DerivedValues(_devices)
        self._allocations = LastAllocations(object_lives.LAWFUL, self.found)
        self._resources: dict[str, _Resource] = {}

    def see_any(self, seen: observations.SeenAny) -> None:
        """Note an object in an event or in a list at the beginning or after a gap."""
        is_known, is_claim = self._observe(seen), seen.resource == observations.CLAIMS
        if not (is_known and is_claim) or seen.object.metadata.owner_references:
            self.references.observe(seen, is_known=is_known)
        if is_claim:
            self._allocations.observe(seen)

    def see_final(self, seen: observations.SeenAny) -> None:
        self._observe(seen)

    def see_list(self, listed: records.Listed) -> None:
        """Note that a list begins."""
        resource = self._of(listed.resource)
        resource.lives.begin_list(listed.purpose, certain_rv=resource.lists.certain_rv)
        resource.lists.begin(listed)

    def see_gap(self, gap: records.Gap) -> None:
        """Note a gap that the recorder noticed."""
        self._of(gap.resource).lists.gap(gap)

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Wholeness":
        """Return one that has seen nothing."""
        return cls(is_dense=evidence.plan.dense_revisions)

    def conclude(self, others: Mapping[type, Any]) -> None:
        """Look at the whole when there are no more records."""
        del others
        for resource in self._resources.values():
            resource.lists.end()
            resource.lives.end(has_final_list=resource.lists.final_rv is not None)
        self.references.end()
        if isinstance(self.observed, observed_versions.NumberedVersions):
            require_dense(self.found, self.observed, self.between)

    def require_writes(
        self, *journals: observed_versions.NumberedVersions, history: histories.History
    ) -> None:
        """Look for the acknowledged writes of some journals.

        The history is read again for their names if some of them are missing or differ.
        """
        first = [item.lists.first_rv or 0 for item in self._resources.values()]
        since, lost, changed = max(first, default=0), set[int](), set[int]()
        for written in journals:
            lost |= acknowledged_writes.missing(written, self.observed, since_rv=since)
            changed |= acknowledged_writes.differing(written, self.observed)
        if lost or changed:
            acknowledged_writes.complain(
                self.found, history, lost=lost, changed=changed, since_rv=since
            )

    @property
    def births(self) -> int:
        """The number of lives that began, of objects of all resources."""
        return sum(resource.lives.births for resource in self._resources.values())

    @property
    def finals(self) -> int:
        return sum(resource.lives.finals for resource in self._resources.values())

    @property
    def lists(self) -> int:
        """The number of recorded lists."""
        return sum(resource.lists.count for resource in self._resources.values())

    @property
    def between(self) -> tuple[int, int]:
        """The versions of the newest first list and of the oldest final list."""
        lists = [resource.lists for resource in self._resources.values()]
        return between(
            [item.first_rv for item in lists if item.first_rv is not None],
            [item.final_rv for item in lists if item.final_rv is not None],
        )

    def _observe(self, seen: observations.SeenAny) -> bool:
        """Return whether the object was alive before and still is."""
        resource = self._resources.get(seen.resource) or self._of(seen.resource)
        resource.lists.observe(seen)
        devices = None
        if seen.resource == observations.CLAIMS:
            allocation = seen.object.status.allocation
            devices = _NO_DEVICES if allocation is None else self._devices.of(allocation)
        self.observed.add(seen.object.metadata.uid, seen.version, devices)
        return resource.lives.observe(seen)

    def _of(self, resource: str) -> _Resource:
        known = self._resources.get(resource)
        if known is None:
            known = self._resources[resource] = _Resource(
                object_lives.ObjectLives(resource, self.found),
                recorded_lists.RecordedLists(resource, self.found),
            )
        return known
