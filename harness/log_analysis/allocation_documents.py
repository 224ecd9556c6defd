"""Reads which devices an allocation gives to its claim alone."""

from typing import Any

import msgspec


class _Result(msgspec.Struct, frozen=True):
    driver: str
    pool: str
    device: str
    adminAccess: bool | None = None  # noqa: N815 - the API's name
    shareID: str | None = None  # noqa: N815


class _Devices(msgspec.Struct, frozen=True):
    results: tuple[_Result, ...] = ()


class _Allocation(msgspec.Struct, frozen=True):
    devices: _Devices = _Devices()


_DECODER = msgspec.json.Decoder(_Allocation)


def devices(allocation: Any) -> tuple[str, ...] | None:
    """Return the devices of an allocation, as `driver/pool/device`; None if it cannot be read.

    It may be bytes of JSON, which are decoded at once, without the parts that are not asked.
    Devices for administrators and shares of a device are left out: several claims may have them.
    """
    try:
        if isinstance(allocation, bytes):
            return _exclusive(_DECODER.decode(allocation))
        return _exclusive(msgspec.convert(allocation, _Allocation))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _exclusive(allocation: _Allocation) -> tuple[str, ...]:
    names = (
        f"{result.driver}/{result.pool}/{result.device}"
        for result in allocation.devices.results
        if not result.adminAccess and not result.shareID
    )
    return tuple(dict.fromkeys(names))


DEVICES_MAX = 200_000
"""Devices that a table remembers; the first ones are forgotten first."""
CLAIMS_OF_DEVICE_MAX = 20
"""Claims that are remembered for one device, the latest ones."""
Table = dict[str, dict[str, None]]
"""Claims of each device, in the order in which they came."""


def add(table: Table, device: str, claim: str) -> None:
    """Add a claim to those of a device."""
    claims = table.get(device)
    if claims is None:
        if len(table) >= DEVICES_MAX:
            del table[next(iter(table))]
        table[device] = {claim: None}
        return
    claims[claim] = None
    if len(claims) > CLAIMS_OF_DEVICE_MAX:
        del claims[next(iter(claims))]


def discard(table: Table, device: str, claim: str) -> None:
    """Remove a claim from those of a device, if it is there."""
    claims = table.get(device)
    if claims is not None:
        claims.pop(claim, None)
        if not claims:
            del table[device]
