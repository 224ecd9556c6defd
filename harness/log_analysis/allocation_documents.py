"""Reads which devices an allocation gives to its claim alone."""

from collections.abc import Iterator
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


def devices(allocation: Any) -> tuple[str, ...]:
    """Return the devices of an allocation, as `driver/pool/device`.

    Devices for administrators and shares of a device are left out: several claims may have them.
    Empty for anything that is no allocation.
    """
    return tuple(dict.fromkeys(_devices(allocation)))


def _devices(allocation: Any) -> Iterator[str]:
    for result in _results(allocation):
        if isinstance(result, dict) and not result.get("adminAccess") and not result.get("shareID"):
            parts = [result.get(key) for key in ("driver", "pool", "device")]
            if all(isinstance(part, str) for part in parts):
                yield "/".join(map(str, parts))


def _results(allocation: Any) -> list[Any]:
    found = allocation.get("devices") if isinstance(allocation, dict) else None
    results = found.get("results") if isinstance(found, dict) else None
    return results if isinstance(results, list) else []
