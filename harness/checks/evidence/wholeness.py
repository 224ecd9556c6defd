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

A pod names its claims, a generated claim names the pod that owns it. If all records of one of them
are missing, the other one still names it. The two resources have a watch each, so that the named
object may be observed later; a name is settled as soon as its object is there. Names of objects
that exist are settled at once; of those that have gone, eight bytes are kept.
"""

import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from harness.checks import protocol
from harness.checks.evidence import (
    acknowledged_writes,
    contradictions,
    object_lives,
    observed_versions,
    recorded_lists,
)
from harness.checks.holds import hold_history
from harness.checks.observed import folders, observations, observed_claims, observed_pods
from harness.history import histories, records

DENSE, NAMED = "revisions", "references"
"""The items of the certificate that this module answers."""


# ------------------------------------------------------------------------------ references
class NamedObjects:
    """The objects of one resource that others name, by name or uid."""

    def __init__(self) -> None:
        self._existing: set[int] = set()
        self._gone = array.array("q")
        self._waiting: dict[int, tuple[str, str]] = {}
        """Digest of a name -> the object that names it, and the name; not yet observed."""
        self.count = 0
        """Number of names that were settled or wait."""

    def see(self, name: int, *, deleted: bool) -> None:
        if name not in self._existing:
            self._waiting.pop(name, None)
            if not deleted:
                self._existing.add(name)
        elif deleted:
            self._existing.remove(name)
            self._gone.append(name)

    def require(self, name: int, by: observations.SeenAny, named: str) -> None:
        """Note that an object names another one; `named` says which as text."""
        self.count += 1
        if name not in self._existing:
            self._waiting.setdefault(name, (contradictions.title(by), named))

    def missing(self) -> list[tuple[str, str]]:
        """Return the objects that name one that was never there, and its name."""
        gone = observed_versions.as_integers(self._gone)
        names = np.fromiter(self._waiting, dtype=np.int64, count=len(self._waiting))
        return [self._waiting[name] for name in names[~np.isin(names, gone)].tolist()]


class References:
    """The claims that pods name and the pods that own claims."""

    def __init__(self, found: contradictions.Contradictions) -> None:
        self._found = found
        self._claims, self._pods = NamedObjects(), NamedObjects()

    @property
    def count(self) -> int:
        """Number of times that an observed object named another one."""
        return self._claims.count + self._pods.count

    def see(self, seen: observations.SeenAny) -> None:
        """Note an object that came or went; in a list before the final one, too."""
        meta = seen.object.metadata
        if seen.resource == observations.CLAIMS:
            self._claims.see(hash((meta.namespace, meta.name)), deleted=seen.is_gone)
        elif seen.resource == observations.PODS:
            self._pods.see(hash(meta.uid), deleted=seen.is_gone)

    def require_all(self, batch: folders.Batch) -> None:
        """Note what claims or pods name."""
        if batch.resource == observations.CLAIMS:
            for seen in batch.seen:
                for owner in seen.object.metadata.owner_references or ():
                    if owner.kind == "Pod":
                        self._pods.require(hash(owner.uid), seen, f"the pod with uid {owner.uid}")
        elif batch.resource == observations.PODS:
            for seen in batch.seen:
                for claim in _claims_of(seen.object):
                    name = hash((seen.object.metadata.namespace, claim))
                    self._claims.require(name, seen, f"claim {claim}")

    def end(self) -> None:
        """Count what was never observed. It is missing, but what was observed is not in doubt."""
        for names in (self._claims, self._pods):
            for by, named in names.missing():
                text = f"{by} names {named}, which was never observed"
                self._found.add(NAMED, text, doubts_holds=False)


def _claims_of(pod: observed_pods.Pod) -> Iterator[str]:
    """Yield the names of the claims whose existence the pod proves.

    The claim controller names a claim in the status after creating it. The spec may name one that
    never existed, unless the pod's containers run.
    """
    status = pod.status
    made = [item.resource_claim_name for item in status.resource_claim_statuses or ()]
    if status.extended_resource_claim_status is not None:
        made.append(status.extended_resource_claim_status.resource_claim_name)
    if status.phase == "Running":
        made += [item.resource_claim_name for item in pod.spec.resource_claims or ()]
    yield from filter(None, made)


# ------------------------------------------------------------------------------ the record
def _devices(allocation: observed_claims.Allocation | None) -> int:
    results = () if allocation is None else allocation.devices.results
    return observed_versions.digest_of_devices(result.id for result in results)


class _Resource(NamedTuple):
    """The lives and the lists of one resource."""

    lives: object_lives.ObjectLives
    lists: recorded_lists.RecordedLists


class Wholeness(folders.Folder):
    """The contradictions in the observations of a run."""

    NEEDS: ClassVar[tuple[type, ...]] = (hold_history.HoldHistory,)

    def __init__(self, *, is_dense: bool = False) -> None:
        """`is_dense`: each commit took the next revision, and all resources are observed."""
        self.found = contradictions.Contradictions()
        self._is_dense = is_dense
        self.observed = observed_versions.Versions()
        """All versions of all objects."""
        self.references = References(self.found)
        self._resources: dict[str, _Resource] = {}

    def see_batch(self, batch: folders.Batch) -> None:
        for seen in self._observe(batch):
            self.references.see(seen)
        self.references.require_all(batch)

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
        if self._is_dense:
            self._require_dense(self.observed.numbers())

    def require_writes(
        self, *journals: observed_versions.Versions, history: histories.History
    ) -> None:
        first = [item.lists.first_rv or 0 for item in self._resources.values()]
        since = max(first, default=0)
        is_in_gap = self._of(observations.CLAIMS).lists.is_in_gap
        acknowledged_writes.require(
            self.found, self.observed, journals, history, since_rv=since, is_in_gap=is_in_gap
        )

    def total(self, count: Callable[[_Resource], int]) -> int:
        return sum(map(count, self._resources.values()))

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
