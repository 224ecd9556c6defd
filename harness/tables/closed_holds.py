"""Folds observations into holds one by one; memory grows with the open holds only.

The definition is that of `hold_views`, and so are the results; code of the checks is not used.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import msgspec

from harness.history import records

CLAIMS, SLICES = "resourceclaims", "resourceslices"


class HoldRow(NamedTuple):
    """A hold, with the columns of the view `holds` except `run`."""

    device: str
    """`driver/pool/device`"""
    uid: str
    namespace: str
    name: str
    kind: str
    """`exclusive`, `share` or `admin`"""
    from_rv: int
    until_rv: int | None
    """Exclusive; None: to the end of the history."""
    from_ts_ns: int
    until_ts_ns: int | None


class _Result(msgspec.Struct, rename="camel"):
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


class _Pool(msgspec.Struct):
    name: str | None = None


class _Device(msgspec.Struct, rename="camel"):
    name: str | None = None
    allow_multiple_allocations: bool | None = None


class _Spec(msgspec.Struct):
    driver: str | None = None
    pool: _Pool | None = None
    devices: list[_Device] | None = None


class _Slice(msgspec.Struct):
    spec: _Spec


_How: TypeAlias = tuple[bool, bool, bytes]
"""Exclusive, shared, and what its shares consume."""
_decode_claim = msgspec.json.Decoder(_Claim).decode
_decode_slice = msgspec.json.Decoder(_Slice).decode


@dataclasses.dataclass(slots=True)
class _Open:
    """A hold that has not ended."""

    how: _How
    from_rv: int
    from_ts_ns: int


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


class HoldFold:
    """The open holds at one place of the observations, and the devices until there."""

    def __init__(self) -> None:
        self.shareable: dict[str, bool] = {}
        """Device of a slice -> whether a version of it let claims share it."""
        self._holders: dict[str, _Holder] = {}
        self._relist: _Relist | None = None
        self._gap_rv: int | None = None
        self._last_rv = 0
        self._is_rewound = False
        """True if the revisions have gone back: nothing later can be put in order with them."""

    def closed(self, body: Iterable[records.Body]) -> Iterator[HoldRow]:
        """Yield each hold when it ends, and at the end those that have not ended.

        Raises msgspec.DecodeError if an object is not one of the API.
        """
        for record in body:
            if isinstance(record, records.Observation):
                if record.resource == CLAIMS and not self._is_rewound:
                    yield from self._see_claim(record)
                elif record.resource == SLICES and record.type not in ("DELETED", "FINAL"):
                    self._see_slice(_decode_slice(record.object).spec)
            elif isinstance(record, records.Gap) and record.resource == CLAIMS:
                self._gap_rv = record.after_resource_version
            elif (
                isinstance(record, records.Listed)
                and record.resource == CLAIMS
                and not self._is_rewound
            ):
                yield from self._see_list(record)
        yield from self._end_relist()
        for holder in self._holders.values():
            for device, hold in holder.held.items():
                yield _row(holder.meta, device, hold, None, None)

    def _see_list(self, listed: records.Listed) -> Iterator[HoldRow]:
        if listed.purpose == "relist":
            certain = self._last_rv if self._gap_rv is None else self._gap_rv
            self._relist = _Relist(listed.count, certain)
            if listed.resource_version < self._last_rv:
                yield from self._end_at_rewind()
                return
            yield from self._end_relist_if_read()
        self._last_rv = max(self._last_rv, listed.resource_version)

    def _see_claim(self, seen: records.Observation) -> Iterator[HoldRow]:
        if seen.type not in ("LISTED", "FINAL") and seen.resource_version < self._last_rv:
            yield from self._end_at_rewind()
            return
        self._last_rv = max(self._last_rv, seen.resource_version)
        if seen.type == "FINAL":
            return
        claim = _decode_claim(seen.object)
        is_gone = seen.type == "DELETED"
        held = {} if is_gone else _held(claim)
        until, relist = seen.resource_version, self._relist if seen.type == "LISTED" else None
        if relist is not None:
            # A release within a gap may have happened right behind the last version before it.
            until = relist.certain_rv + 1
            if held and seen.resource_version <= relist.certain_rv and self._is_new(claim):
                yield from self._end_at_rewind()
                return
            relist.left -= 1
            relist.seen.add(claim.metadata.uid)
        yield from self._release(claim.metadata.uid, held, until, seen.ts_ns)
        if held:
            self._take(claim.metadata, held, seen)
        yield from self._end_relist_if_read()

    def _end_at_rewind(self) -> Iterator[HoldRow]:
        """End all holds where the revisions go back."""
        self._is_rewound = True
        certain = self._relist.certain_rv if self._relist is not None else self._last_rv
        self._relist = _Relist(0, certain)
        yield from self._end_relist()

    def _is_new(self, claim: _Claim) -> bool:
        return claim.metadata.uid not in self._holders

    def _release(
        self, uid: str, kept: Mapping[str, _How], rv: int, ts_ns: int
    ) -> Iterator[HoldRow]:
        """End the holds of a claim, except those in `kept` that have not changed."""
        holder = self._holders.get(uid)
        if holder is None:
            return
        for device, hold in list(holder.held.items()):
            if kept.get(device) != hold.how:
                del holder.held[device]
                yield _row(holder.meta, device, hold, rv, ts_ns)
        if not holder.held:
            del self._holders[uid]

    def _take(self, meta: _Meta, held: Mapping[str, _How], seen: records.Observation) -> None:
        holder = self._holders.setdefault(meta.uid, _Holder(meta, seen.ts_ns))
        holder.seen_ns = max(holder.seen_ns, seen.ts_ns)
        for device, how in held.items():
            if device not in holder.held:
                holder.held[device] = _Open(how, seen.resource_version, seen.ts_ns)

    def _end_relist_if_read(self) -> Iterator[HoldRow]:
        if self._relist is not None and self._relist.left <= 0:
            yield from self._end_relist()

    def _end_relist(self) -> Iterator[HoldRow]:
        """End the holds of claims that a list lacks, also of one that broke off."""
        relist, self._relist = self._relist, None
        if relist is None:
            return
        for uid in [uid for uid in self._holders if uid not in relist.seen]:
            yield from self._release(uid, {}, relist.certain_rv + 1, self._holders[uid].seen_ns)

    def _see_slice(self, spec: _Spec) -> None:
        pool = None if spec.pool is None else spec.pool.name
        for device in spec.devices or ():
            name = _device(spec.driver, pool, device.name)
            is_shareable = device.allow_multiple_allocations is True
            self.shareable[name] = self.shareable.get(name, False) or is_shareable


def _held(claim: _Claim) -> dict[str, _How]:
    """Return how the claim holds each device; of several results of a device, all together."""
    allocation = claim.status and claim.status.allocation
    found: dict[str, _How] = {}
    for item in (allocation and allocation.devices and allocation.devices.results) or ():
        is_admin, is_part = item.admin_access is True, bool(item.share)
        consumed = bytes(item.consumed) if is_part and not is_admin else b""
        device = _device(item.driver, item.pool, item.device)
        before = found.get(device, (False, False, b""))
        found[device] = (
            before[0] or not (is_admin or is_part),
            before[1] or (is_part and not is_admin),
            before[2] + b"," + consumed if consumed else before[2],
        )
    return found


def _device(*parts: str | None) -> str:
    return "/".join(part for part in parts if part is not None)


def _row(meta: _Meta, device: str, hold: _Open, rv: int | None, ts_ns: int | None) -> HoldRow:
    is_exclusive, is_shared, _ = hold.how
    kind = "exclusive" if is_exclusive else "share" if is_shared else "admin"
    until = None if rv is None else max(rv, hold.from_rv)
    return HoldRow(
        device,
        meta.uid,
        meta.namespace,
        meta.name,
        kind,
        hold.from_rv,
        until,
        hold.from_ts_ns,
        ts_ns,
    )
