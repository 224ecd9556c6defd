"""Folds observations into the rows of tables, one by one; memory grows with what is open only.

The definition of a hold is that of `tests/support/second_judge.py`, and so are the holds; code of
the checks is not used.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from harness.history import records

CLAIMS, PODS, SLICES = "resourceclaims", "pods", "resourceslices"
TABLES = frozenset({"claims", "pods", "holds", "devices", "pool_devices"})
"""Tables that are made of the observations."""


class _Result(msgspec.Struct, rename="camel"):
    request: str | None = None
    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    admin_access: bool | None = None
    share: str | None = msgspec.field(name="shareID", default=None)
    consumed: msgspec.Raw = msgspec.field(name="consumedCapacity", default_factory=msgspec.Raw)


class _Devices(msgspec.Struct):
    results: list[_Result] | None = None


class _Allocation(msgspec.Struct):
    devices: _Devices | None = None


class _Status(msgspec.Struct):
    allocation: _Allocation | None = None


class _Meta(msgspec.Struct):
    uid: str
    namespace: str = ""
    name: str = ""


class _Claim(msgspec.Struct):
    metadata: _Meta
    status: _Status | None = None


class _PodStatus(msgspec.Struct):
    phase: str | None = None


class _PodSpec(msgspec.Struct, rename="camel"):
    node_name: str | None = None


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)


class _Pool(msgspec.Struct):
    name: str | None = None
    generation: int = 0


class _Device(msgspec.Struct, rename="camel"):
    name: str | None = None
    allow_multiple_allocations: bool | None = None


class _Spec(msgspec.Struct):
    driver: str | None = None
    pool: _Pool | None = None
    devices: list[_Device] | None = None


class _Slice(msgspec.Struct):
    metadata: _Meta
    spec: _Spec


class _How(NamedTuple):
    """How a claim holds a device. A hold ends when one of the first three changes."""

    is_exclusive: bool = False
    is_shared: bool = False
    consumed: str = ""
    """Consumed capacity of its shares, as JSON."""
    request: str = ""
    share: str = ""

    @property
    def kind(self) -> str:
        return "exclusive" if self.is_exclusive else "share" if self.is_shared else "admin"


_decode_claim = msgspec.json.Decoder(_Claim).decode
_decode_pod = msgspec.json.Decoder(_Pod).decode
_decode_slice = msgspec.json.Decoder(_Slice).decode


@dataclasses.dataclass(slots=True)
class _Open:
    """A hold that has not ended."""

    how: _How
    from_rv: int
    from_ts_ns: int


class _Life:
    """An object that is not known to be deleted."""

    def __init__(self, meta: _Meta, seen: records.Observation) -> None:
        self.meta, self.from_rv, self.from_ts_ns = meta, seen.resource_version, seen.ts_ns
        self.node: str | None = None
        self.ready_rv: int | None = None
        """First version of a claim with an allocation, or of a pod that is Running."""
        self.ready_ts_ns: int | None = None

    def is_ready(self, seen: records.Observation) -> None:
        """Note that it has what it waited for."""
        if self.ready_rv is None:
            self.ready_rv, self.ready_ts_ns = seen.resource_version, seen.ts_ns


@dataclasses.dataclass(slots=True)
class _Holder:
    """A claim that holds devices."""

    meta: _Meta
    seen_ns: int
    held: dict[str, _Open] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(slots=True)
class _Relist:
    """A list after a gap that is being read."""

    left: int
    certain_rv: int
    """The last version before the gap."""
    seen: set[str] = dataclasses.field(default_factory=set)


class ObservedRows:
    """The rows that are complete, and what is open at one place of the observations."""

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in sorted(TABLES)}
        """Table -> its rows that were not taken."""
        self._lives: dict[str, dict[str, _Life]] = {CLAIMS: {}, PODS: {}}
        self._declared: dict[str, dict[tuple[Any, ...], tuple[int, int]]] = {}
        """UID of a slice -> row of each of its devices -> version and time of its begin."""
        self._shareable: dict[str, bool] = {}
        """Device of a slice -> whether a version of it let claims share it."""
        self._holders: dict[str, _Holder] = {}
        self._relist: _Relist | None = None
        self._gap_rv: int | None = None
        self._last_rv = 0
        self._is_rewound = False
        """True if the revisions have gone back: nothing later can be put in order with them."""

    @property
    def size(self) -> int:
        """The largest number of rows of a table."""
        return max(map(len, self.rows.values()))

    def taken(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows that are complete, and forget them."""
        taken, self.rows = self.rows, {name: [] for name in self.rows}
        return taken

    def see(self, record: records.Body) -> None:
        """See the next record. Raises msgspec.DecodeError if an object is not one of the API."""
        if isinstance(record, records.Observation):
            if record.type == "FINAL":
                return
            if record.resource == CLAIMS:
                self._see_claim(record, _decode_claim(record.object))
            elif record.resource == PODS:
                self._see_pod(record, _decode_pod(record.object))
            elif record.resource == SLICES:
                self._see_slice(record, _decode_slice(record.object))
        elif isinstance(record, records.Gap) and record.resource == CLAIMS:
            self._gap_rv = record.after_resource_version
        elif (
            isinstance(record, records.Listed)
            and record.resource == CLAIMS
            and not self._is_rewound
        ):
            self._see_list(record)

    def end(self) -> None:
        """Add the rows of all that has not ended."""
        self._end_relist()
        for holder in self._holders.values():
            for device, hold in holder.held.items():
                self._add_hold(holder.meta, device, hold, None, None)
        for resource, lives in self._lives.items():
            for life in lives.values():
                self._add_life(resource, life, None, None)
        for declared in self._declared.values():
            for row, begin in declared.items():
                self._add_declared(row, begin, None, None)
        self.rows["devices"] += self._shareable.items()

    # ------------------------------------------------------------------------- lives

    def _live(self, seen: records.Observation, meta: _Meta) -> _Life:
        """Return the life of an object, which ends with its deletion."""
        lives = self._lives[seen.resource]
        life = lives.get(meta.uid)
        if life is None:
            life = lives[meta.uid] = _Life(meta, seen)
        return life

    def _end_life(self, seen: records.Observation, life: _Life) -> None:
        if seen.type == "DELETED":
            del self._lives[seen.resource][life.meta.uid]
            self._add_life(seen.resource, life, seen.resource_version, seen.ts_ns)

    def _add_life(
        self, resource: str, life: _Life, gone_rv: int | None, gone_ns: int | None
    ) -> None:
        meta, gone = life.meta, (gone_rv, gone_ns)
        names, begin = (meta.uid, meta.namespace, meta.name), (life.from_rv, life.from_ts_ns)
        if resource == CLAIMS:
            row = *names, *begin, life.ready_rv, life.ready_ts_ns, *gone
            self.rows["claims"].append(row)
        else:
            self.rows["pods"].append((*names, life.node, *begin, life.ready_ts_ns, *gone))

    def _see_pod(self, seen: records.Observation, pod: _Pod) -> None:
        life = self._live(seen, pod.metadata)
        life.node = life.node or pod.spec.node_name
        if pod.status.phase == "Running":
            life.is_ready(seen)
        self._end_life(seen, life)

    # ------------------------------------------------------------------------- holds

    def _see_list(self, listed: records.Listed) -> None:
        if listed.purpose == "relist":
            certain = self._last_rv if self._gap_rv is None else self._gap_rv
            self._relist = _Relist(listed.count, certain)
            if listed.resource_version < self._last_rv:
                self._end_at_rewind()
                return
            self._end_relist_if_read()
        self._last_rv = max(self._last_rv, listed.resource_version)

    def _see_claim(self, seen: records.Observation, claim: _Claim) -> None:
        life = self._live(seen, claim.metadata)
        if claim.status and claim.status.allocation:
            life.is_ready(seen)
        self._end_life(seen, life)
        if self._is_rewound:
            return
        if seen.type != "LISTED" and seen.resource_version < self._last_rv:
            self._end_at_rewind()
            return
        self._last_rv = max(self._last_rv, seen.resource_version)
        is_gone = seen.type == "DELETED"
        held = {} if is_gone else _held(claim)
        until, relist = seen.resource_version, self._relist if seen.type == "LISTED" else None
        if relist is not None:
            # A release within a gap may have happened right behind the last version before it.
            until = relist.certain_rv + 1
            if held and seen.resource_version <= relist.certain_rv and self._is_new(claim):
                self._end_at_rewind()
                return
            relist.left -= 1
            relist.seen.add(claim.metadata.uid)
        self._release(claim.metadata.uid, held, until, seen.ts_ns)
        if held:
            self._take(claim.metadata, held, seen)
        self._end_relist_if_read()

    def _end_at_rewind(self) -> None:
        """End all holds where the revisions go back."""
        self._is_rewound = True
        certain = self._relist.certain_rv if self._relist is not None else self._last_rv
        self._relist = _Relist(0, certain)
        self._end_relist()

    def _is_new(self, claim: _Claim) -> bool:
        return claim.metadata.uid not in self._holders

    def _release(self, uid: str, kept: Mapping[str, _How], rv: int, ts_ns: int) -> None:
        """End the holds of a claim, except those in `kept` that have not changed."""
        holder = self._holders.get(uid)
        if holder is None:
            return
        for device, hold in list(holder.held.items()):
            now = kept.get(device)
            if now is None or now[:3] != hold.how[:3]:
                del holder.held[device]
                self._add_hold(holder.meta, device, hold, rv, ts_ns)
        if not holder.held:
            del self._holders[uid]

    def _take(self, meta: _Meta, held: Mapping[str, _How], seen: records.Observation) -> None:
        holder = self._holders.setdefault(meta.uid, _Holder(meta, seen.ts_ns))
        holder.seen_ns = max(holder.seen_ns, seen.ts_ns)
        for device, how in held.items():
            if device not in holder.held:
                holder.held[device] = _Open(how, seen.resource_version, seen.ts_ns)

    def _end_relist_if_read(self) -> None:
        if self._relist is not None and self._relist.left <= 0:
            self._end_relist()

    def _end_relist(self) -> None:
        """End the holds of claims that a list lacks, also of one that broke off."""
        relist, self._relist = self._relist, None
        if relist is None:
            return
        for uid in [uid for uid in self._holders if uid not in relist.seen]:
            self._release(uid, {}, relist.certain_rv + 1, self._holders[uid].seen_ns)

    def _add_hold(
        self, meta: _Meta, device: str, hold: _Open, rv: int | None, ts_ns: int | None
    ) -> None:
        how, until = hold.how, None if rv is None else max(rv, hold.from_rv)
        claim, begin = (meta.uid, meta.namespace, meta.name), (hold.from_rv, hold.from_ts_ns)
        row = device, *claim, how.kind, begin[0], until, begin[1], ts_ns
        texts = how.request or None, how.share or None, how.consumed or None
        self.rows["holds"].append((*row, *texts))

    # ------------------------------------------------------------------------ slices

    def _see_slice(self, seen: records.Observation, found: _Slice) -> None:
        spec, begin = found.spec, (seen.resource_version, seen.ts_ns)
        pool = spec.pool or _Pool()
        known = spec.driver or "", pool.name or "", pool.generation
        now: dict[tuple[Any, ...], tuple[int, int]] = {}
        for item in spec.devices or () if seen.type != "DELETED" else ():
            device = _device(spec.driver, pool.name, item.name)
            is_shareable = item.allow_multiple_allocations is True
            self._shareable[device] = self._shareable.get(device, False) or is_shareable
            now[device, *known, is_shareable] = begin
        before = self._declared.pop(found.metadata.uid, {})
        for row, begun in before.items():
            if row in now:
                now[row] = begun
            else:
                self._add_declared(row, begun, *begin)
        if now:
            self._declared[found.metadata.uid] = now

    def _add_declared(
        self, row: tuple[Any, ...], begin: tuple[int, int], rv: int | None, ts_ns: int | None
    ) -> None:
        self.rows["pool_devices"].append((*row, begin[0], rv, begin[1], ts_ns))


def _held(claim: _Claim) -> dict[str, _How]:
    """Return how the claim holds each device; of several results of a device, all together."""
    allocation = claim.status and claim.status.allocation
    found: dict[str, _How] = {}
    for item in (allocation and allocation.devices and allocation.devices.results) or ():
        is_admin, is_part = item.admin_access is True, bool(item.share)
        how = _How(
            not (is_admin or is_part),
            is_part and not is_admin,
            bytes(item.consumed).decode() if is_part and not is_admin else "",
            item.request or "",
            item.share or "",
        )
        device = _device(item.driver, item.pool, item.device)
        found[device] = _joined(found[device], how) if device in found else how
    return found


def _joined(one: _How, other: _How) -> _How:
    texts = (",".join(filter(None, pair)) for pair in zip(one[2:], other[2:], strict=True))
    return _How(one[0] or other[0], one[1] or other[1], *texts)


def _device(*parts: str | None) -> str:
    return "/".join(part for part in parts if part is not None)
