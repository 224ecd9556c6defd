"""Features of ResourceSlices: devices by pool, attributes, and what not all releases have."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from harness.manifests import sources
from harness.model.objects import Object
from harness.scenario.imported import imported_specs

PoolKey = tuple[str, str]
"""Driver and name of a pool."""


class _Pool(msgspec.Struct, frozen=True):
    name: Annotated[str, msgspec.Meta(min_length=1)]


class Slice(msgspec.Struct, frozen=True, rename="camel"):
    """The keys of a slice's spec that are read here."""

    driver: Annotated[str, msgspec.Meta(min_length=1)]
    pool: _Pool
    devices: list[Object] | None = None

    @property
    def key(self) -> PoolKey:
        return self.driver, self.pool.name


def of(manifest: sources.Manifest) -> Slice:
    """Return what is read of a slice. Raises ManifestError if it has another shape."""
    try:
        return msgspec.convert(manifest.obj.get("spec"), Slice)
    except msgspec.ValidationError as error:
        at, said = sources.misplaced(error, "spec")
        raise manifest.error(said, field=at) from error


class Features:
    """Features of the slices so far."""

    def __init__(self) -> None:
        self.slices = 0
        self.devices: Counter[PoolKey] = Counter()
        """Devices by pool; pools without devices are there, too."""
        self.attributes: set[str] = set()
        """Full names."""
        self.has: set[imported_specs.Feature] = set()

    def see(self, manifest: sources.Manifest, found: Slice) -> None:
        devices = found.devices or []
        self.slices += 1
        self.devices[found.key] += len(devices)
        spec = manifest.obj["spec"]
        if spec.get("sharedCounters"):
            self.has.add("counters")
        if not spec.get("nodeName"):
            self.has.add("several-nodes")
        for device in devices:
            self.has.update(_of_device(device))
            self.attributes.update(_attributes(device, found.driver))


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
