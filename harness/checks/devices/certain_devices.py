"""The devices that a scheduler must have known when it chose, whatever it saw of the slices.

A scheduler chooses from any version of a pool between the one that its slice tracker had certainly
dealt with when the attempt began, and the allocation. Only if the pool did not change in that time
is it certain which devices the scheduler chose from. Without the steps of a Python scheduler
nothing is known of its beginning; then only a pool counts that has not changed since the first
list.
"""

import dataclasses
from collections.abc import Iterable, Iterator

from harness.checks import request_amounts
from harness.checks.devices import (
    device_catalogue,
    pool_timelines,
    request_options,
    selected_devices,
)
from harness.model import quantities


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """The time in which a scheduler chose the devices of an allocation."""

    since: int
    """resourceVersion that it had certainly dealt with; `attempt_views.UNKNOWN`: not known."""
    until: int
    """resourceVersion of the allocation."""


class CertainDevices:
    """The devices of pools that did not change while a scheduler chose."""

    def __init__(
        self,
        catalogue: device_catalogue.DeviceCatalogue,
        timelines: pool_timelines.PoolTimelines,
    ) -> None:
        self._catalogue, self._timelines = catalogue, timelines

    def every(self, node: str, option: request_options.Option, window: Window) -> Iterator[str]:
        """Yield the devices of a node that match an option in all versions of slice and class.

        An option for all devices gets each of them that could have its amounts of capacities, no
        matter how much others have of it: or else nothing on this node.
        """
        classes = self._catalogue.classes(option.wanted.device_class_name, window.until)
        if not classes:
            return
        expressions = [*(text for one in classes for text in one), *option.expressions]
        for name in self._timelines.steady(window.since, window.until):
            known = self._catalogue.devices(name, window.until)
            is_clear = self._timelines.tainted_since.get(name, window.until) >= window.until
            if is_clear and all(
                item.place.node_name == node
                and _matches(item, expressions)
                and _has_capacity(item, option)
                for item in known
            ):
                yield name


def _has_capacity(known: device_catalogue.KnownDevice, option: request_options.Option) -> bool:
    """Return whether a device that is not in use could have the amounts that an option asks for."""
    asked, driver = option.wanted.quantities, known.driver
    if not (asked or known.device.allow_multiple_allocations):
        return True
    try:
        takes = request_amounts.of_device(known.device, driver, asked)
        names = request_amounts.by_plain_name(asked, driver).keys()
    except (quantities.QuantityError, request_amounts.AmbiguousNamesError):
        return False
    return names <= takes.keys() and not any(taken.refusal for taken in takes.values())


def _matches(known: device_catalogue.KnownDevice, expressions: Iterable[str]) -> bool:
    return all(selected_devices.matches(known, text) for text in expressions)
