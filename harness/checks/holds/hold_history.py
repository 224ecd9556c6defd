"""Folds the observations into holds: which claim held which device from when to when.

Order comes from resourceVersions only. If a gap in the watch hides when a hold began or ended, the
hold is assumed to be as short as the observations allow, so that doubt never becomes a violation.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import msgspec

from harness.checks.holds import hold_columns
from harness.checks.observed import (
    claim_results,
    folders,
    interning,
    observations,
    observed_claims,
)
from harness.history import records

CLAIMS, PODS = observations.CLAIMS, observations.PODS
_NOTHING = hold_columns.NOTHING


Hold: TypeAlias = hold_columns.Hold
Life: TypeAlias = hold_columns.Life


class ObservedStream(msgspec.Struct):
    """Completeness of the observations of one resource."""

    has_first_list: bool = False
    has_final_list: bool = False
    observed: int = 0
    """Number of observations, without the final list."""
    last_rv: int = 0
    gaps: list[records.Gap] = []
    disordered: list[int] = []
    """resourceVersions that arrived after a later one."""
    live: dict[str, int] = {}
    """uid -> resourceVersion of every live object, according to the events."""
    final: dict[str, int] = {}
    """uid -> resourceVersion of every live object, according to the final list."""

    def note_events(self, batch: folders.Batch) -> None:
        """Note events that come in the order of their versions."""
        self.observed += len(batch.seen)
        self.last_rv = batch.versions[-1]
        if not batch.has_deleted:
            self.live.update(zip(batch.uids, batch.versions, strict=True))
            return
        for seen, uid in zip(batch.seen, batch.uids, strict=True):
            if seen.type == "DELETED":
                self.live.pop(uid, None)
            else:
                self.live[uid] = seen.version

    def note(self, uid: str, version: int, kind: str) -> None:
        """Note an observation of this type, other than FINAL."""
        self.observed += 1
        if kind != "LISTED":
            if version <= self.last_rv:
                self.disordered.append(version)
            self.last_rv = version
        if kind == "DELETED":
            self.live.pop(uid, None)
        else:
            self.live[uid] = version


class Relist(msgspec.Struct):
    """A list after a gap that is still being read."""

    left: int
    """Number of objects still to come."""
    certain_rv: int
    """The last resourceVersion before the gap."""
    seen: set[str] = set()


_Fold: TypeAlias = Callable[[observations.SeenAny, str, Relist | None], None]


class HoldHistory(folders.Folder):
    """All holds of a run, and the completeness of the observations behind them."""

    def __init__(self) -> None:
        self.streams: dict[str, ObservedStream] = {}
        self.claims: dict[str, Life] = {}
        self.pods: dict[str, Life] = {}
        self.holds = hold_columns.HoldColumns(self.claims)
        self.last_rv = 0
        self._relists: dict[str, Relist] = {}
        self._without_shares = interning.DerivedValues(claim_results.without_shares)

    def stream(self, resource: str) -> ObservedStream:
        """Return the stream of a resource; an empty one if nothing was observed."""
        stream = self.streams.get(resource)
        if stream is None:
            stream = self.streams[resource] = ObservedStream()
        return stream

    @property
    def pods_running(self) -> int:
        return sum(life.ready_ns is not None for life in self.pods.values())

    # ----------------------------------------------------------------------- records

    def end(self, ts_ns: int) -> None:
        """Note that there are no more records.

        Objects missing from a list that broke off are treated as gone, like those missing from a
        complete one.
        """
        for resource in list(self._relists):
            self._end_relist(resource, ts_ns)

    def see_gap(self, gap: records.Gap) -> None:
        """Note a gap, in which objects may have changed."""
        self.stream(gap.resource).gaps.append(gap)

    def see_list(self, listed: records.Listed) -> None:
        """Note that a list begins."""
        stream = self.stream(listed.resource)
        self.last_rv = max(self.last_rv, listed.resource_version)
        match listed.purpose:
            case "first":
                stream.has_first_list = True
            case "final":
                stream.has_final_list = True
            case "relist":
                certain = stream.gaps[-1].after_resource_version if stream.gaps else stream.last_rv
                self._relists[listed.resource] = Relist(listed.count, certain)
                self._end_relist_if_read(listed.resource, listed.ts_ns)
        if listed.purpose != "final":
            stream.last_rv = max(stream.last_rv, listed.resource_version)

    def see_final(self, seen: observations.SeenAny) -> None:
        """Note an object that existed at the end."""
        self.stream(seen.resource).final[seen.object.metadata.uid] = seen.version

    def see_batch(self, batch: folders.Batch) -> None:
        """Fold the next versions of objects."""
        resource, stream = batch.resource, self.stream(batch.resource)
        folds: Mapping[str, _Fold] = {CLAIMS: self._fold_claim, PODS: self._fold_pod}
        fold = folds.get(resource)
        if batch.is_regular and batch.versions[0] > stream.last_rv:
            stream.note_events(batch)
            self.last_rv = max(self.last_rv, batch.versions[-1])
            if fold is not None:
                for seen, uid in zip(batch.seen, batch.uids, strict=True):
                    fold(seen, uid, None)
            return
        for seen, uid in zip(batch.seen, batch.uids, strict=True):
            stream.note(uid, seen.version, seen.type)
            self.last_rv = max(self.last_rv, seen.version)
            relist = self._relists.get(resource) if seen.type == "LISTED" else None
            if fold is not None:
                fold(seen, uid, relist)
            if relist is not None:
                relist.left -= 1
                relist.seen.add(uid)
                self._end_relist_if_read(resource, seen.ts_ns)

    def _end_relist_if_read(self, resource: str, ts_ns: int) -> None:
        """Release the claims that vanished during a gap, after the last object of the list."""
        if self._relists[resource].left <= 0:
            self._end_relist(resource, ts_ns)

    def _end_relist(self, resource: str, ts_ns: int) -> None:
        relist = self._relists.pop(resource)
        live = self.stream(resource).live
        for uid in [uid for uid in live if uid not in relist.seen]:
            del live[uid]
            if resource == CLAIMS:
                self._release(self.claims[uid], _NOTHING, relist.certain_rv + 1, ts_ns)

    # ------------------------------------------------------------------------ claims

    def _fold_claim(self, seen: observations.SeenClaim, uid: str, relist: Relist | None) -> None:
        allocation, is_gone = seen.object.status.allocation, seen.type == "DELETED"
        life = self.claims.get(uid) or _begun(self.claims, seen)
        held = _NOTHING
        if is_gone:
            life.gone_ns = seen.ts_ns
        elif allocation is not None:
            known = self._without_shares.of(allocation)
            # Only shares also depend on what it asked for.
            held = (
                claim_results.held(allocation, seen.object.spec.devices) if known is None else known
            )
        if life.held and life.held is not held and life.held != held:
            # A release within a gap may have happened right after the last observation before it.
            until = seen.version if relist is None or is_gone else relist.certain_rv + 1
            self._release(life, held, until, seen.ts_ns)
        if held:
            self._take(seen, life, held)
        elif is_gone:
            life.rows = None

    def _release(
        self, life: Life, kept: Mapping[str, claim_results.Held], rv: int, ts_ns: int
    ) -> None:
        """End the claim's holds, except those in `kept` that have not changed.

        `_take` is to follow if anything is kept.
        """
        rows = life.rows or {}
        for device, how in life.held.items():
            if not kept or kept.get(device) != how:
                self.holds.close(rows.pop(device), rv, ts_ns)
        life.held = _NOTHING

    def _take(
        self, seen: observations.SeenClaim, life: Life, held: Mapping[str, claim_results.Held]
    ) -> None:
        """Begin the holds that the claim has not had, and note the pods of all."""
        pods, rows = _pods_of(seen.object), life.rows
        if life.users != pods:
            life.users = pods
        elif life.held is held:
            return
        if rows is None:
            rows = life.rows = {}
            if life.ready_ns is None:
                life.ready_ns = seen.ts_ns
        life.held = held
        for device, how in held.items():
            if device in rows:
                self.holds.add_pods(rows[device], life.users)
            else:
                rows[device] = self.holds.open(
                    device, how, life.number, seen.version, seen.ts_ns, life.users
                )

    # -------------------------------------------------------------------------- pods

    def _fold_pod(self, seen: observations.SeenPod, uid: str, relist: Relist | None) -> None:
        del relist
        phase = seen.object.status.phase
        life = self.pods.get(uid) or _begun(self.pods, seen)
        if life.bound_ns is None and seen.object.spec.node_name:
            life.bound_ns = seen.ts_ns
        if seen.is_gone:
            life.gone_ns = seen.ts_ns
        elif phase == "Running" and life.ready_ns is None:
            life.ready_ns = seen.ts_ns


def _begun(lives: dict[str, Life], seen: observations.SeenAny) -> Life:
    """Add an object that was not seen before."""
    meta = seen.object.metadata
    namespace = sys.intern(meta.namespace)
    life = Life(meta.name, seen.ts_ns, namespace=namespace, number=len(lives))
    lives[meta.uid] = life
    return life


def _pods_of(claim: observed_claims.Claim) -> hold_columns.Pods:
    reserved = claim.status.reserved_for
    if not reserved:
        return ()
    if len(reserved) == 1 and reserved[0].resource == PODS:
        return (reserved[0].name,)
    return tuple(sorted({item.name for item in reserved if item.resource == PODS}))


def fold(body: Iterable[records.Body], *beside: folders.Folder) -> HoldHistory:
    """Return the hold history of all records of the recorder, which `beside` folds as well."""
    folded = HoldHistory()
    folders.fold(body, *beside, folded)
    return folded
