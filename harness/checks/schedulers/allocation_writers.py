"""Folds the observations into the writer of each allocation: its field manager, and for which pods.

The API server writes the manager of each field into `metadata.managedFields`. Schedulers with equal
managers can be distinguished by the pods for which they allocated, if their names differ.
"""

import dataclasses
from typing import TypeAlias

from harness.checks.observed import folders, observations

AllocationKey: TypeAlias = tuple[str, int]
"""Uid of a claim, and the resourceVersion that allocated it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AllocationWriter:
    """The writer of an allocation, as the API server names it."""

    manager: str
    """Field manager of `status.allocation`; empty: unknown."""
    pods: tuple[str, ...]
    """Uids of the pods that the claim was reserved for in the same version."""


class AllocationWriters(folders.Folder):
    """The writers of all allocations."""

    def __init__(self) -> None:
        self.by_allocation: dict[AllocationKey, AllocationWriter] = {}
        self.first_seen: dict[str, int] = {}
        """Uid of a claim -> its first resourceVersion."""
        self.scheduler_names: dict[str, str] = {}
        """Uid of a pod -> its `spec.schedulerName`."""
        self._allocated: set[str] = set()
        """Uids of the claims that are allocated now."""

    def see_pod(self, seen: observations.SeenPod) -> None:
        """Note which scheduler a pod asks for."""
        if not seen.is_gone:
            self.scheduler_names[seen.object.metadata.uid] = seen.object.spec.scheduler_name

    def see_claim(self, seen: observations.SeenClaim) -> None:
        """Note who has allocated a claim, if that is new."""
        if seen.is_gone:
            return
        uid, status = seen.object.metadata.uid, seen.object.status
        self.first_seen.setdefault(uid, seen.version)
        if status.allocation is None:
            self._allocated.discard(uid)
        elif uid not in self._allocated:
            self._allocated.add(uid)
            pods = tuple(item.uid for item in status.reserved_for or ())
            writer = AllocationWriter(manager=seen.object.manager, pods=pods)
            self.by_allocation[uid, seen.version] = writer
