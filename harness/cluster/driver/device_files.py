"""The devices that the program publishes: a number of equal ones, or those of a file."""

import pathlib
from typing import Any

from harness import errors
from harness.manifests import reading, sources
from harness.model.objects import Object


def equal(count: int) -> tuple[Object, ...]:
    """Return devices that differ in their names and indexes only."""
    return tuple(
        {
            "name": f"device-{index:03d}",
            "attributes": {"model": {"string": "fake"}, "index": {"int": index}},
        }
        for index in range(count)
    )


def read(path: pathlib.Path) -> tuple[Object, ...]:
    """Return the devices of all ResourceSlices of a file, in YAML or JSON.

    Raises ManifestError if it cannot be read, or has other things or no devices.
    """
    slices = reading.read([str(path)], kinds=["ResourceSlice"], of="--devices")
    devices = tuple(device for manifest in slices for device in _devices(manifest))
    if not devices:
        raise errors.ManifestError(f"{path}: expected ResourceSlices with devices, got none")
    return devices


def _devices(manifest: sources.Manifest) -> list[Object]:
    spec = manifest.obj.get("spec")
    found = spec.get("devices") or [] if isinstance(spec, dict) else None
    if not isinstance(found, list) or not all(_is_device(item) for item in found):
        raise manifest.error("expected a list of devices with names", field="spec.devices")
    return found


def _is_device(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("name"), str)
