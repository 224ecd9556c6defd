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
    results: tuple[_Result, ...]


class _Allocation(msgspec.Struct, frozen=True):
    devices: _Devices


_NAMES = ("driver", "pool", "device")
_DECODER = msgspec.json.Decoder(_Allocation)


def parsed(document: bytes) -> tuple[str, ...] | None:
    """Return the devices of an allocation in JSON, as `devices` does.

    None if it has not the usual form; it is decoded at once, without the parts that are not asked.
    """
    try:
        results = _DECODER.decode(document).devices.results
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    names = [
        f"{result.driver}/{result.pool}/{result.device}"
        for result in results
        if not result.adminAccess and not result.shareID
    ]
    return tuple(dict.fromkeys(names)) if len(names) > 1 else tuple(names)


def devices(allocation: Any) -> tuple[str, ...] | None:
    """Return the devices of an allocation, as `driver/pool/device`; None if it cannot be read.

    Devices for administrators and shares of a device are left out: several claims may have them.
    """
    found = allocation.get("devices", {}) if isinstance(allocation, dict) else None
    results = found.get("results", []) if isinstance(found, dict) else None
    if not isinstance(results, list) or not all(map(_is_result, results)):
        return None
    return tuple(dict.fromkeys(map(_name, filter(_is_exclusive, results))))


def _is_result(result: Any) -> bool:
    return isinstance(result, dict) and all(isinstance(result.get(key), str) for key in _NAMES)


def _is_exclusive(result: dict[str, Any]) -> bool:
    return not result.get("adminAccess") and not result.get("shareID")


def _name(result: dict[str, Any]) -> str:
    return "/".join(result[key] for key in _NAMES)


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
