"""The rows that are made of the observations, with the holds that checks see."""

import dataclasses
import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from harness.checks.holds import hold_columns, hold_history
from harness.checks.observed import folders, observations, observed_claims
from harness.history import records

CLAIMS, PODS = observations.CLAIMS, observations.PODS
TABLES = frozenset({"claims", "pods", "holds", "devices", "pool_devices"})
"""Tables that are made of the observations."""
Row: TypeAlias = tuple[Any, ...]
_Results: TypeAlias = list[observed_claims.AllocationResult]
_NEVER = (None, None)


@dataclasses.dataclass(slots=True)
class _Life:
    """An object from the version that was observed first; moments are version and time."""

    names: tuple[str, str, str]
    begin: tuple[int, int]
    ready: tuple[int | None, int | None] = _NEVER
    """The first version with an allocation, or `Running`."""
    node: str | None = None
    results: _Results | None = None
    """The devices that the claim has, as text."""


class ObservedRows(folders.Folder):
    """Folds observations into rows; all of them are there at the end."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Row]] = {name: [] for name in TABLES}
        self._lives: dict[str, dict[str, _Life]] = {CLAIMS: {}, PODS: {}}
        self._shareable: dict[str, bool] = {}
        self._declared: dict[str, dict[Row, tuple[int, int]]] = {}
        """Slice by UID -> device, pool, generation and more, as it declares them now -> since."""
        self._holds = hold_history.HoldHistory()
        self._results: dict[tuple[str, int], _Results] = {}
        """Claim and version -> what it has allocated from that version on."""

    def tables(self) -> Iterator[tuple[str, Iterable[Row]]]:
        for resource, lives in self._lives.items():
            for life in lives.values():
                self._end_life(resource, life, _NEVER)
        for declared in self._declared.values():
            self._rows["pool_devices"] += (_until(row, since) for row, since in declared.items())
        yield from self._rows.items()
        yield "devices", self._shareable.items()
        yield "holds", map(self._hold, self._holds.holds)

    # ------------------------------------------------------------------------- holds

    def see_gap(self, gap: records.Gap) -> None:
        self._holds.see_gap(gap)

    def see_list(self, listed: records.Listed) -> None:
        self._holds.see_list(listed)

    def see_claim(self, seen: observations.SeenClaim) -> None:
        claim, uid = seen.object, seen.object.metadata.uid
        life = self._live(seen)
        if claim.status.allocation and life.ready == _NEVER:
            life.ready = seen.version, seen.ts_ns
        if life.results != claim.results:
            life.results = self._results[uid, seen.version] = claim.results
        self._end_if_gone(seen)
        self._holds.see_batch(folders.Batch([seen]))

    def _hold(self, hold: hold_columns.Hold) -> Row:
        results = self._results.get((hold.uid, hold.from_rv), ())
        found = [result for result in results if result.id == hold.device]
        texts = (
            [result.request for result in found],
            [result.share or "" for result in found],
            [
                json.dumps(dict(one.written), separators=(",", ":"))
                for one in hold.shares
                if one.written
            ],
        )
        begin, end = (hold.from_rv, hold.until_rv), (hold.from_ts_ns, hold.until_ts_ns)
        claim = hold.uid, hold.namespace, hold.name
        joined = (",".join(filter(None, parts)) or None for parts in texts)
        how = hold.how
        kind = "exclusive" if how.exclusive else "share" if how.shared else "admin"
        return hold.device, *claim, kind, *begin, *end, *joined

    # ------------------------------------------------------------------------- lives

    def see_pod(self, seen: observations.SeenPod) -> None:
        life, pod = self._live(seen), seen.object
        life.node = life.node or pod.spec.node_name or None
        if pod.status.phase == "Running" and life.ready == _NEVER:
            life.ready = seen.version, seen.ts_ns
        self._end_if_gone(seen)

    def _live(self, seen: observations.SeenAny) -> _Life:
        meta, lives = seen.object.metadata, self._lives[seen.resource]
        if meta.uid not in lives:
            names = meta.uid, meta.namespace, meta.name
            lives[meta.uid] = _Life(names, (seen.version, seen.ts_ns))
        return lives[meta.uid]

    def _end_if_gone(self, seen: observations.SeenAny) -> None:
        if seen.is_gone:
            life = self._lives[seen.resource].pop(seen.object.metadata.uid)
            self._end_life(seen.resource, life, (seen.version, seen.ts_ns))

    def _end_life(self, resource: str, life: _Life, gone: tuple[int | None, int | None]) -> None:
        row: Row = (*life.names, *life.begin, *life.ready, *gone)
        if resource == PODS:
            row = (*life.names, life.node, *life.begin, life.ready[1], *gone)
        self._rows["claims" if resource == CLAIMS else "pods"].append(row)

    # ------------------------------------------------------------------------ slices

    def see_slice(self, seen: observations.SeenSlice) -> None:
        spec, begin = seen.object.spec, (seen.version, seen.ts_ns)
        now: dict[Row, tuple[int, int]] = {}
        for item in spec.devices or () if not seen.is_gone else ():
            device = f"{spec.driver}/{spec.pool.name}/{item.name}"
            is_shareable = item.allow_multiple_allocations is True
            self._shareable[device] = self._shareable.get(device, False) or is_shareable
            pool = spec.driver, spec.pool.name, spec.pool.generation
            now[device, *pool, is_shareable] = begin
        for row, since in self._declared.pop(seen.object.metadata.uid, {}).items():
            if row in now:
                now[row] = since
            else:
                self._rows["pool_devices"].append(_until(row, since, *begin))
        self._declared[seen.object.metadata.uid] = now


def _until(
    row: Row, since: tuple[int, int], rv: int | None = None, ts_ns: int | None = None
) -> Row:
    return (*row, since[0], rv, since[1], ts_ns)
