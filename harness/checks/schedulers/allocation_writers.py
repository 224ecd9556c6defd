"""Folds the observations into the writer of each allocation: its field manager, and for which pods.

The API server writes the manager of each field into `metadata.managedFields`. Schedulers with equal
managers can be told apart by the pods for which they allocated, if their names differ.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from harness.history import records

CLAIMS, PODS = "resourceclaims", "pods"
_ALLOCATION = b'"f:allocation"'
AllocationKey: TypeAlias = tuple[str, int]
"""Uid of a claim, and the resourceVersion that allocated it."""


class _Manager(msgspec.Struct):
    manager: str = ""
    subresource: str = ""
    fieldsV1: msgspec.Raw = msgspec.Raw(b"")  # noqa: N815 - the API's spelling


class _Meta(msgspec.Struct):
    uid: str
    managedFields: list[_Manager] | None = None  # noqa: N815


class _Consumer(msgspec.Struct):
    uid: str = ""


class _ClaimStatus(msgspec.Struct):
    allocation: msgspec.Raw = msgspec.Raw(b"")
    reservedFor: list[_Consumer] | None = None  # noqa: N815


class _Claim(msgspec.Struct):
    metadata: _Meta
    status: _ClaimStatus = msgspec.field(default_factory=_ClaimStatus)


class _PodSpec(msgspec.Struct):
    schedulerName: str = ""  # noqa: N815


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)


_claims = msgspec.json.Decoder(_Claim)
_pods = msgspec.json.Decoder(_Pod)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AllocationWriter:
    """The writer of an allocation, as the API server names it."""

    manager: str
    """Field manager of `status.allocation`; empty: unknown."""
    pods: tuple[str, ...]
    """Uids of the pods that the claim was reserved for in the same version."""


class AllocationWriters:
    """The writers of all allocations."""

    def __init__(self) -> None:
        self.by_allocation: dict[AllocationKey, AllocationWriter] = {}
        self.first_seen: dict[str, int] = {}
        """Uid of a claim -> its first resourceVersion."""
        self.scheduler_names: dict[str, str] = {}
        """Uid of a pod -> its `spec.schedulerName`."""
        self._allocated: set[str] = set()
        """Uids of the claims that are allocated now."""

    def follow(self, observations: Iterable[records.Body]) -> Iterator[records.Body]:
        """Yield the records of the recorder, each after noting it."""
        for record in observations:
            if isinstance(record, records.Observation) and record.type not in ("DELETED", "FINAL"):
                self._note(record)
            yield record

    def _note(self, record: records.Observation) -> None:
        if record.resource == CLAIMS:
            self._note_claim(_claims.decode(record.object), record.resource_version)
        elif record.resource == PODS:
            pod = _pods.decode(record.object)
            self.scheduler_names[pod.metadata.uid] = pod.spec.schedulerName

    def _note_claim(self, claim: _Claim, version: int) -> None:
        uid = claim.metadata.uid
        self.first_seen.setdefault(uid, version)
        if bytes(claim.status.allocation) in (b"", b"null"):
            self._allocated.discard(uid)
        elif uid not in self._allocated:
            self._allocated.add(uid)
            pods = tuple(item.uid for item in claim.status.reservedFor or ())
            writer = AllocationWriter(manager=_manager_of(claim), pods=pods)
            self.by_allocation[uid, version] = writer


def _manager_of(claim: _Claim) -> str:
    """Return the manager of `status.allocation`; empty if the server does not track managers."""
    managers = [
        item.manager
        for item in claim.metadata.managedFields or ()
        if item.subresource == "status" and _ALLOCATION in bytes(item.fieldsV1)
    ]
    return managers[-1] if managers else ""
