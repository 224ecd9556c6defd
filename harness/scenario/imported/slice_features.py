"""Features of ResourceSlices: devices by pool, attributes, and what not all releases have."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from harness.manifests import sources
from harness.model.objects import Object
from harness.scenario.imported import imported_specs

PoolKey = tuple[str, str]
"""Driver and name of a pool."""


def pool_of(manifest: sources.Manifest) -> PoolKey:
    """Return driver and pool of a slice. Raises ManifestError if it lacks one."""
    spec = mapping(manifest, manifest.obj, "spec")
    pool = mapping(manifest, spec, "pool", under="spec.")
    for field, value in (("spec.driver", spec.get("driver")), ("spec.pool.name", pool.get("name"))):
        if not isinstance(value, str) or not value:
            raise manifest.error("expected a name, got none", field=field)
    return spec["driver"], pool["name"]


def mapping(manifest: sources.Manifest, parent: Object, key: str, *, under: str = "") -> Object:
    """Return a mapping of an object. Raises ManifestError if it is none."""
    value = parent.get(key)
    if not isinstance(value, dict):
        what = "none" if value is None else type(value).__name__
        raise manifest.error(f"expected a mapping, got {what}", field=f"{under}{key}")
    return value


def devices_of(manifest: sources.Manifest) -> list[Object]:
    """Return the devices of a slice. Raises ManifestError if they are no list of mappings."""
    devices = manifest.obj["spec"].get("devices") or []
    if not isinstance(devices, list):
        raise manifest.error("expected a list", field="spec.devices")
    for number, device in enumerate(devices):
        if not isinstance(device, dict):
            raise manifest.error("expected a mapping", field=f"spec.devices[{number}]")
    return devices


class Features:
    """Features of the slices so far."""

    def __init__(self) -> None:
        self.slices = 0
        self.devices: Counter[PoolKey] = Counter()
        """Devices by pool; pools without devices are there, too."""
        self.attributes: set[str] = set()
        """Full names."""
        self.has: set[imported_specs.Feature] = set()

    def see(self, manifest: sources.Manifest) -> None:
        """Look at a slice. Raises ManifestError if it has another shape."""
        key, devices = pool_of(manifest), devices_of(manifest)
        self.slices += 1
        self.devices[key] += len(devices)
        spec = manifest.obj["spec"]
        if spec.get("sharedCounters"):
            self.has.add("counters")
        if not spec.get("nodeName"):
            self.has.add("several-nodes")
        for device in devices:
            self.has.update(_of_device(device))
            self.attributes.update(_attributes(device, key[0]))


def _of_device(device: Object) -> Iterator[imported_specs.Feature]:
    if device.get("consumesCounters"):
        yield "counters"
    if device.get("allowMultipleAllocations"):
        yield "shares"
    if device.get("taints"):
        yield "taints"
    if device.get("bindingConditions"):
        yield "binding-conditions"
    if any(isinstance(value, list) for item in _values(device) for value in item.values()):
        yield "lists"


def _values(device: Object) -> list[dict[str, Any]]:
    attributes = device.get("attributes")
    values = attributes.values() if isinstance(attributes, dict) else ()
    return [value for value in values if isinstance(value, dict)]


def _attributes(device: Object, driver: str) -> Iterator[str]:
    attributes = device.get("attributes")
    for name in attributes if isinstance(attributes, dict) else ():
        yield name if "/" in name else f"{driver}/{name}"
