"""The versions of all claims, as far as checks compare them.

A change is judged only between two versions that the watch delivered one after the other: after a
gap, or when versions arrive out of order, a claim counts as never seen before.
"""

import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from harness.checks import verdicts
from harness.checks.observed import folders, observations, observed_claims
from harness.history import records

ENTRY = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a generated claim: the entry of the pod that it is for."""
EXTENDED = "resource.kubernetes.io/extended-resource-claim"
"""Annotation of a claim that a scheduler made for extended resources."""
Key = TypeVar("Key", bound=Hashable)


class ClaimName(verdicts.Named, msgspec.Struct, frozen=True, kw_only=True):
    """A claim, and the pod that it was generated for."""

    uid: str
    namespace: str
    name: str
    owner: str | None
    """Uid of the pod or PodGroup that controls it; None: a user created it."""
    entry: str | None
    """The entry of the pod that it is for; None: it has no such annotation."""
    is_extended: bool
    managed_fields: bytes
    """The field managers of a generated claim when it was first seen, as JSON."""


class Version(msgspec.Struct, frozen=True, gc=False):
    """A version of a claim; equal parts of versions that follow are one object."""

    claim: ClaimName
    rv: int
    ts_ns: int
    type: str
    epoch: int
    """Number of gaps before it."""
    allocation: observed_claims.Allocation | None
    consumers: Sequence[observed_claims.Consumer]
    finalizers: Sequence[str]
    ignored: Sequence[str]
    """Finalizers in spite of which the API server removed the claim."""
    is_deleting: bool

    @property
    def is_gone(self) -> bool:
        return self.type == "DELETED"

    @property
    def results(self) -> Sequence[observed_claims.AllocationResult]:
        return self.allocation.devices.results if self.allocation else ()

    @property
    def users(self) -> dict[str, observed_claims.Consumer]:
        return {item.uid: item for item in self.consumers}

    def follows(self, before: "Version | None") -> bool:
        """Return whether the watch delivered this version right after another one."""
        if before is None or before.is_gone:
            return False
        return self.epoch == before.epoch and self.rv > before.rv


class Span(msgspec.Struct, Generic[Key]):
    """The time in which something was so, from the first version to the one that ended it."""

    key: Key
    value: Any
    begin: Version
    end: Version | None = None
    """None: to the end of the history, or its end was not observed."""

    @property
    def claim(self) -> ClaimName:
        return self.begin.claim


class Generated(msgspec.Struct, kw_only=True):
    """A claim that was generated for an entry of a pod or PodGroup."""

    claim: ClaimName
    from_rv: int
    is_new: bool
    """Its creation was observed; False: a list had it."""
    deleting_rv: int | None
    """resourceVersion of the request to delete it; None: there was none."""
    gone_rv: int | None
    """None: to the end of the history, or its end was not observed."""


class ClaimVersions(folders.Folder):
    """The versions of each claim, in the order in which they were observed."""

    def __init__(self) -> None:
        self.by_uid: dict[str, list[Version]] = {}
        self.gaps: list[int] = []
        """The last resourceVersion before each gap."""
        self.last_rv = 0
        self.robbed: set[str] = set()
        """UIDs of pods whose allocated claim the API server removed in spite of its finalizer."""
        self._has_list = False

    @property
    def is_complete(self) -> bool:
        return self._has_list and not self.gaps

    def see_list(self, listed: records.Listed) -> None:
        self._has_list |= (listed.resource, listed.purpose) == (observations.CLAIMS, "first")

    def see_gap(self, gap: records.Gap) -> None:
        """Note a gap: no version follows one before it, and claims may be gone unseen."""
        if gap.resource == observations.CLAIMS:
            self.gaps.append(gap.after_resource_version)

    def see_claim(self, seen: observations.SeenClaim) -> None:
        claim, status = seen.object, seen.object.status
        self.last_rv = max(self.last_rv, seen.version)
        known = self.by_uid.setdefault(claim.metadata.uid, [])
        before = known[-1] if known else None
        consumers: Sequence[observed_claims.Consumer] = status.reserved_for or ()
        finalizers: Sequence[str] = claim.metadata.finalizers or ()
        if before is not None:
            consumers = before.consumers if consumers == before.consumers else consumers
            finalizers = before.finalizers if finalizers == before.finalizers else finalizers
        now = Version(
            before.claim if before else name_of(claim),
            seen.version,
            seen.ts_ns,
            seen.type,
            len(self.gaps),
            status.allocation,
            consumers,
            finalizers,
            seen.ignored_finalizers if seen.is_gone else (),
            claim.metadata.deletion_timestamp is not None,
        )
        known.append(now)
        if now.ignored and now.allocation is not None:
            self.robbed |= claim.pods

    # ------------------------------------------------------------------------ questions

    def __iter__(self) -> Iterator[Version]:
        return itertools.chain.from_iterable(self.by_uid.values())

    def pairs(self) -> Iterator[tuple[Version | None, Version]]:
        """Yield each version with the one before it; None: there is none that it follows."""
        for versions in self.by_uid.values():
            before = None
            for now in versions:
                yield before if now.follows(before) else None, now
                before = now

    def spans(
        self, of: Callable[[Version], Mapping[Key, Any]], *, across_gaps: bool = False
    ) -> Iterator[Span[Key]]:
        """Yield for how long each key was among those of the versions of a claim.

        `across_gaps`: what was so before a gap and is so after it was so all the time.
        """
        for versions in self.by_uid.values():
            lasting: dict[Key, Span[Key]] = {}
            before = None
            for now in versions:
                if not across_gaps and not now.follows(before):
                    yield from lasting.values()
                    lasting = {}
                listed = {} if now.is_gone else of(now)
                for key in [key for key in lasting if key not in listed]:
                    lasting[key].end = now
                    yield lasting.pop(key)
                for key, value in listed.items():
                    if key not in lasting:
                        lasting[key] = Span(key, value, now)
                before = now
            yield from lasting.values()

    def generated(self) -> dict[tuple[str, str], list[Generated]]:
        """Return the claims of each entry, by the uid of its pod or PodGroup and its name."""
        found: dict[tuple[str, str], list[Generated]] = {}
        for versions in self.by_uid.values():
            name, there = versions[0].claim, [item for item in versions if not item.is_gone]
            if name.owner is None or name.entry is None or not there:
                continue
            made = Generated(
                claim=name,
                from_rv=there[0].rv,
                is_new=there[0].type == "ADDED",
                deleting_rv=next((item.rv for item in there if item.is_deleting), None),
                gone_rv=self._gone_rv(there[-1], versions[-1]),
            )
            found.setdefault((name.owner, name.entry), []).append(made)
        return found

    def _gone_rv(self, there: Version, last: Version) -> int | None:
        """Return when a claim was gone; after a gap it may have been so from its begin on."""
        if last.is_gone and last.follows(there):
            return last.rv
        return self.gaps[there.epoch] + 1 if there.epoch < len(self.gaps) else None


def name_of(claim: observed_claims.Claim) -> ClaimName:
    meta = claim.metadata
    annotations, owner = meta.annotations or {}, meta.owner
    entry = annotations.get(ENTRY)
    is_generated = owner is not None and entry is not None
    return ClaimName(
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        owner=owner,
        entry=entry,
        is_extended=EXTENDED in annotations,
        managed_fields=bytes(meta.managed_fields) if is_generated else b"",
    )
