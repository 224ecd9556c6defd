"""All devices, DeviceClasses and nodes as they were published, in each of their versions.

Taints do not belong here, nor when a device was withdrawn (see `pool_timelines`): a scheduler may
decide on an older version than the newest, so every version up to an allocation counts.
"""

import bisect
import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from harness.checks.devices import node_selectors, request_options
from harness.checks.observed import folders, observations, observed_claims, observed_slices
from harness.history import records
from harness.model import devices

Value = TypeVar("Value")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a device can be reached."""

    node_name: str = ""
    node_selector: Any = None
    """A NodeSelector as JSON; None: another field says it."""
    all_nodes: bool = False

    def reaches(self, name: str, labels: node_selectors.Labels) -> bool:
        """Return whether the device can be reached from a node.

        Raises UnknownSelectorError for a selector that this judge does not know.
        """
        if self.node_name:
            return self.node_name == name
        if self.node_selector is not None:
            return node_selectors.admits(self.node_selector, name, labels)
        return self.all_nodes


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class KnownDevice:
    """A device in one version, without its taints."""

    driver: str
    device: observed_slices.Device
    place: Place
    matches: dict[str, bool | None] = dataclasses.field(default_factory=dict)
    """CEL expression -> whether it selects the device, as far as that was asked."""


def placed(spec: observed_slices.SliceSpec) -> Iterator[tuple[observed_slices.Device, Place]]:
    """Yield the devices of a slice, each with its place."""
    for device in spec.devices or ():
        where = device if spec.per_device_node_selection else spec
        yield (
            device,
            Place(
                node_name=where.node_name or "",
                node_selector=where.node_selector,
                all_nodes=bool(where.all_nodes),
            ),
        )


class Versions(Generic[Value]):
    """The different values that each key has had, with the first resourceVersion of each value."""

    def __init__(self) -> None:
        self._known: dict[str, dict[bytes, tuple[int, Value]]] = {}

    def add(self, key: str, content: object, make: Callable[[], Value], version: int) -> bool:
        """Note a value, made if its `content` is new; return whether it was."""
        values = self._known.setdefault(key, {})
        encoded = msgspec.json.encode(content)
        if encoded in values:
            return False
        values[encoded] = version, make()
        return True

    def until(self, key: str, version: int) -> list[Value]:
        """Return the values that a key had in the versions before this one; empty: it was not."""
        return [value for since, value in self._known.get(key, {}).values() if since < version]

    def keys(self) -> Iterator[str]:
        yield from self._known


class DeviceCatalogue(folders.Folder):
    """The devices, classes and nodes that were published so far."""

    def __init__(self) -> None:
        self.gaps: set[str] = set()
        """Resources whose versions may be missing."""
        self._devices: Versions[KnownDevice] = Versions()
        self._classes: Versions[tuple[str, ...]] = Versions()
        self._configs: Versions[list[observed_claims.Config]] = Versions()
        self._nodes: Versions[Mapping[str, str]] = Versions()
        self._news: list[int] = []
        """The resourceVersions with something new."""
        self._is_sorted = True

    # ------------------------------------------------------------------- observations

    def see_slice(self, seen: observations.SeenSlice) -> None:
        spec = seen.object.spec
        if seen.is_gone:
            return
        for device, place in placed(spec):
            name = str(devices.DeviceID(spec.driver, spec.pool.name, device.name))
            bare = msgspec.structs.replace(device, taints=None)
            self._note(
                self._devices.add(
                    name,
                    (bare, place),
                    lambda bare=bare, place=place: KnownDevice(spec.driver, bare, place),  # type: ignore[misc]
                    seen.version,
                ),
                seen.version,
            )

    def see_class(self, seen: observations.SeenClass) -> None:
        """Note the selectors and the configuration of a class."""
        if not seen.is_gone:
            found = tuple(request_options.expressions(seen.object.spec.selectors))
            name, config = seen.object.metadata.name, seen.object.spec.config or []
            self._note(self._classes.add(name, found, lambda: found, seen.version), seen.version)
            self._note(self._configs.add(name, config, lambda: config, seen.version), seen.version)

    def see_node(self, seen: observations.SeenNode) -> None:
        """Note the labels of a node."""
        if not seen.is_gone:
            meta = seen.object.metadata
            labels = meta.labels or {}
            is_new = self._nodes.add(
                meta.name, sorted(labels.items()), lambda: labels, seen.version
            )
            self._note(is_new, seen.version)

    def see_gap(self, gap: records.Gap) -> None:
        """Note that versions of a resource may be missing."""
        self.gaps.add(gap.resource)

    def _note(self, is_new: bool, version: int) -> None:  # noqa: FBT001 - an answer of `add`
        if is_new:
            self._news.append(version)
            self._is_sorted = False

    # ------------------------------------------------------------------- what is known

    def news(self) -> list[int]:
        """Return the versions with something new, in order."""
        if not self._is_sorted:
            self._news.sort()
            self._is_sorted = True
        return self._news

    def epoch(self, version: int) -> int:
        """Return how many news there were before a version: equal for equal knowledge."""
        return bisect.bisect_left(self.news(), version)

    def devices(self, name: str, version: int) -> list[KnownDevice]:
        """Return a device (`driver/pool/device`) in all versions before this one."""
        return self._devices.until(name, version)

    def newest(self, count: int) -> Iterator[KnownDevice]:
        """Yield up to `count` devices, each in its newest version."""
        for name in itertools.islice(self._devices.keys(), count):
            yield self._devices.until(name, sys.maxsize)[-1]

    def classes(self, name: str, version: int) -> list[tuple[str, ...]]:
        """Return the CEL expressions of a class in all versions before this one."""
        return self._classes.until(name, version)

    def configs(self, name: str, version: int) -> list[list[observed_claims.Config]]:
        """Return the configurations of a class in all versions before this one."""
        return self._configs.until(name, version)

    def nodes(self, name: str, version: int) -> list[Mapping[str, str]]:
        """Return the labels of a node in all versions before this one."""
        return self._nodes.until(name, version)

    def node_names(self) -> Iterator[str]:
        yield from self._nodes.keys()
