"""Folds the observations into the writes of the claim controller about pods: claims and records.

Order comes from resourceVersions, because pods and claims are observed by watches of their own.
"""

import collections
import dataclasses
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from harness.history import records

CLAIMS, PODS = "resourceclaims", "pods"
_ENTRY = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a generated claim: the entry of the pod that it is for."""
_ENDED = ("Succeeded", "Failed")


class _Owner(msgspec.Struct):
    uid: str
    kind: str = ""
    controller: bool = False


class _Meta(msgspec.Struct):
    name: str
    uid: str
    namespace: str = ""
    annotations: dict[str, str] | None = None
    ownerReferences: list[_Owner] | None = None  # noqa: N815 - the API's spelling
    deletionTimestamp: str | None = None  # noqa: N815


class _Consumer(msgspec.Struct):
    uid: str = ""


class _ClaimStatus(msgspec.Struct):
    reservedFor: list[_Consumer] | None = None  # noqa: N815


class _Claim(msgspec.Struct):
    metadata: _Meta
    status: _ClaimStatus = msgspec.field(default_factory=_ClaimStatus)


class _Record(msgspec.Struct):
    name: str
    resourceClaimName: str | None = None  # noqa: N815


class _PodStatus(msgspec.Struct):
    phase: str = ""
    resourceClaimStatuses: list[_Record] | None = None  # noqa: N815


class _Pod(msgspec.Struct):
    metadata: _Meta
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)


_claims = msgspec.json.Decoder(_Claim)
_pods = msgspec.json.Decoder(_Pod)
EntryKey: TypeAlias = tuple[str, str]
"""Uid of a pod, and the name of an entry of its `spec.resourceClaims`."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """A claim that was generated for an entry of a pod."""

    uid: str
    namespace: str
    name: str
    version: int
    """resourceVersion of its creation."""
    beside: tuple[str, ...]
    """Uids of the other claims of the entry that existed then, without those being deleted."""


@dataclasses.dataclass(slots=True, kw_only=True)
class PodHistory:
    """A pod, and what was recorded about its claims."""

    uid: str
    namespace: str
    name: str
    recorded: dict[str, str] = dataclasses.field(default_factory=dict)
    """Entry -> name of its claim, in the newest version."""
    dropped: list[tuple[int, str]] = dataclasses.field(default_factory=list)
    """resourceVersion and entry of every record that vanished."""
    ended_version: int | None = None
    """resourceVersion in which its containers had ended first; None: they have not."""


class ControllerHistory:
    """The writes of the claim controller, by pod."""

    def __init__(self) -> None:
        self.pods: dict[str, PodHistory] = {}
        """By uid."""
        self.generated: dict[EntryKey, list[Generated]] = collections.defaultdict(list)
        """All claims of an entry, in the order of their creations."""
        self.reserved: dict[tuple[str, str], list[int]] = collections.defaultdict(list)
        """Uids of a claim and a pod -> resourceVersions that reserved the claim for the pod."""
        self._live: dict[EntryKey, dict[str, bool]] = collections.defaultdict(dict)
        """Uids of the existing claims of an entry -> True if it is not being deleted."""
        self._reserved_now: dict[str, frozenset[str]] = {}
        """Uid of a claim -> uids of the pods that it is reserved for now."""

    def follow(self, observations: Iterable[records.Body]) -> Iterator[records.Body]:
        """Yield the records of the recorder, each after noting it."""
        for record in observations:
            if isinstance(record, records.Observation) and record.type != "FINAL":
                self._note(record)
            yield record

    def _note(self, record: records.Observation) -> None:
        is_gone, version = record.type == "DELETED", record.resource_version
        if record.resource == PODS:
            self._note_pod(_pods.decode(record.object), version)
        elif record.resource == CLAIMS:
            claim = _claims.decode(record.object)
            self._note_reservations(claim, version, is_gone=is_gone)
            entry = _entry_of(claim)
            if entry is not None:
                self._note_generated(claim, entry, version, is_gone=is_gone)

    def _note_pod(self, pod: _Pod, version: int) -> None:
        meta, status = pod.metadata, pod.status
        found = self.pods.setdefault(
            meta.uid, PodHistory(uid=meta.uid, namespace=meta.namespace, name=meta.name)
        )
        now = {
            item.name: item.resourceClaimName or "" for item in status.resourceClaimStatuses or ()
        }
        found.dropped += [(version, entry) for entry in found.recorded if entry not in now]
        found.recorded = now
        if status.phase in _ENDED and found.ended_version is None:
            found.ended_version = version

    def _note_reservations(self, claim: _Claim, version: int, *, is_gone: bool) -> None:
        uid = claim.metadata.uid
        now = frozenset(item.uid for item in claim.status.reservedFor or ())
        if is_gone:
            self._reserved_now.pop(uid, None)
            return
        for pod in now - self._reserved_now.get(uid, frozenset()):
            self.reserved[uid, pod].append(version)
        self._reserved_now[uid] = now

    def _note_generated(
        self, claim: _Claim, entry: EntryKey, version: int, *, is_gone: bool
    ) -> None:
        meta, live = claim.metadata, self._live[entry]
        if is_gone:
            live.pop(meta.uid, None)
            return
        if meta.uid not in live:
            beside = tuple(uid for uid, stays in live.items() if stays)
            self.generated[entry].append(
                Generated(
                    uid=meta.uid,
                    namespace=meta.namespace,
                    name=meta.name,
                    version=version,
                    beside=beside,
                )
            )
        live[meta.uid] = meta.deletionTimestamp is None


def _entry_of(claim: _Claim) -> EntryKey | None:
    """Return the entry of the pod that the claim was generated for; None: a user created it."""
    meta = claim.metadata
    owners = [item.uid for item in meta.ownerReferences or () if item.controller]
    name = (meta.annotations or {}).get(_ENTRY)
    return (owners[0], name) if owners and name is not None else None
