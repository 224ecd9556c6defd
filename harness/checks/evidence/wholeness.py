"""Follows the observations of a run and collects their contradictions.

Nothing is judged here: the certificate asks for the answers.

Each claim is deleted with the allocation that it had last. The event of a deletion has the object
in its last state. A deletion itself never changes the status: what ends an allocation is a write of
its own, before the deletion. An event with another allocation than the one before it proves that
one of them was changed, or that one between them is lost.

No revision of the cluster is missing. In a cluster with dense revisions (the embedded API
server's), each commit takes the next revision, and the plan says so and names every resource that
takes some. Between the first lists and the final lists, each revision must then have been observed
as the version of exactly one object. In other clusters (etcd's revisions count writes that no watch
shows) nothing can be said.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from harness.checks import protocol
from harness.checks.evidence import (
    acknowledged_writes,
    contradictions,
    object_lives,
    observed_versions,
    recorded_lists,
    references,
)
from harness.checks.holds import hold_history
from harness.checks.observed import folders, observations, observed_claims
from harness.history import histories, records

DENSE = "revisions"
"""The item of the certificate that this module answers."""


def _devices(allocation: observed_claims.Allocation | None) -> int:
    results = () if allocation is None else allocation.devices.results
    return observed_versions.digest_of_devices(result.id for result in results)


class _Resource(msgspec.Struct):
    """The lives and the lists of one resource."""

    lives: object_lives.ObjectLives
    lists: recorded_lists.RecordedLists


class Wholeness(folders.Folder):
    """The contradictions in the observations of a run."""

    NEEDS: ClassVar[tuple[type, ...]] = (hold_history.HoldHistory,)

    def __init__(self, *, is_dense: bool = False) -> None:
        """`is_dense`: each commit took the next revision, and all resources are observed."""
        self.found = contradictions.Contradictions()
        kind = observed_versions.NumberedVersions if is_dense else observed_versions.Versions
        self.observed = kind()
        """All versions of all objects."""
        self.references = references.References(self.found)
        self._resources: dict[str, _Resource] = {}

    def see_batch(self, batch: folders.Batch) -> None:
        for seen in self._observe(batch):
            self.references.see(seen)
        if batch.resource == observations.PODS:
            self.references.require_claims(batch)
        elif batch.resource == observations.CLAIMS:
            self.references.require_pods(batch)

    def see_final(self, seen: observations.SeenAny) -> None:
        self._observe(folders.Batch([seen]))
        if seen.resource == observations.CLAIMS:
            devices = _devices(seen.object.status.allocation)
            self.observed.add(seen.object.metadata.uid, seen.version, devices)

    def see_list(self, listed: records.Listed) -> None:
        resource = self._of(listed.resource)
        certain_rv = resource.lists.certain_rv
        is_after_gap = resource.lists.is_in_gap(certain_rv + 1)
        resource.lives.begin_list(listed.purpose, certain_rv=certain_rv, is_after_gap=is_after_gap)
        resource.lists.begin(listed)

    def see_gap(self, gap: records.Gap) -> None:
        self._of(gap.resource).lists.gap(gap)

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Wholeness":
        return cls(is_dense=evidence.plan.dense_revisions)

    def conclude(self, others: Mapping[type, Any]) -> None:
        self._add_claims(others[hold_history.HoldHistory])
        for resource in self._resources.values():
            resource.lists.require_whole()
            resource.lives.end(has_final_list=resource.lists.final_rv is not None)
        self.references.end()
        if isinstance(self.observed, observed_versions.NumberedVersions):
            self._require_dense(self.observed.numbers())

    def require_writes(
        self, *journals: observed_versions.NumberedVersions, history: histories.History
    ) -> None:
        first = [item.lists.first_rv or 0 for item in self._resources.values()]
        since = max(first, default=0)
        is_in_gap = self._of(observations.CLAIMS).lists.is_in_gap
        acknowledged_writes.require(
            self.found, self.observed, journals, history, since_rv=since, is_in_gap=is_in_gap
        )

    @property
    def births(self) -> int:
        return sum(resource.lives.births for resource in self._resources.values())

    @property
    def finals(self) -> int:
        return sum(resource.lives.finals for resource in self._resources.values())

    @property
    def lists(self) -> int:
        return sum(resource.lists.count for resource in self._resources.values())

    @property
    def between(self) -> tuple[int, int]:
        """The versions of the newest first list and of the oldest final list."""
        lists = [resource.lists for resource in self._resources.values()]
        begin = max((item.first_rv for item in lists if item.first_rv is not None), default=0)
        end = min((item.final_rv for item in lists if item.final_rv is not None), default=0)
        return begin, max(begin, end)

    def _require_dense(self, numbers: observed_versions.Integers) -> None:
        """Count the revisions that are missing; one in a gap of the claims may be theirs."""
        begin, end = self.between
        seen = observed_versions.distinct(numbers)
        seen = seen[(seen > begin) & (seen <= end)]
        edges = np.concatenate(([begin], seen, [end + 1]))
        is_in_gap = self._of(observations.CLAIMS).lists.is_in_gap
        for gap in np.flatnonzero(np.diff(edges) > 1):
            after, until = int(edges[gap]) + 1, int(edges[gap + 1]) - 1
            named = f"revision {after} was"
            if after < until:
                named = f"the revisions {after} to {until} were"
            doubts_holds = not (is_in_gap(after) and is_in_gap(until))
            self.found.add(DENSE, f"{named} not observed", doubts_holds=doubts_holds)

    def _observe(self, batch: folders.Batch) -> Sequence[observations.SeenAny]:
        """Return all but mere changes of objects that were alive before."""
        resource = self._of(batch.resource)
        resource.lists.observe_all(batch)
        if batch.resource != observations.CLAIMS:
            self.observed.add_all(batch.uids, batch.versions)
        return resource.lives.observe_all(batch)

    def _add_claims(self, history: hold_history.HoldHistory) -> None:
        """Add the versions of claims, all at once."""
        claims, versions, grants = history.events.observed()
        uids = np.fromiter(map(hash, history.claims), np.int64, len(history.claims))
        devices = [_devices(grant.allocation) for grant in history.events.grants]
        held = np.array([*devices, _devices(None)], np.int64)  # the last one is of no grant
        self.observed.extend(uids[claims], versions, held[grants])

    def _of(self, resource: str) -> _Resource:
        known = self._resources.get(resource)
        if known is None:
            known = self._resources[resource] = _Resource(
                object_lives.ObjectLives(resource, self.found),
                recorded_lists.RecordedLists(resource, self.found),
            )
        return known
