"""Folds the observations into the writes of the claim controller about pods: claims and records.

Order comes from resourceVersions, because pods and claims are observed by watches of their own.
"""

import collections
import dataclasses
from typing import TypeAlias

from harness.checks.observed import field_managers, folders, observations, observed_claims

_ENTRY = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a generated claim: the entry of the pod that it is for."""
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
    managed_fields: bytes = b""
    """Its field managers then, as JSON; see `field_managers`."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A record that vanished from the status of a pod."""

    version: int
    entry: str
    writer: str
    """Field manager of the records afterwards; empty: not known."""


@dataclasses.dataclass(slots=True, kw_only=True)
class PodHistory:
    """A pod, and what was recorded about its claims."""

    uid: str
    namespace: str
    name: str
    recorded: dict[str, str] = dataclasses.field(default_factory=dict)
    """Entry -> name of its claim, in the newest version."""
    dropped: list[Dropped] = dataclasses.field(default_factory=list)
    """Every record that vanished."""
    returned: list[Dropped] = dataclasses.field(default_factory=list)
    """Every record that another one replaced, and that came back."""
    earlier: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    """Entries with the claims that were recorded for them."""
    bound_version: int | None = None
    """The first resourceVersion with a node; None: there is none."""
    ended_version: int | None = None
    """resourceVersion in which its containers had ended first; None: they have not."""


class ControllerHistory(folders.Folder):
    """The writes of the claim controller, by pod."""

    def __init__(self) -> None:
        self.pods: dict[str, PodHistory] = {}
        """Keyed by uid."""
        self.generated: dict[EntryKey, list[Generated]] = collections.defaultdict(list)
        """All claims of an entry, in the order of their creations."""
        self.reserved: dict[tuple[str, str], list[int]] = collections.defaultdict(list)
        """Uids of a claim and a pod -> resourceVersions that reserved the claim for the pod."""
        self.released: dict[str, list[int]] = collections.defaultdict(list)
        """Uid of a pod -> resourceVersions that took a claim's reservation for it back."""
        self.robbed: set[str] = set()
        """Uids of pods whose allocated claim the API server removed in spite of its finalizer."""
        self._live: set[str] = set()
        """Uids of the generated claims that exist."""
        self._reserved_now: dict[str, frozenset[str]] = {}
        """Uid of a claim -> uids of the pods that it is reserved for now."""

    def see_claim(self, seen: observations.SeenClaim) -> None:
        """Note reservations, and the creation or deletion of a generated claim."""
        claim, is_gone = seen.object, seen.is_gone
        self.robbed |= observations.robbed(seen)
        self._note_reservations(claim, seen.version, is_gone=is_gone)
        entry = _entry_of(claim)
        if entry is not None:
            self._note_generated(claim, entry, seen.version, is_gone=is_gone)

    def see_pod(self, seen: observations.SeenPod) -> None:
        """Note what is recorded about the pod's claims, and its end."""
        meta, status = seen.object.metadata, seen.object.status
        found = self.pods.setdefault(
            meta.uid, PodHistory(uid=meta.uid, namespace=meta.namespace, name=meta.name)
        )
        now = {
            item.name: item.resource_claim_name or ""
            for item in status.resource_claim_statuses or ()
        }
        self._note_records(found, now, seen)
        if seen.object.spec.node_name and found.bound_version is None:
            found.bound_version = seen.version
        if seen.object.has_ended and found.ended_version is None:
            found.ended_version = seen.version

    @staticmethod
    def _note_records(found: PodHistory, now: dict[str, str], seen: observations.SeenPod) -> None:
        """Note the records of a version, those that are gone, and those that came back."""
        before, found.recorded = found.recorded, now
        gone = [entry for entry in before if entry not in now]
        changed = [item for item in now.items() if before.get(item[0]) not in (None, item[1])]
        back = [entry for entry, name in changed if (entry, name) in found.earlier]
        found.earlier.update(now.items())
        if not gone and not back:
            return
        managed = seen.object.metadata.managed_fields
        writer = field_managers.owner(managed, "status", "resourceClaimStatuses")
        found.dropped += [Dropped(version=seen.version, entry=one, writer=writer) for one in gone]
        found.returned += [Dropped(version=seen.version, entry=one, writer=writer) for one in back]

    def _note_reservations(
        self, claim: observed_claims.Claim, version: int, *, is_gone: bool
    ) -> None:
        uid = claim.metadata.uid
        now = frozenset(item.uid for item in claim.status.reserved_for or ())
        if is_gone:
            self._reserved_now.pop(uid, None)
            return
        before = self._reserved_now.get(uid, frozenset())
        for pod in now - before:
            self.reserved[uid, pod].append(version)
        for pod in before - now:
            self.released[pod].append(version)
        self._reserved_now[uid] = now

    def _note_generated(
        self, claim: observed_claims.Claim, entry: EntryKey, version: int, *, is_gone: bool
    ) -> None:
        meta = claim.metadata
        if is_gone:
            self._live.discard(meta.uid)
        elif meta.uid not in self._live:
            self._live.add(meta.uid)
            self.generated[entry].append(
                Generated(
                    uid=meta.uid,
                    namespace=meta.namespace,
                    name=meta.name,
                    version=version,
                    managed_fields=bytes(meta.managed_fields),
                )
            )


def _entry_of(claim: observed_claims.Claim) -> EntryKey | None:
    """Return the entry of the pod that the claim was generated for; None: a user created it."""
    meta = claim.metadata
    owners = [item.uid for item in meta.owner_references or () if item.controller]
    name = (meta.annotations or {}).get(_ENTRY)
    return (owners[0], name) if owners and name is not None else None
