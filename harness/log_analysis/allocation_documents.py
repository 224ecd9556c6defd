"""Reads which devices an allocation gives to its claim alone."""

from collections.abc import Iterator
from typing import Any


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
