"""The writes of the involved claims, as the API server published them."""

import dataclasses
from collections.abc import Iterable, Iterator

import msgspec

from harness.history import records
from harness.reproduction.issue import involved_objects

WRITES_MAX = 60
"""Writes that are listed."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWrite:
    """One commit of a claim."""

    claim: involved_objects.InvolvedClaim
    resource_version: int
    ts_ns: int
    """Monotonic time at which the recorder saw it; for display only."""
    event: str
    """`ADDED`, `MODIFIED` or `DELETED`."""
    state: str
    """The claim's devices and reservations after it, as text."""


class _Meta(msgspec.Struct):
    uid: str
    deletionTimestamp: str | None = None  # noqa: N815 - the API's spelling


class _Result(msgspec.Struct):
    driver: str
    pool: str
    device: str


class _Devices(msgspec.Struct):
    results: list[_Result] = []


class _Allocation(msgspec.Struct):
    devices: _Devices = msgspec.field(default_factory=_Devices)


class _Consumer(msgspec.Struct):
    name: str


class _Status(msgspec.Struct):
    allocation: _Allocation | None = None
    reservedFor: list[_Consumer] | None = None  # noqa: N815


class _Claim(msgspec.Struct):
    metadata: _Meta
    status: _Status = msgspec.field(default_factory=_Status)


_claims = msgspec.json.Decoder(_Claim)


def of_claims(
    observations: Iterable[records.Body], involved: involved_objects.Involved
) -> list[ClaimWrite]:
    found = sorted(_found(observations, involved), key=lambda write: write.resource_version)
    return found[:WRITES_MAX]


def _found(
    observations: Iterable[records.Body], involved: involved_objects.Involved
) -> Iterator[ClaimWrite]:
    by_uid = {claim.uid: claim for claim in involved.claims}
    for item in observations:
        if not isinstance(item, records.Observation) or item.resource != "resourceclaims":
            continue
        if item.type in ("LISTED", "FINAL"):
            continue
        claim = _claims.decode(item.object)
        if claim.metadata.uid in by_uid:
            yield ClaimWrite(
                claim=by_uid[claim.metadata.uid],
                resource_version=item.resource_version,
                ts_ns=item.ts_ns,
                event=item.type,
                state=_state(claim),
            )


def _state(claim: _Claim) -> str:
    parts = []
    if claim.metadata.deletionTimestamp:
        parts.append("being deleted")
    allocation = claim.status.allocation
    devices = [] if allocation is None else allocation.devices.results
    names = [f"{item.driver}/{item.pool}/{item.device}" for item in devices]
    parts.append(f"allocated {', '.join(names)}" if allocation else "not allocated")
    if claim.status.reservedFor:
        parts.append(f"reserved for {', '.join(item.name for item in claim.status.reservedFor)}")
    return ", ".join(parts)
