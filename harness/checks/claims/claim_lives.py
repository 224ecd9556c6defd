"""Folds the observations into the changes of claims that checks ask about.

A change is judged only between two versions that the watch delivered one after the other: after a
gap, or when versions arrive out of order, a claim counts as never seen before.
"""

import dataclasses
from collections.abc import Sequence
from typing import Literal, TypeAlias

from harness.checks.observed import folders, observations, observed_claims
from harness.history import records

FINALIZER = "resource.kubernetes.io/delete-protection"
ENTRY = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a generated claim: the entry of the pod that it is for."""
EXTENDED = "resource.kubernetes.io/extended-resource-claim"
"""Annotation of a claim that a scheduler made for extended resources."""
RESERVATIONS_MAX = 256
"""Entries that the API allows in `status.reservedFor`."""
End: TypeAlias = Literal["", "dropped", "deallocated", "deleted", "removed"]
"""`removed`: by the API server, in spite of a finalizer."""
EntryKey: TypeAlias = tuple[str, str]
"""Uid of a pod, and the name of an entry of its `spec.resourceClaims`."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClaimName:
    """A claim, and the pod that it was generated for."""

    uid: str
    namespace: str
    name: str
    owner: str | None
    """Uid of the pod that controls it; None: a user created it."""
    entry: str | None
    """The entry of the pod that it is for; None: it has no such annotation."""
    is_extended: bool

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} (uid {self.uid})"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """An allocation that became another one in one write."""

    claim: ClaimName
    version: int
    before: observed_claims.Allocation
    after: observed_claims.Allocation


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bare:
    """A version with an allocation and without the finalizer."""

    claim: ClaimName
    version: int
    is_gone: bool
    """The claim was deleted with its allocation."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """A claim that the API server removed in spite of its finalizers."""

    claim: ClaimName
    version: int
    finalizers: Sequence[str]
    is_allocated: bool
    since_version: int
    """The first version with finalizers that is known, or that of the removal."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Unallocated:
    """A version with reservations and without an allocation."""

    claim: ClaimName
    version: int
    count: int
    """Number of its reservations."""


@dataclasses.dataclass(slots=True, kw_only=True)
class Reservation:
    """The interval of resourceVersions in which a claim was reserved for a consumer."""

    claim: ClaimName
    consumer: observed_claims.Consumer
    from_version: int
    until_version: int | None = None
    """Exclusive; None: to the end of the history, or its end was not observed."""
    end: End = ""
    """How it ended; empty as long as `until_version` is None."""


@dataclasses.dataclass(slots=True, kw_only=True)
class Generated:
    """A claim that was generated for an entry of a pod."""

    claim: ClaimName
    from_version: int
    is_new: bool
    """Its creation was observed; False: a list had it."""
    deleting_version: int | None = None
    """resourceVersion of the request to delete it; None: there was none."""
    gone_version: int | None = None
    """None: to the end of the history, or its end was not observed."""


@dataclasses.dataclass(slots=True)
class _Live:
    """The knowledge about a claim that exists."""

    name: ClaimName
    version: int
    is_fresh: bool = True
    """No version of it was noted yet."""
    finalized_version: int | None = None
    """The first version with the finalizers that it has; None: it has none."""
    allocation: observed_claims.Allocation | None = None
    consumers: Sequence[observed_claims.Consumer] = ()
    open: dict[str, Reservation] = dataclasses.field(default_factory=dict)
    """Its reservations, by the uid of the consumer."""
    generated: Generated | None = None


class ClaimLives(folders.Folder):
    """The changes of all claims of a run."""

    def __init__(self) -> None:
        self.allocated_versions = 0
        """Number of versions with an allocation."""
        self.changes = 0
        """Number of times that a claim got or lost its allocation, or has another one."""
        self.reserved_versions = 0
        """Number of versions with a reservation."""
        self.most = 0
        """Largest number of reservations of one claim at once."""
        self.moves: list[Move] = []
        self.bare: list[Bare] = []
        self.removed: list[Removed] = []
        self.unallocated: list[Unallocated] = []
        self.excesses: dict[str, list[tuple[ClaimName, int, int]]] = {}
        """Uid of a claim -> the claim, versions with too many reservations, and their number."""
        self.reservations: list[Reservation] = []
        """Ordered by their beginning."""
        self.generated: dict[EntryKey, list[Generated]] = {}
        """All claims of an entry of a pod, in the order in which they were seen."""
        self.last_version = 0
        """The newest resourceVersion of a claim."""
        self._live: dict[str, _Live] = {}
        self._has_list = False
        self._has_gap = False

    @property
    def is_complete(self) -> bool:
        """Return whether every claim that existed was observed."""
        return self._has_list and not self._has_gap

    def see_list(self, listed: records.Listed) -> None:
        """Note the first list of the claims."""
        if listed.resource == observations.CLAIMS and listed.purpose == "first":
            self._has_list = True

    def see_claim(self, seen: observations.SeenClaim) -> None:
        claim = seen.object
        self.last_version = max(self.last_version, seen.version)
        live = self._known(seen)
        if seen.is_gone:
            self._note_allocation(live, seen)
            self._note_removal(live, seen)
            self._end_all(live, seen.version, "removed" if seen.ignored_finalizers else "deleted")
            if live.generated is not None:
                live.generated.gone_version = seen.version
            self._live.pop(claim.metadata.uid, None)
            return
        self._note_allocation(live, seen)
        self._note_reservations(live, seen)
        if live.generated is not None and claim.metadata.deletion_timestamp is not None:
            live.generated.deleting_version = live.generated.deleting_version or seen.version
        if not claim.metadata.finalizers:
            live.finalized_version = None
        elif live.finalized_version is None:
            live.finalized_version = seen.version
        live.version = seen.version

    def see_gap(self, gap: records.Gap) -> None:
        """Forget all claims: what happens to them now is not seen. They may be gone."""
        if gap.resource != observations.CLAIMS:
            return
        self._has_gap = True
        for live in self._live.values():
            if live.generated is not None:
                live.generated.gone_version = gap.after_resource_version + 1
        self._live.clear()

    def _known(self, seen: observations.SeenClaim) -> _Live:
        """Return what is known of the claim; nothing after a gap or in a broken order."""
        uid = seen.object.metadata.uid
        live = self._live.get(uid)
        if live is None or seen.version <= live.version:
            live = self._live[uid] = _Live(name_of(seen.object), seen.version)
            self._note_generated(live, seen)
        return live

    # -------------------------------------------------------------------- allocations

    def _note_allocation(self, live: _Live, seen: observations.SeenClaim) -> None:
        before, after = live.allocation, seen.object.status.allocation
        if after is not None:
            self.allocated_versions += 1
            self._note_finalizer(live, seen)
        if before != after and not seen.is_gone:
            self.changes += 1
            if before is not None and after is not None:
                self.moves.append(
                    Move(claim=live.name, version=seen.version, before=before, after=after)
                )
        live.allocation, live.is_fresh = after, False

    def _note_finalizer(self, live: _Live, seen: observations.SeenClaim) -> None:
        """Note an allocation without the finalizer; see `allocation_finalizers` for extended."""
        is_set_now = live.allocation is None and not live.is_fresh and not seen.is_gone
        if FINALIZER in (seen.object.metadata.finalizers or ()):
            return
        if is_set_now or not live.name.is_extended:
            bare = Bare(claim=live.name, version=seen.version, is_gone=seen.is_gone)
            self.bare.append(bare)

    def _note_removal(self, live: _Live, seen: observations.SeenClaim) -> None:
        if finalizers := seen.ignored_finalizers:
            removed = Removed(
                claim=live.name,
                version=seen.version,
                finalizers=finalizers,
                is_allocated=seen.object.status.allocation is not None,
                since_version=live.finalized_version or seen.version,
            )
            self.removed.append(removed)

    # ------------------------------------------------------------------- reservations

    def _note_reservations(self, live: _Live, seen: observations.SeenClaim) -> None:
        consumers = seen.object.status.reserved_for or ()
        if consumers:
            self._count(live, len(consumers), seen)
        if consumers == live.consumers:
            return
        now = {item.uid: item for item in consumers}
        end: End = "dropped" if seen.object.status.allocation is not None else "deallocated"
        for uid in [uid for uid in live.open if uid not in now]:
            _close(live.open.pop(uid), seen.version, end)
        for uid, consumer in now.items():
            if uid not in live.open:
                live.open[uid] = Reservation(
                    claim=live.name, consumer=consumer, from_version=seen.version
                )
                self.reservations.append(live.open[uid])
        live.consumers = consumers

    def _count(self, live: _Live, count: int, seen: observations.SeenClaim) -> None:
        self.reserved_versions += 1
        self.most = max(self.most, count)
        if seen.object.status.allocation is None:
            found = Unallocated(claim=live.name, version=seen.version, count=count)
            self.unallocated.append(found)
        if count > RESERVATIONS_MAX:
            self.excesses.setdefault(live.name.uid, []).append((live.name, seen.version, count))

    def _end_all(self, live: _Live, version: int, end: End) -> None:
        for reservation in live.open.values():
            _close(reservation, version, end)
        live.open.clear()

    # --------------------------------------------------------------- generated claims

    def _note_generated(self, live: _Live, seen: observations.SeenClaim) -> None:
        name = live.name
        if name.owner is None or name.entry is None or seen.is_gone:
            return
        claims = self.generated.setdefault((name.owner, name.entry), [])
        known = next((item for item in claims if item.claim.uid == name.uid), None)
        if known is None:
            known = Generated(claim=name, from_version=seen.version, is_new=seen.type == "ADDED")
            claims.append(known)
        known.gone_version = None
        live.generated = known


def _close(reservation: Reservation, version: int, end: End) -> None:
    reservation.until_version, reservation.end = version, end


def name_of(claim: observed_claims.Claim) -> ClaimName:
    """Return the name of a claim, and the pod and entry that it is for."""
    meta = claim.metadata
    annotations = meta.annotations or {}
    return ClaimName(
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        owner=meta.owner,
        entry=annotations.get(ENTRY),
        is_extended=EXTENDED in annotations,
    )
