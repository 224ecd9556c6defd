"""Folds the observations into holds: which claim held which device from when to when.

Order comes from resourceVersions only. If a gap in the watch hides when a hold began or ended, the
hold is assumed to be as short as the observations allow, so that doubt never becomes a violation.
"""

import dataclasses
from collections.abc import Iterable, Mapping

from harness.checks.observed import claim_results, folders, observations, observed_claims
from harness.history import records

CLAIMS, PODS = observations.CLAIMS, observations.PODS


@dataclasses.dataclass(slots=True, kw_only=True)
class Hold:
    """The interval of resourceVersions in which a claim's allocation named a device."""

    device: str
    """`driver/pool/device`"""
    exclusive: bool
    """False for admin access and for a share of the device."""
    shared: bool = False
    """True for a share of the device, which other claims may share too."""
    consumed: tuple[tuple[str, str], ...] = ()
    """Name and quantity of each capacity that its shares consume; names can occur twice."""
    uid: str
    namespace: str
    name: str
    from_rv: int
    from_ts_ns: int
    """Monotonic time of the recorder; for display only."""
    until_rv: int | None = None
    """Exclusive; None: to the end of the history."""
    until_ts_ns: int | None = None
    pods: set[str] = dataclasses.field(default_factory=set)
    """Names of all pods in `status.reservedFor` during the hold."""

    @property
    def how(self) -> claim_results.Held:
        """How the claim holds the device."""
        return claim_results.Held(self.exclusive, self.shared, self.consumed)


@dataclasses.dataclass(slots=True)
class Life:
    """Milestones of one object in the recorder's time; for figures, never for verdicts."""

    name: str
    seen_ns: int
    ready_ns: int | None = None
    """First allocation of a claim, first `Running` of a pod; None: never."""
    gone_ns: int | None = None

    @property
    def waited_ns(self) -> int | None:
        """Nanoseconds until ready; None if never ready or if the clock went back."""
        if self.ready_ns is None or self.ready_ns < self.seen_ns:
            return None
        return self.ready_ns - self.seen_ns


@dataclasses.dataclass(slots=True)
class ObservedStream:
    """Completeness of the observations of one resource."""

    has_first_list: bool = False
    has_final_list: bool = False
    observed: int = 0
    """Number of observations, without the final list."""
    last_rv: int = 0
    gaps: list[records.Gap] = dataclasses.field(default_factory=list)
    disordered: list[int] = dataclasses.field(default_factory=list)
    """resourceVersions that arrived after a later one."""
    live: dict[str, int] = dataclasses.field(default_factory=dict)
    """uid -> resourceVersion of every live object, according to the events."""
    final: dict[str, int] = dataclasses.field(default_factory=dict)
    """uid -> resourceVersion of every live object, according to the final list."""


@dataclasses.dataclass(slots=True)
class _Relist:
    """A list after a gap that is still being read."""

    left: int
    """Number of objects still to come."""
    certain_rv: int
    """The last resourceVersion before the gap."""
    seen: set[str] = dataclasses.field(default_factory=set)


class HoldHistory(folders.Folder):
    """All holds of a run, and the completeness of the observations behind them."""

    def __init__(self) -> None:
        self.holds: list[Hold] = []
        self.streams: dict[str, ObservedStream] = {}
        self.claims: dict[str, Life] = {}
        self.pods: dict[str, Life] = {}
        self.last_rv = 0
        self._open: dict[str, dict[str, Hold]] = {}
        """claim uid -> device -> the open hold."""
        self._relists: dict[str, _Relist] = {}

    def stream(self, resource: str) -> ObservedStream:
        """Return the stream of a resource; an empty one if nothing was observed."""
        return self.streams.setdefault(resource, ObservedStream())

    @property
    def pods_running(self) -> int:
        """The number of pods that were observed `Running`."""
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
                self._relists[listed.resource] = _Relist(listed.count, certain)
                self._end_relist_if_read(listed.resource, listed.ts_ns)
        if listed.purpose != "final":
            stream.last_rv = max(stream.last_rv, listed.resource_version)

    def see_final(self, seen: observations.SeenAny) -> None:
        """Note an object that existed at the end."""
        self.stream(seen.resource).final[seen.object.metadata.uid] = seen.version

    def see_any(self, seen: observations.SeenAny) -> None:
        """Fold the next version of an object."""
        stream, uid = self.stream(seen.resource), seen.object.metadata.uid
        stream.observed += 1
        self.last_rv = max(self.last_rv, seen.version)
        if seen.type != "LISTED":
            if seen.version <= stream.last_rv:
                stream.disordered.append(seen.version)
            stream.last_rv = seen.version
        if seen.is_gone:
            stream.live.pop(uid, None)
        else:
            stream.live[uid] = seen.version
        self._fold(seen)

    def _fold(self, seen: observations.SeenAny) -> None:
        relist = self._relists.get(seen.resource) if seen.type == "LISTED" else None
        if seen.resource == CLAIMS:
            self._fold_claim(seen, certain_rv=relist.certain_rv if relist else None)
        elif seen.resource == PODS:
            self._fold_pod(seen)
        if relist is not None:
            relist.left -= 1
            relist.seen.add(seen.object.metadata.uid)
            self._end_relist_if_read(seen.resource, seen.ts_ns)

    def _end_relist_if_read(self, resource: str, ts_ns: int) -> None:
        """After the last object of a list, release the claims that vanished during the gap."""
        if self._relists[resource].left <= 0:
            self._end_relist(resource, ts_ns)

    def _end_relist(self, resource: str, ts_ns: int) -> None:
        relist = self._relists.pop(resource)
        live = self.stream(resource).live
        for uid in [uid for uid in live if uid not in relist.seen]:
            del live[uid]
            if resource == CLAIMS:
                self._release(uid, {}, relist.certain_rv + 1, ts_ns)

    # ------------------------------------------------------------------------ claims

    def _fold_claim(self, seen: observations.SeenClaim, *, certain_rv: int | None) -> None:
        claim, rv, ts_ns = seen.object, seen.version, seen.ts_ns
        uid = claim.metadata.uid
        life = self.claims.setdefault(uid, Life(claim.metadata.name, ts_ns))
        if seen.is_gone:
            life.gone_ns = ts_ns
            self._release(uid, {}, rv, ts_ns)
            return
        held = claim_results.held(claim.status.allocation)
        if held and life.ready_ns is None:
            life.ready_ns = ts_ns
        # A release within a gap may have happened right after the last observation before it.
        self._release(uid, held, rv if certain_rv is None else certain_rv + 1, ts_ns)
        self._take(claim, held, rv, ts_ns)

    def _release(
        self, uid: str, kept: Mapping[str, claim_results.Held], rv: int, ts_ns: int
    ) -> None:
        """End the claim's holds, except those in `kept` that have not changed."""
        held = self._open.get(uid, {})
        for device in [name for name, hold in held.items() if kept.get(name) != hold.how]:
            hold = held.pop(device)
            hold.until_rv, hold.until_ts_ns = max(rv, hold.from_rv), ts_ns
        if not held:
            self._open.pop(uid, None)

    def _take(
        self,
        claim: observed_claims.Claim,
        held: Mapping[str, claim_results.Held],
        rv: int,
        ts_ns: int,
    ) -> None:
        meta = claim.metadata
        pods = {item.name for item in claim.status.reserved_for or () if item.resource == PODS}
        mine = self._open.setdefault(meta.uid, {}) if held else {}
        for device, how in held.items():
            if device not in mine:
                mine[device] = Hold(
                    device=device,
                    exclusive=how.exclusive,
                    shared=how.shared,
                    consumed=how.consumed,
                    uid=meta.uid,
                    namespace=meta.namespace,
                    name=meta.name,
                    from_rv=rv,
                    from_ts_ns=ts_ns,
                )
                self.holds.append(mine[device])
            mine[device].pods |= pods

    # -------------------------------------------------------------------------- pods

    def _fold_pod(self, seen: observations.SeenPod) -> None:
        meta, phase = seen.object.metadata, seen.object.status.phase
        life = self.pods.setdefault(meta.uid, Life(meta.name, seen.ts_ns))
        if seen.is_gone:
            life.gone_ns = seen.ts_ns
        elif phase == "Running" and life.ready_ns is None:
            life.ready_ns = seen.ts_ns


def fold(body: Iterable[records.Body], *beside: folders.Folder) -> HoldHistory:
    """Return the hold history of all records of the recorder, which `beside` folds as well."""
    folded = HoldHistory()
    folders.fold(body, *beside, folded)
    return folded
