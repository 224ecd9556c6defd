"""Folds the observations into holds: which claim held which device from when to when.

Order comes from resourceVersions only. If a gap in the watch hides when a hold began or ended, the
hold is assumed to be as short as the observations allow, so that doubt never becomes a violation.
"""

import functools
import sys
from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from harness.checks.holds import claim_events, hold_columns
from harness.checks.observed import folders, observations
from harness.history import records

CLAIMS, PODS = observations.CLAIMS, observations.PODS


Hold: TypeAlias = hold_columns.Hold
Life: TypeAlias = claim_events.Life


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

    def note(self, batch: folders.Batch) -> None:
        self.observed += len(batch.seen)
        for seen, uid, version in zip(batch.seen, batch.uids, batch.versions, strict=True):
            if seen.type != "LISTED":
                if version <= self.last_rv:
                    self.disordered.append(version)
                self.last_rv = version
            if seen.type == "DELETED":
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


class HoldHistory(folders.Folder):
    """All holds of a run, and the completeness of the observations behind them."""

    def __init__(self) -> None:
        self.streams: dict[str, ObservedStream] = {}
        self.claims: dict[str, Life] = {}
        self.pods: dict[str, Life] = {}
        self.events = claim_events.ClaimEvents()
        """The versions of the claims."""
        self.last_rv = 0
        self._relists: dict[str, Relist] = {}

    def stream(self, resource: str) -> ObservedStream:
        stream = self.streams.get(resource)
        if stream is None:
            stream = self.streams[resource] = ObservedStream()
        return stream

    @functools.cached_property
    def holds(self) -> hold_columns.HoldColumns:
        return hold_columns.of_events(self.events, self.claims.values())

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
        self.stream(gap.resource).gaps.append(gap)

    def see_list(self, listed: records.Listed) -> None:
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
        self.stream(seen.resource).final[seen.object.metadata.uid] = seen.version

    def see_batch(self, batch: folders.Batch) -> None:
        resource = batch.resource
        is_of_relist = "LISTED" in batch.types and resource in self._relists
        if is_of_relist and len(batch.seen) > 1:
            for seen in batch.seen:
                self.see_batch(folders.Batch([seen]))
            return
        self.stream(resource).note(batch)
        self.last_rv = max(self.last_rv, *batch.versions)
        if resource == CLAIMS:
            self._fold_claims(batch)
        elif resource == PODS:
            self._fold_pods(batch)
        if is_of_relist:
            self._note_relisted(batch.seen[0])

    def _note_relisted(self, seen: observations.SeenAny) -> None:
        relist = self._relists[seen.resource]
        if seen.resource == CLAIMS:
            # A release within a gap may have happened right after what was seen before it.
            self.events.end_at(relist.certain_rv + 1)
        relist.left -= 1
        relist.seen.add(seen.object.metadata.uid)
        self._end_relist_if_read(seen.resource, seen.ts_ns)

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
                self._forget_holds()
                self.events.vanish(self.claims[uid].number, relist.certain_rv + 1, ts_ns)

    # ------------------------------------------------------------------------ claims

    def _fold_claims(self, batch: folders.Batch) -> None:
        self._forget_holds()
        lives = _lives(self.claims, batch)
        self.events.add([life.number for life in lives], batch)
        for life, seen in zip(lives, batch.seen, strict=True):
            if seen.type == "DELETED":
                life.gone_rv, life.gone_ns = seen.version, seen.ts_ns
            elif life.ready_ns is None and seen.object.results:
                life.ready_rv, life.ready_ns = seen.version, seen.ts_ns

    def _forget_holds(self) -> None:
        self.__dict__.pop("holds", None)

    # -------------------------------------------------------------------------- pods

    def _fold_pods(self, batch: folders.Batch) -> None:
        for life, seen in zip(_lives(self.pods, batch), batch.seen, strict=True):
            if life.bound_ns is None and seen.object.spec.node_name:
                life.node, life.bound_ns = seen.object.spec.node_name, seen.ts_ns
            if seen.type == "DELETED":
                life.gone_rv, life.gone_ns = seen.version, seen.ts_ns
            elif life.ready_ns is None and seen.object.status.phase == "Running":
                life.ready_rv, life.ready_ns = seen.version, seen.ts_ns


def _lives(known: dict[str, Life], batch: folders.Batch) -> list[Life]:
    """Return the life of each object, begun with those that were not seen before."""
    try:
        return list(map(known.__getitem__, batch.uids))
    except KeyError:
        for seen, meta in zip(batch.seen, batch.metas, strict=True):
            if meta.uid not in known:
                names = meta.uid, sys.intern(meta.namespace), meta.name
                known[meta.uid] = Life(*names, len(known), seen.version, seen.ts_ns)
        return list(map(known.__getitem__, batch.uids))


def fold(body: Iterable[records.Body], *beside: folders.Folder) -> HoldHistory:
    """Return the hold history of all records of the recorder, which `beside` folds as well."""
    folded = HoldHistory()
    folders.fold(body, *beside, folded)
    return folded
