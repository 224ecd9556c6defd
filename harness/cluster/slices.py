"""ResourceSlices of devices, as a run publishes them, as a driver does, and as pools change."""

from collections.abc import Sequence
from typing import Any

from harness.client import apis
from harness.model.objects import Object

DEVICES_MAX, RICH_DEVICES_MAX = 128, 64
"""The API's limits of devices in a slice: the lower one if a device has taints or consumes
counters."""
_RICH = ("taints", "consumesCounters")


def parts(devices: Sequence[Object], least: int = 1) -> list[list[Object]]:
    """Return the devices in parts of about the same size: at least this number, none with too many.

    A pool without devices has one slice.
    """
    is_rich = any(item.get(key) for item in devices for key in _RICH)
    most, total = RICH_DEVICES_MAX if is_rich else DEVICES_MAX, len(devices)
    count = max(1, min(least, total), -(-total // most))
    return [
        list(devices[number * total // count : (number + 1) * total // count])
        for number in range(count)
    ]


def document(
    metadata: Object, spec: Object, pool: str, *, generation: int = 1, count: int
) -> Object:
    """Return one of `count` slices of a pool; `spec`: its driver, place and content."""
    about = {"name": pool, "generation": generation, "resourceSliceCount": count}
    made: dict[str, Any] = {"apiVersion": apis.SLICES.api_version, "kind": apis.SLICES.kind}
    return {**made, "metadata": metadata, "spec": {**spec, "pool": about}}
